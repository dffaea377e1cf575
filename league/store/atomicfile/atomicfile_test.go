package atomicfile_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// holds checks a file and that nothing else is in its folder.
func holds(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
	alone(t, path)
}

func alone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	for _, e := range entries {
		assert.Equal(t, filepath.Base(path), e.Name(), "a file that nobody asked for")
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	require.NoError(t, atomicfile.WriteFile(disk.Real{}, path, []byte("one"), 0o644))
	holds(t, path, "one")
	require.NoError(t, atomicfile.WriteFile(disk.Real{}, path, nil, 0o600))
	holds(t, path, "")
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), "the mode of the last writing")
}

func TestWriteUnsynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	require.NoError(t, unsynced(disk.Real{}, path, []byte("one"), 0o644))
	holds(t, path, "one")
	failed := errors.New("no more")
	require.ErrorIs(t, atomicfile.WriteUnsynced(disk.Real{}, path, 0o644, func(w io.Writer) error {
		_, err := w.Write([]byte("two"))
		return errors.Join(err, failed)
	}), failed)
	holds(t, path, "one")
}

func unsynced(d disk.Disk, path string, data []byte, mode fs.FileMode) error {
	return atomicfile.WriteUnsynced(d, path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func TestCreateFileNeverReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	require.NoError(t, atomicfile.CreateFile(disk.Real{}, path, []byte("one"), 0o644))
	holds(t, path, "one")
	err := atomicfile.CreateFile(disk.Real{}, path, []byte("two"), 0o644)
	require.ErrorIs(t, err, fs.ErrExist)
	require.ErrorContains(t, err, path)
	holds(t, path, "one")
}

func TestOfManyThatCreateOneSucceeds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	var created atomic.Int32
	var creating sync.WaitGroup
	for range 16 {
		creating.Go(func() {
			err := atomicfile.CreateFile(disk.Real{}, path, []byte("whole"), 0o644)
			if err == nil {
				created.Add(1)
				return
			}
			assert.ErrorIs(t, err, fs.ErrExist)
		})
	}
	creating.Wait()
	assert.EqualValues(t, 1, created.Load())
	holds(t, path, "whole")
}

func TestAReaderNeverSeesAPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	contents := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<10)}
	require.NoError(t, atomicfile.WriteFile(disk.Real{}, path, contents[0], 0o644))
	var writing sync.WaitGroup
	for _, c := range contents {
		writing.Go(func() {
			for range 20 {
				assert.NoError(t, atomicfile.WriteFile(disk.Real{}, path, c, 0o644))
			}
		})
	}
	for range 100 {
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(got, contents[0]) || bytes.Equal(got, contents[1]), "%d bytes", len(got))
	}
	writing.Wait()
	alone(t, path)
}

func TestWhatCannotBeWritten(t *testing.T) {
	for name, write := range map[string]func(disk.Disk, string, []byte, fs.FileMode) error{
		"write": atomicfile.WriteFile, "create": atomicfile.CreateFile, "write unsynced": unsynced,
	} {
		t.Run(name+" in a folder that is not there", func(t *testing.T) {
			err := write(disk.Real{}, filepath.Join(t.TempDir(), "missing", "f.json"), []byte("x"), 0o644)
			require.ErrorIs(t, err, fs.ErrNotExist)
		})
		t.Run(name+" in place of a folder", func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f.json")
			require.NoError(t, os.Mkdir(path, 0o755))
			require.Error(t, write(disk.Real{}, path, []byte("x"), 0o644))
			alone(t, path)
		})
	}
}
