package cmd_test

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"os/exec"
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
