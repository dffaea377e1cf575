package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
)

// A storedLeague is a league of four players in a data folder. Tests start its manager
// again with the same command line.
type storedLeague struct {
	data store.Folder
	args []string
	url  string
}

func newStoredLeague(t *testing.T) *storedLeague {
	t.Helper()
	port := freePort(t)
	k := &storedLeague{data: store.In(filepath.Join(t.TempDir(), "SHARED")), url: "http://localhost:" + port + "/mcp"}
	k.args = []string{"manager", "--port", port, "--data", k.data.Path, "--exit-when-done"}
	return k
}

// manager starts the manager of the league, with more flags.
func (k *storedLeague) manager(t *testing.T, flags ...string) *process {
	t.Helper()
	return start(t, append(k.args[:len(k.args):len(k.args)], flags...)...)
}

// agents start a referee and up to four players.
func (k *storedLeague) agents(t *testing.T, players int) (all []*process) {
	t.Helper()
	for _, name := range ([]string{"Whistle", "Alpha", "Beta", "Gamma", "Delta"})[:players+1] {
		role := "player"
		if name == "Whistle" {
			role = "referee"
		}
		all = append(all, start(t, role, "--port", "0", "--name", name, "--data", k.data.Path, "--manager", k.url))
	}
	return all
}

// newFinishedLeague plays a league to its end, and returns it with the printed table.
func newFinishedLeague(t *testing.T) (k *storedLeague, table string) {
	t.Helper()
	k = newStoredLeague(t)
	m := k.manager(t)
	agents := k.agents(t, 4)
	require.Zero(t, m.awaitExit(t), m.stderr.String())
	awaitSuccess(t, agents...)
	return k, m.stdout.String()
}

// copyWithNewPort returns the league in another folder, for a manager at a free port.
func (k *storedLeague) copyWithNewPort(t *testing.T) *storedLeague {
	t.Helper()
	data := filepath.Join(t.TempDir(), "SHARED")
	require.NoError(t, os.CopyFS(data, os.DirFS(k.data.Path)))
	return &storedLeague{data: store.In(data), args: []string{"manager", "--port", "0", "--data", data, "--exit-when-done"}}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(raw)
}

// appendText appends text to a file.
func appendText(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(readText(t, path)+text), 0o600))
}

func TestStoppedManagerResumesItsLeague(t *testing.T) {
	t.Parallel()
	k := newStoredLeague(t)
	journal := k.data.Journal(crashLeague)
	m := startProcess(t, append(k.args, "--pace", "1s")...) // the interrupt comes before the end of the league, also on a busy machine
	agents := k.agents(t, 4)
	m.await(t, `"round_id":1,.*"event_type":"ROUND_COMPLETED"`)
	require.NoError(t, m.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 130, m.awaitExit(t), m.stderr.String())
	assert.Empty(t, m.stdout.String(), "half a league has no table")
	assert.Regexp(t, `\nevenodd: interrupted\. [2-4] of 6 matches were recorded\. Run the same command again to resume; the league is in `+
		regexp.QuoteMeta(k.data.Path)+`\.\n$`, m.stderr.String())

	before := readText(t, journal)
	appendText(t, journal, `{"seq":9`) // like a manager that was killed while it wrote a line
	m = k.manager(t, "--pace", "300ms")
	require.Zero(t, m.awaitExit(t), m.stderr.String())
	line := strings.Count(before, "\n") + 1
	assert.Regexp(t, regexp.QuoteMeta(journal)+` line `+strconv.Itoa(line)+`: the last line is incomplete \(8 bytes\) and was removed\. No agent was told of its event\.\n`, m.stderr.String())
	assert.Regexp(t, `\nLeague \S+ at \S+ resumes: round [12] of 3, [2-4] of 6 matches recorded\.\n`, m.stderr.String())
	assert.True(t, strings.HasPrefix(readText(t, journal), before), "what was written stays")
	awaitSuccess(t, agents...)
	assert.Contains(t, m.stdout.String(), "\nChampion: ")
	mustRun(t, "audit", k.data.Path)
}

func TestManagerOfACompletedLeaguePrintsItsTableAgain(t *testing.T) {
	t.Parallel()
	original, table := newFinishedLeague(t)
	before, rows := readText(t, original.data.Journal(crashLeague)), readText(t, original.data.Standings(crashLeague))
	test := func(name string, f func(t *testing.T, k *storedLeague, journal, standings string)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := original.copyWithNewPort(t)
			f(t, k, k.data.Journal(crashLeague), k.data.Standings(crashLeague))
		})
	}

	test("shows it again, and changes nothing", func(t *testing.T, k *storedLeague, journal, standings string) {
		m := k.manager(t)
		require.Zero(t, m.awaitExit(t), m.stderr.String())
		assert.Equal(t, table, m.stdout.String())
		assert.Regexp(t, `League \S+ at \S+ is over already: 6 of 6 matches recorded\. A new one needs --new-league or another --league-id\.\n`, m.stderr.String())
		assert.Equal(t, before, readText(t, journal))
		assert.Equal(t, rows, readText(t, standings))
	})
	test("refuses a journal that is damaged", func(t *testing.T, k *storedLeague, journal, standings string) {
		damaged := strings.Replace(before, `"display_name":"Beta"`, `"display_name":"Bent"`, 1)
		require.NotEqual(t, before, damaged)
		line := 1 + strings.Count(damaged[:strings.Index(damaged, "Bent")], "\n")
		require.NoError(t, os.WriteFile(journal, []byte(damaged), 0o600))
		m := k.manager(t)
		assert.Equal(t, 1, m.awaitExit(t))
		assert.Empty(t, m.stdout.String())
		assert.Contains(t, m.stderr.String(), journal+" line "+strconv.Itoa(line)+": the line is damaged: its checksum is wrong")
		assert.Equal(t, damaged, readText(t, journal), "it is left as it is")
	})
	test("does not begin anew in silence", func(t *testing.T, k *storedLeague, journal, standings string) {
		require.NoError(t, os.Remove(journal))
		m := k.manager(t)
		assert.Equal(t, 1, m.awaitExit(t))
		assert.Contains(t, m.stderr.String(), "has no event, but there is "+standings)
		assert.Contains(t, m.stderr.String(), "restore the journal, or begin again with --new-league")
	})
	test("says that the journal's tail was cut off, and goes on", func(t *testing.T, k *storedLeague, journal, standings string) {
		cut := before[:1+strings.LastIndex(before[:strings.Index(before, `"type":"completed"`)], "\n")]
		require.NoError(t, os.WriteFile(journal, []byte(cut), 0o600))
		m := k.manager(t)
		require.Zero(t, m.awaitExit(t), m.stderr.String())
		assert.Contains(t, m.stderr.String(), "its end was cut off, or an older journal was restored")
		assert.Equal(t, table, m.stdout.String())
		assert.Contains(t, readText(t, journal), `"type":"tail_lost"`)
		assert.Contains(t, mustRun(t, "audit", k.data.Path), "tail")
	})
	test("begins anew when told to", func(t *testing.T, k *storedLeague, journal, standings string) {
		m := k.manager(t, "--new-league")
		archive := m.await(t, `The old league is in (\S+)\.\n(?s:.*) waits for 4 players and 1 referee\.\n`)[1]
		m.endByInterrupt(t)
		old := store.In(archive)
		assert.Equal(t, before, readText(t, old.Journal(crashLeague)))
		assert.Equal(t, rows, readText(t, old.Standings(crashLeague)))
		assert.Contains(t, mustRun(t, "audit", archive), "no findings", "what was archived can be audited")
		assert.Contains(t, mustRun(t, "audit", k.data.Path), "no findings")
		assert.NoFileExists(t, standings)
		assert.Equal(t, 1, strings.Count(readText(t, journal), "\n"), "a league was created, no more")
	})
}

func TestReadOnlyDataFolderIsAnError(t *testing.T) {
	t.Parallel()
	p := runOnSmallVolume(t, "ro,size=16k", `evenodd manager --port 0 --data "$DATA"`)
	assert.Equal(t, 1, p.awaitExit(t))
	assert.Regexp(t, `\nevenodd: cannot store the league in \S+: .*read-only file system\n$`, "\n"+p.stderr.String())
}

// block makes a file unwritable, also for root: a folder that is not empty takes its place.
// The returned function undoes that.
func block(t *testing.T, path string) (unblock func()) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(path, "taken"), 0o755))
	return func() { require.NoError(t, os.RemoveAll(path)) }
}

// A manager that cannot write its last files plays the league to its end, prints the table,
// and fails.
func TestManagerThatCannotWriteItsLastFilesFails(t *testing.T) {
	t.Parallel()
	data := store.In(t.TempDir())
	arguments := []string{"--data", data.Path, "--players", "2", "--exit-when-done"}
	m := startManager(t, arguments...)
	var unblock []func()
	paths := []string{data.Agents(crashLeague), data.Rounds(crashLeague), data.Standings(crashLeague)}
	for _, path := range paths {
		require.NoError(t, os.RemoveAll(path))
		unblock = append(unblock, block(t, path))
	}
	agents := []*process{m.join(t, "referee"), m.join(t, "player"), m.join(t, "player")}
	assert.Equal(t, 1, m.awaitExit(t))
	assert.Contains(t, m.stdout.String(), "\nChampion: ")
	assert.Contains(t, m.stderr.String(), "\nevenodd: cannot write "+strings.Join(paths, ", ")+": ")
	assert.True(t, strings.HasSuffix(m.stderr.String(), "run the same command again\n"), m.stderr.String())
	awaitSuccess(t, agents...)

	for _, undo := range unblock {
		undo()
	}
	m = &manager{process: start(t, append([]string{"manager", "--port", "0"}, arguments...)...)}
	assert.Zero(t, m.awaitExit(t), m.stderr.String())
	assert.Contains(t, mustRun(t, "audit", data.Path), "no findings")
}

// A lock file looks like the remains of a crash, so that operators remove it.
func TestRemovedLockFileAdmitsNoSecondManager(t *testing.T) {
	t.Parallel()
	data := store.In(t.TempDir())
	m := startManager(t, "--data", data.Path, "--players", "2", "--exit-when-done")
	for _, more := range []string{"--new-league=false", "--new-league"} {
		require.NoError(t, os.Remove(filepath.Join(data.Path, "private", crashLeague+".lock")))
		second := start(t, "manager", "--port", "0", "--data", data.Path, "--players", "2", more)
		assert.Equal(t, 1, second.awaitExit(t))
		assert.Contains(t, second.stderr.String(), "another manager runs this league (it holds "+data.Journal(crashLeague)+")")
	}
	agents := []*process{m.join(t, "referee", "--data", data.Path), m.join(t, "player", "--data", data.Path), m.join(t, "player", "--data", data.Path)}
	assert.Zero(t, m.awaitExit(t), m.stderr.String())
	awaitSuccess(t, agents...)
	assert.NoDirExists(t, filepath.Join(data.Path, "archive"))
	assert.Contains(t, mustRun(t, "audit", data.Path), "audited 1 match of league "+crashLeague+": no findings")
}
