package cmd_test

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each pair of 1,000 players meets once, and the process keeps little of each match. The
// bound leaves room above the 0.45 GB that it needs; with whole matches it would need 4 GB.
func TestThousandPlayersNeedLittleMemory(t *testing.T) {
	longTest(t)
	const players = 1000
	simulate := exec.CommandContext(t.Context(), "evenodd", "simulate", "--players", strconv.Itoa(players), "--seed", "7", "--quiet", "--format", "csv")
	simulate.Stderr = os.Stderr
	output, err := simulate.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, simulate.Start())
	met := map[string]bool{}
	statuses := map[string]int{}
	for rows := csv.NewReader(output); ; {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		pair := slices.Sorted(slices.Values(row[2:4]))
		met[pair[0]+" "+pair[1]] = true
		statuses[row[4]]++
	}
	require.NoError(t, simulate.Wait())
	const matches = players * (players - 1) / 2
	assert.Len(t, met, matches+1, "each pair, and the header")
	assert.Equal(t, matches, statuses["WIN"]+statuses["DRAW"], "%v", statuses)
	used := simulate.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("%d KB, %s of processors", used.Maxrss, simulate.ProcessState.UserTime())
	assert.Less(t, used.Maxrss, int64(800_000), "KB")
}

// A league of 200 players on disk needs little space and memory for each match, and its
// audit finds nothing.
func TestTwoHundredPlayersOnDisk(t *testing.T) {
	longTest(t)
	const matches = 200 * 199 / 2
	folder := t.TempDir()
	evenodd := func(args ...string) *syscall.Rusage {
		t.Helper()
		run := exec.CommandContext(t.Context(), "evenodd", args...)
		output, err := run.CombinedOutput()
		require.NoError(t, err, "%s", output)
		if args[0] == "audit" {
			assert.Contains(t, string(output), strconv.Itoa(matches)+" matches")
			assert.Contains(t, string(output), "no findings")
		}
		return run.ProcessState.SysUsage().(*syscall.Rusage)
	}
	league := evenodd("simulate", "--players", "200", "--concurrency", "100", "--seed", "7", "--data", folder, "--quiet")
	audit := evenodd("audit", folder)
	size := int64(0)
	require.NoError(t, filepath.WalkDir(folder, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var info os.FileInfo
			if info, err = entry.Info(); err == nil {
				size += info.Size()
			}
		}
		return err
	}))
	t.Logf("%d bytes a match on disk, league %d KB, audit %d KB", size/matches, league.Maxrss, audit.Maxrss)
	assert.Less(t, size/matches, int64(12_500), "bytes a match; 3,200 of them prove the moves: signatures and histories")
	assert.Less(t, league.Maxrss, int64(400_000), "KB")
}
