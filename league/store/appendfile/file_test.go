package appendfile

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store/disk"
)

// A line that need not become durable soon does so with the next line that must be durable, with
// Sync or with Close.
func TestUnsyncedLinesBecomeDurableWithOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	f, _, err := Open(disk.Real{}, path, "the file", visitNone)
	require.NoError(t, err)
	durable := func() int {
		_, last, _, err := f.Read(100, 1)
		require.NoError(t, err)
		return last
	}
	first, err := f.Append([]byte("1"), false)
	require.NoError(t, err)
	assert.Equal(t, 1, first)
	assert.Zero(t, durable(), "nobody asked for it")

	require.NoError(t, f.Sync(first))
	assert.Equal(t, 1, durable())

	_, err = f.Append([]byte("2"), false)
	require.NoError(t, err)
	third, err := f.Append([]byte("3"), true)
	require.NoError(t, err)
	require.NoError(t, f.Sync(third))
	assert.Equal(t, 3, durable())

	_, err = f.Append([]byte("4"), false)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Equal(t, 4, f.durable)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "1\n2\n3\n4\n", string(text))
}

func visitNone(int, []byte) error { return nil }

// After a failed write, Append and Sync return the failure, and the file has all lines
// that were synced before.
func TestFailedWriteIsReturnedToAllCallers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	f, _, err := Open(disk.Real{}, path, "the journal", visitNone)
	require.NoError(t, err)
	first, err := f.Append([]byte("first"), true)
	require.NoError(t, err)
	require.NoError(t, f.Sync(first))
	_, _, more, err := f.Read(2, 1)
	require.NoError(t, err)
	require.NoError(t, f.file.Close(), "all writes fail from here on")

	var told sync.WaitGroup
	told.Go(func() { assert.ErrorContains(t, f.Failed(), "cannot write the journal") })
	for range 16 {
		told.Go(func() {
			if n, err := f.Append([]byte("x"), true); err == nil {
				assert.ErrorContains(t, f.Sync(n), "Nothing that was acknowledged is lost")
			}
		})
	}
	told.Wait()
	_, err = f.Append([]byte("x"), true)
	require.ErrorContains(t, err, "cannot write the journal")
	require.NoError(t, f.Sync(first), "the first line was on disk before")
	<-more
	lines, _, _, err := f.Read(2, 1)
	assert.Empty(t, lines, "a line that is not on disk is not read")
	require.ErrorContains(t, err, "cannot write the journal")
	require.ErrorContains(t, f.Close(), "cannot write the journal")

	var there []string
	again, torn, err := Open(disk.Real{}, path, "the journal", func(_ int, text []byte) error {
		there = append(there, string(text))
		return nil
	})
	require.NoError(t, err)
	assert.Nil(t, torn)
	assert.Equal(t, []string{"first"}, there)
	require.NoError(t, again.Close())
}
