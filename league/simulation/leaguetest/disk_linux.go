package leaguetest

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// FillDisk makes every write to an open file fail with ENOSPC: it replaces the file behind
// the descriptor.
func FillDisk(t testing.TB, file string) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { _ = full.Close() }()
	path, err := filepath.EvalSymlinks(file)
	require.NoError(t, err)
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	replaced := 0
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && target == path {
			fd, err := strconv.Atoi(e.Name())
			require.NoError(t, err)
			require.NoError(t, syscall.Dup3(int(full.Fd()), fd, syscall.O_CLOEXEC))
			replaced++
		}
	}
	require.Equal(t, 1, replaced)
}
