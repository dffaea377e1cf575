package manager_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

func TestMain(m *testing.M) {
	leaguetest.UseMemory(os.Setenv)
	m.Run()
}

// streams are the lines of a stream, as its managers share them.
type streams struct {
	lines [][]byte
	most  int
}

// end is the part of one manager in a stream.
type end struct {
	*streams
	known int
}

func (e *end) Read(from int, visit appendfile.Visit) error {
	for e.known = len(e.lines); from <= e.known; from++ {
		if err := visit(from, e.lines[from-1]); err != nil {
			return err
		}
	}
	return nil
}

func (e *end) Append(_ int, lines []byte) error {
	if e.known != len(e.lines) {
		return journalfile.ErrLost
	}
	for line := range bytes.Lines(lines) {
		e.lines = append(e.lines, bytes.Clone(bytes.TrimSpace(line)))
	}
	e.known = len(e.lines)
	return nil
}

func (e *end) Limits() (line, lines int) { return e.most, e.most }

func TestLeagueContinuesFromTheStreamAlone(t *testing.T) {
	stream := &streams{most: 1 << 20}
	master := protocol.MasterSecret(strings.Repeat("secret", 8))
	open := func(folder string, master protocol.MasterSecret) (*manager.Files, string, error) {
		shared := &manager.Shared{Stream: &end{streams: stream}, Master: master}
		return manager.OpenFiles(store.In(folder), leagueID, false, shared)
	}
	start := func(files *manager.Files) *manager.Manager {
		o := options(files)
		o.Signatures = journal.SignaturesOptional
		m, err := manager.New(o)
		require.NoError(t, err)
		return m
	}
	first, second, third := t.TempDir(), t.TempDir(), t.TempDir()
	files, _, err := open(first, master)
	require.NoError(t, err)
	begun := start(files)
	begun.Seal()
	assert.NoFileExists(t, keyOf(store.In(first)), "nothing secret is stored")
	assert.NotContains(t, string(slices.Concat(stream.lines...)), string(master))

	again, _, err := open(second, master)
	require.NoError(t, err)
	continued := start(again)
	assert.True(t, continued.Resumed())
	assert.Equal(t, begun.AdminToken(), continued.AdminToken(), "the secret follows from the nonce in the stream")
	require.NoError(t, again.Close())
	for name, wrong := range map[string]protocol.MasterSecret{"another": []byte(strings.Repeat("s", 32)), "none": nil} {
		_, _, err = open(second, wrong)
		require.ErrorContains(t, err, "the league began with another secret", name)
	}
	_, _, err = manager.OpenFiles(store.In(second), leagueID, false, nil)
	require.ErrorContains(t, err, "--journal nats")

	// A standby follows. Then it appends, and fences the first.
	standby, _, err := open(third, master)
	require.NoError(t, err)
	registered := &journal.AgentRegistered{
		AgentID: "P01", Role: protocol.RolePlayer, DisplayName: "Alpha", Endpoint: "http://localhost:8101/mcp", Generation: 1,
	}
	for _, done := range []int{1, 0} {
		added, err := standby.CatchUp()
		require.NoError(t, err)
		assert.Zero(t, added, "%d", done)
	}
	require.NoError(t, files.Close())
	writer, _, _, err := journalfile.OpenCopy(disk.Real{}, store.In(first).Journal(leagueID), &end{streams: stream}, nil)
	require.NoError(t, err)
	require.NoError(t, writer.Append("2026-01-01T00:00:00.000Z", registered))
	require.NoError(t, writer.Sync(2))
	added, err := standby.CatchUp()
	require.NoError(t, err)
	assert.Equal(t, 1, added)
	require.Contains(t, standby.State.Agents, "P01")
	taken := start(standby)
	assert.Equal(t, 1, taken.Status().Players)
	stream.lines = append(stream.lines, []byte("another manager's"))
	require.NoError(t, writer.Append("2026-01-01T00:00:00.000Z", &journal.AgentAnswered{AgentID: "P01"}))
	require.ErrorIs(t, writer.Sync(3), journalfile.ErrLost)
	require.ErrorIs(t, writer.Close(), journalfile.ErrLost)
	stream.lines = stream.lines[:2]
	require.NoError(t, standby.Close())

	// A folder with events that the stream does not have goes to the archive.
	text, err := os.ReadFile(store.In(third).Journal(leagueID))
	require.NoError(t, err)
	stream.lines = stream.lines[:1]
	files, archived, err := open(third, master)
	require.NoError(t, err)
	require.NotEmpty(t, archived)
	assert.Equal(t, 1, files.State.Events)
	old, err := os.ReadFile(store.In(archived).Journal(leagueID))
	require.NoError(t, err)
	assert.Equal(t, text, old)
	require.NoError(t, files.Close())
}

func TestLeagueThatItsServerCannotTakeDoesNotBegin(t *testing.T) {
	for name, tt := range map[string]struct {
		players, most int
		problem       string
	}{
		"largest league, 1 MiB":    {10_000, 1<<20 - 4<<10, ""},
		"largest league, 512 KiB":  {10_000, 512 << 10, "a league of 10000 players and 100 referees cannot start: the event takes 8"},
		"smaller league, 512 KiB":  {5_000, 512 << 10, ""},
		"start without signatures": {10_000, 120 << 10, "bytes, and the NATS server allows a line of 122880: raise its max_payload, or admit fewer"},
	} {
		t.Run(name, func(t *testing.T) {
			shared := &manager.Shared{Stream: &end{streams: &streams{most: tt.most}}, Master: []byte("x")}
			files, _, err := manager.OpenFiles(store.In(t.TempDir()), leagueID, false, shared)
			require.NoError(t, err)
			defer func() { require.NoError(t, files.Close()) }()
			o := options(files)
			o.Players, o.MaxPlayers = 0, tt.players
			if !strings.Contains(name, "without") {
				o.Signatures = journal.SignaturesOptional
			}
			_, err = manager.New(o)
			if tt.problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.problem)
			assert.Zero(t, files.State.Events)
		})
	}
}
