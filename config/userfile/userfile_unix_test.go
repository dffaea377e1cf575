//go:build unix

package userfile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config/userfile"
)

func TestSymbolicLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old", "new"} {
		target, link := filepath.Join(dir, name), filepath.Join(dir, "link to "+name)
		require.NoError(t, os.Symlink(target, link))
		if name == "old" {
			require.NoError(t, os.WriteFile(target, []byte("a longer text"), 0o600))
		}
		require.NoError(t, userfile.Write(link, []byte("text"), 0o600))
		text, err := os.ReadFile(target)
		require.NoError(t, err)
		assert.Equal(t, "text", string(text))
		info, err := os.Lstat(link)
		require.NoError(t, err)
		assert.Equal(t, os.ModeSymlink, info.Mode().Type(), "the link stays")
	}
}

// A device is not replaced: /dev/full would be a regular file from then on.
func TestDeviceIsWrittenInto(t *testing.T) {
	require.NoError(t, userfile.Write(os.DevNull, []byte("text"), 0o600))
	if _, err := os.Stat("/dev/full"); err == nil {
		err := userfile.Write("/dev/full", []byte("text"), 0o600)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.ErrorContains(t, err, "write /dev/full: ")
		_, err = userfile.Read("/dev/full", 9)
		require.EqualError(t, err, "the file has more than 9 bytes")
	}
	for _, device := range []string{os.DevNull, "/dev/full"} {
		if info, err := os.Stat(device); err == nil {
			assert.NotZero(t, info.Mode()&os.ModeDevice, device)
		}
	}
}

// A named pipe has another end soon, or it is an error.
func TestNamedPipeWithoutAnotherEnd(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := userfile.Read(pipe, 9)
	require.EqualError(t, err, "it is a named pipe, and no program has written to it for 2s")
	err = userfile.Write(pipe, []byte("text"), 0o600)
	require.EqualError(t, err, "open "+pipe+": it is a named pipe, and no program reads from it")
}
