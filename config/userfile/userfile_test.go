package userfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config/userfile"
)

func TestFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("J\xf6rg"), 0o600))
	for _, tt := range []struct {
		name, path string
		limit      int64
		want       string
	}{
		{"a folder", dir, 9, "is a directory"},
		{"too large", path, 3, "the file has more than 3 bytes"},
		{"another encoding", path, 4, "the file is not in UTF-8: save it as UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := userfile.ReadText(tt.path, tt.limit)
			assert.EqualError(t, err, tt.want)
		})
	}
	_, err := userfile.Read(filepath.Join(dir, "missing"), 9)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.NotContains(t, err.Error(), "missing", "the caller names the path")
	text, err := userfile.Read(path, 4)
	require.NoError(t, err)
	assert.Equal(t, "J\xf6rg", string(text))
}

func TestRegularFileIsReplacedAsAWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, userfile.Write(path, []byte("one"), 0o600))
	before, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, userfile.Write(path, []byte("two"), 0o600))
	after, err := os.Stat(path)
	require.NoError(t, err)
	assert.False(t, os.SameFile(before, after), "a reader of the old file sees all of it")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "two", string(text))
}

func TestFileThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	err := userfile.Write(dir, []byte("x"), 0o600)
	assert.EqualError(t, err, "open "+dir+": is a directory")
	require.ErrorIs(t, userfile.Write(filepath.Join(dir, "no", "file"), nil, 0o600), os.ErrNotExist)
}
