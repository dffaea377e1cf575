package cmd_test

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A large league needs little memory, as the process keeps little of each match, and little space for
// each match. The bounds leave room above what it needs; with whole matches in memory it would need
// ten times as much.
func TestLargeLeagueNeedsLittleMemoryAndSpace(t *testing.T) {
	longTest(t)
	const matches = 100 * 99 / 2
	folder := t.TempDir()
	measured := func(args ...string) (printed string, memory int64) {
		t.Helper()
		run := exec.CommandContext(t.Context(), "evenodd", args...)
		text, err := run.CombinedOutput()
		require.NoError(t, err, "%s", text)
		return string(text), run.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	}
	printed, memory := measured("simulate", "--players", "300", "--seed", "7", "--quiet", "--format", "csv")
	assert.Equal(t, 1+300*299/2, strings.Count(printed, "\n"), "a header, and each pair")
	t.Logf("%d KB in memory", memory)
	assert.Less(t, memory, int64(300_000), "KB")
	_, memory = measured("simulate", "--players", "100", "--concurrency", "50", "--seed", "7", "--data", folder, "--quiet")
	assert.Less(t, memory, int64(300_000), "KB")
	printed, _ = measured("audit", folder)
	assert.Contains(t, printed, "audited 4950 matches of league "+crashLeague+": no findings")
	size := int64(0)
	require.NoError(t, filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			about, failed := entry.Info()
			require.NoError(t, failed)
			size += about.Size()
		}
		return err
	}))
	t.Logf("%d bytes a match on disk, league %d KB", size/matches, memory)
	assert.Less(t, size/matches, int64(20_000), "bytes a match, with its transcript, signatures and histories")
}
