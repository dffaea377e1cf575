//go:build unix

package userfile_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config/userfile"
)

// namedPipe makes a named pipe. The end of the test frees all who wait for its other end.
func namedPipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	t.Cleanup(func() {
		both, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		require.NoError(t, both.Close())
	})
	return path
}

func TestNamedPipeWithoutItsOtherEndIsAnError(t *testing.T) {
	path := namedPipe(t)
	const want = "no process has opened the other end of this named pipe in 1ms: start that process first"
	_, err := userfile.ReadWithin(t.Context(), path, 9, time.Millisecond)
	require.EqualError(t, err, want)
	path = namedPipe(t)
	err = userfile.WriteWithin(t.Context(), path, []byte("x"), 0o600, time.Millisecond)
	assert.EqualError(t, err, "open "+path+": "+want)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.ModeNamedPipe, info.Mode().Type(), "it is still there")
}

// The context of a command ends with the first signal.
func TestNamedPipeDoesNotOutlastTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := userfile.ReadWithin(ctx, namedPipe(t), 9, time.Hour)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, userfile.WriteWithin(ctx, namedPipe(t), []byte("x"), 0o600, time.Hour), context.Canceled)
	t.Run("with a silent writer", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		path := namedPipe(t)
		silent, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		defer func() { require.NoError(t, silent.Close()) }()
		ended := make(chan error)
		go func() {
			_, err := userfile.ReadWithin(ctx, path, 9, time.Hour)
			ended <- err
		}()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

func TestNamedPipeIsReadAndWritten(t *testing.T) {
	path := namedPipe(t)
	written := make(chan error, 1)
	go func() { written <- userfile.WriteWithin(t.Context(), path, []byte("text"), 0o600, time.Hour) }()
	text, err := userfile.ReadWithin(t.Context(), path, 9, time.Hour)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	require.NoError(t, <-written)

	go func() { written <- userfile.WriteWithin(t.Context(), path, []byte("a long text"), 0o600, time.Hour) }()
	_, err = userfile.ReadWithin(t.Context(), path, 9, time.Hour)
	require.EqualError(t, err, "the file has more than 9 bytes")
	<-written
}

// A shell gives a command the end of a pipe as /dev/fd/N.
func TestPipeOfAShellIsRead(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	_, err = io.WriteString(w, "text")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	text, err := userfile.ReadText(t.Context(), filepath.Join("/dev/fd", strconv.Itoa(int(r.Fd()))), 9)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	require.NoError(t, r.Close())
}

func TestSymbolicLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old", "new"} {
		target, link := filepath.Join(dir, name), filepath.Join(dir, "link to "+name)
		require.NoError(t, os.Symlink(target, link))
		if name == "old" {
			require.NoError(t, os.WriteFile(target, []byte("a longer text"), 0o600))
		}
		require.NoError(t, userfile.Write(t.Context(), link, []byte("text"), 0o600))
		text, err := os.ReadFile(target)
		require.NoError(t, err)
		assert.Equal(t, "text", string(text))
		info, err := os.Lstat(link)
		require.NoError(t, err)
		assert.Equal(t, os.ModeSymlink, info.Mode().Type(), "the link stays")
	}
}

func TestSocketIsNeitherReadNorWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	_, err = userfile.Read(t.Context(), path, 9)
	require.Error(t, err)
	require.ErrorContains(t, userfile.Write(t.Context(), path, nil, 0o600), path)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSocket, info.Mode().Type(), "it is still there")
}

// A device is not replaced: /dev/full would be a regular file from then on.
func TestDeviceIsWrittenInto(t *testing.T) {
	require.NoError(t, userfile.Write(t.Context(), os.DevNull, []byte("text"), 0o600))
	if _, err := os.Stat("/dev/full"); err == nil {
		err := userfile.Write(t.Context(), "/dev/full", []byte("text"), 0o600)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.ErrorContains(t, err, "write /dev/full: ")
		_, err = userfile.Read(t.Context(), "/dev/full", 9)
		require.EqualError(t, err, "the file has more than 9 bytes")
	}
	for _, device := range []string{os.DevNull, "/dev/full"} {
		if info, err := os.Stat(device); err == nil {
			assert.NotZero(t, info.Mode()&os.ModeDevice, device)
		}
	}
}
