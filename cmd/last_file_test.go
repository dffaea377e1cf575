package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
)

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
	data := store.Folder(t.TempDir())
	arguments := []string{"--data", string(data), "--players", "2", "--exit-when-done"}
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
	for _, p := range agents {
		assert.Zero(t, p.awaitExit(t), "%s knows that the league is over", p.name)
	}

	for _, undo := range unblock {
		undo()
	}
	m = &manager{process: start(t, append([]string{"manager", "--port", "0"}, arguments...)...)}
	assert.Zero(t, m.awaitExit(t), m.stderr.String())
	assert.Contains(t, output(t, "audit", string(data)), "no findings")
}

// A lock file looks like the remains of a crash, so that operators remove it.
func TestRemovedLockFileAdmitsNoSecondManager(t *testing.T) {
	t.Parallel()
	data := store.Folder(t.TempDir())
	m := startManager(t, "--data", string(data), "--players", "2", "--exit-when-done")
	for _, more := range []string{"--new-league=false", "--new-league"} {
		require.NoError(t, os.Remove(filepath.Join(string(data), "private", crashLeague+".lock")))
		second := start(t, "manager", "--port", "0", "--data", string(data), "--players", "2", more)
		assert.Equal(t, 1, second.awaitExit(t))
		assert.Contains(t, second.stderr.String(), "another manager runs this league (it holds "+data.Journal(crashLeague)+")")
	}
	agents := []*process{m.join(t, "referee", "--data", string(data)), m.join(t, "player", "--data", string(data)), m.join(t, "player", "--data", string(data))}
	assert.Zero(t, m.awaitExit(t), m.stderr.String())
	for _, p := range agents {
		assert.Zero(t, p.awaitExit(t), p.name)
	}
	assert.NoDirExists(t, filepath.Join(string(data), "archive"))
	assert.Contains(t, output(t, "audit", string(data)), "audited 1 match of league "+crashLeague+": no findings")
}
