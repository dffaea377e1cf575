package appendfile_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

const inFolders = "a/b/lines"

// opened opens a file, and returns its lines.
func opened(t *testing.T, d disk.Disk) (f *appendfile.File, lines []string) {
	t.Helper()
	f, _, err := appendfile.Open(d, inFolders, "the lines", func(_ int, text []byte) error {
		lines = append(lines, string(text))
		return nil
	})
	require.NoError(t, err)
	return f, lines
}

func TestSyncedLinesSurviveAPowerCut(t *testing.T) {
	for seed := range uint64(64) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		f, _ := opened(t, d.Process())
		for n := range 6 {
			number, err := f.Append(fmt.Appendf(nil, "line %d", n), n < 3)
			require.NoError(t, err)
			if n == 2 {
				require.NoError(t, f.Sync(number))
			}
		}
		d.PowerCut()
		require.Error(t, f.Close())
		f, lines := opened(t, d.Process())
		require.GreaterOrEqual(t, len(lines), 3, "seed %d", seed)
		assert.Equal(t, []string{"line 0", "line 1", "line 2"}, lines[:3])
		require.NoError(t, f.Close())
	}
}

// A killed process may have written lines without a sync. The next one acts on them.
func TestLinesOfAKilledProcessAreDurableOnceTheyAreRead(t *testing.T) {
	for seed := range uint64(64) {
		d := memdisk.New(memdisk.Options{Seed: seed})
		killed := d.Process()
		f, _ := opened(t, killed)
		require.NoError(t, f.Close())
		file, err := killed.OpenFile(inFolders, os.O_RDWR|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = file.Write([]byte("line 0\nline 1\nli"))
		require.NoError(t, err)
		killed.Kill()
		f, lines := opened(t, d.Process())
		assert.Equal(t, []string{"line 0", "line 1"}, lines)
		d.PowerCut()
		require.Error(t, f.Close())
		f, lines = opened(t, d.Process())
		assert.Equal(t, []string{"line 0", "line 1"}, lines, "seed %d", seed)
		require.NoError(t, f.Close())
	}
}

// The data of a sync that has failed is gone, and the next sync succeeds.
func TestNothingIsAcknowledgedAfterAFailedSync(t *testing.T) {
	o := memdisk.Options{}
	o.Chances[faults.FailedSync] = 1
	d := memdisk.New(o)
	p := d.Process()
	for { // once for each folder
		f, _, err := appendfile.Open(p, inFolders, "the lines", func(int, []byte) error { return nil })
		if err == nil {
			require.NoError(t, f.Close())
			break
		}
		require.ErrorContains(t, err, "the folder's entry is not safe yet")
	}
	f, _ := opened(t, p)
	number, err := f.Append([]byte("lost"), true)
	require.NoError(t, err)
	require.ErrorContains(t, f.Sync(number), "cannot write the lines")
	if number, err = f.Append([]byte("after"), true); err == nil {
		err = f.Sync(number)
	}
	require.ErrorContains(t, err, "cannot write the lines")
	require.Error(t, f.Close())
	_, lines := opened(t, d.Process())
	assert.NotContains(t, lines, "after")
}
