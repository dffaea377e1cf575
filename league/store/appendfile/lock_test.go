//go:build unix

package appendfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store/disk"
)

func TestLockedFileIsOpenedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	inUse := func() bool {
		t.Helper()
		used, err := InUse(disk.Real{}, path)
		require.NoError(t, err)
		return used
	}
	other, looks := make(chan struct{}), 0 // another process looks whether the file is in use
	go func() {
		defer close(other)
		for ; looks < 1000; looks++ {
			_, _ = InUse(disk.Real{}, path)
		}
	}()
	defer func() { <-other }()
	assert.False(t, inUse(), "it is missing")
	assert.NoFileExists(t, path)
	for range 2 {
		f, _, err := OpenLocked(disk.Real{}, path, "the file", visitNone, nil)
		require.NoError(t, err)
		_, err = f.Append([]byte("a line"), true)
		require.NoError(t, err)
		assert.True(t, inUse())
		_, _, err = OpenLocked(disk.Real{}, path, "the file", visitNone, nil)
		require.ErrorIs(t, err, disk.ErrInUse)
		text, err := os.ReadFile(path)
		require.NoError(t, err, "readers need no lock")
		assert.NotContains(t, string(text), "\x00")
		require.NoError(t, f.Close())
		assert.False(t, inUse())
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(text), "a line\n"))
}

// replacements are what another process may do with a file.
var replacements = map[string]func(path string) error{
	"renamed": func(path string) error { return os.Rename(path, path+".old") },
	"removed": os.Remove,
	"replaced": func(path string) error {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path+".new", text, 0o600)
		}
		if err == nil {
			err = os.Rename(path+".new", path)
		}
		return err
	},
}

// A replacing disk has another process replace the first file that is opened.
type replacing struct {
	disk.Real
	replace func(path string) error
	opened  int
}

func (d *replacing) OpenFile(path string, flag int, mode fs.FileMode) (disk.File, error) {
	file, err := d.Real.OpenFile(path, flag, mode)
	if err == nil {
		if d.opened++; d.opened == 1 {
			err = d.replace(path)
		}
	}
	return file, err
}

// Another process moves the file, or removes it, between the time it is opened and the time
// it is locked.
func TestLockIsOnTheFileAtThePath(t *testing.T) {
	for name, replace := range replacements {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.jsonl")
			d := &replacing{replace: replace}
			file, err := openLocked(d, path)
			require.NoError(t, err)
			assert.Equal(t, 2, d.opened)
			assert.True(t, file.IsAt(path))
			_, err = openLocked(disk.Real{}, path)
			require.ErrorIs(t, err, disk.ErrInUse)
			require.NoError(t, file.Close())
		})
	}
}

// Lines of a file that is not at its path any more are lost to the next process.
func TestMovedFileCannotBeWritten(t *testing.T) {
	for name, replace := range replacements {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.jsonl")
			f, _, err := OpenLocked(disk.Real{}, path, "the file", visitNone, nil)
			require.NoError(t, err)
			n, err := f.Append([]byte("a line"), true)
			require.NoError(t, err)
			require.NoError(t, f.Sync(n))
			require.NoError(t, replace(path))
			n, err = f.Append([]byte("another line"), true)
			require.NoError(t, err)
			require.ErrorContains(t, f.Sync(n), "cannot write the file: "+path+" was moved, removed or replaced")
			require.ErrorContains(t, f.Failed(), "moved")
			require.Error(t, f.Close())
		})
	}
}

// A process that is being started has copies of all descriptors until it runs its program.
func TestClosedFileIsFreeAlthoughItsDescriptorHasACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	f, _, err := OpenLocked(disk.Real{}, path, "the file", visitNone, nil)
	require.NoError(t, err)
	duplicate, err := syscall.Dup(int(f.file.(interface{ Fd() uintptr }).Fd()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(duplicate) })
	require.NoError(t, f.Close())
	again, _, err := OpenLocked(disk.Real{}, path, "the file", visitNone, nil)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}
