//go:build unix

package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store/disk"
)

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink(pipe, link))
	for _, path := range []string{pipe, link, os.DevNull} {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_CREATE} {
			_, err := disk.Real{}.OpenFile(path, flag, 0o600)
			require.EqualError(t, err, "open "+path+": it is not a regular file")
			_, isPathError := errors.AsType[*fs.PathError](err)
			assert.True(t, isPathError)
		}
	}
	_, err := disk.Open(disk.Real{}, filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestFileAtTheLimitIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	text, err := disk.Read(disk.Real{}, path, 4)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	_, err = disk.Read(disk.Real{}, path, 3)
	require.EqualError(t, err, "read "+path+": the file has more than 3 bytes")
	require.NoError(t, os.Truncate(path, 1<<40)) // it is not read
	_, err = disk.Read(disk.Real{}, path, 4)
	require.EqualError(t, err, "read "+path+": the file has more than 4 bytes")
	_, err = disk.Read(disk.Real{}, filepath.Dir(path), 1<<20)
	require.ErrorContains(t, err, "is a directory")
}
