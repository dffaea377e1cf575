package cmd_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

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
	// Maxrss of a child counts the memory of this process too, which it had before it began the program.
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`)
	measured := func(args ...string) (printed string, memory int) {
		t.Helper()
		p := launch(t, folder, []string{"GOGC="}, "evenodd", args...)
		for {
			select {
			case <-p.done:
				require.Zero(t, p.code)
				return p.stdout.String(), memory
			case <-time.After(10 * time.Millisecond):
				status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
				if found := peak.FindSubmatch(status); found != nil {
					memory, _ = strconv.Atoi(string(found[1]))
				}
			}
		}
	}
	printed, memory := measured("simulate", "--players", "300", "--seed", "7", "--quiet", "--format", "csv")
	assert.Equal(t, 1+300*299/2, strings.Count(printed, "\n"), "a header, and each pair")
	t.Logf("%d KB in memory", memory)
	assert.Less(t, memory, 300_000, "KB")
	_, memory = measured("simulate", "--players", "100", "--concurrency", "50", "--seed", "7", "--data", folder, "--quiet")
	assert.Less(t, memory, 300_000, "KB")
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
