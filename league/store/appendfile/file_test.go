package appendfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A line that need not become durable soon does so with the next line that must be durable, with
// Sync or with Close.
func TestUnsyncedLinesBecomeDurableWithOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	f, _, err := Open(path, "the file", visitNone)
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
