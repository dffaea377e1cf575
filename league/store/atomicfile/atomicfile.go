// Package atomicfile writes files atomically: a reader sees a complete file or none. It
// must not depend on what the files contain.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"evenodd/league/store/openfile"
)

// WriteFile atomically replaces the content of path. A concurrent reader sees the old
// content or the new, never a part: WriteFile writes to a temporary file in the same
// folder and renames it. The folder must exist. When WriteFile returns nil, the data is on
// disk, and a power cut during WriteFile leaves the old content or the new.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	if err := replace(path, mode, synced(data)); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// WriteUnsynced is WriteFile without syncs, for a file that can be made again from other
// files: after a power cut it may have the old content, the new, a part of it or none.
// write writes the content; after an error the old file stays.
func WriteUnsynced(path string, mode os.FileMode, write func(io.Writer) error) error {
	return replace(path, mode, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 1<<16)
		return errors.Join(write(w), w.Flush())
	})
}

// replace writes a temporary file and renames it to path.
func replace(path string, mode os.FileMode, write func(*os.File) error) error {
	temporary, err := stage(path, mode, write)
	if err != nil {
		return err
	}
	if err := rename(temporary, path); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}

// CreateFile is WriteFile for a new file. An existing file stays unchanged, and the error
// is fs.ErrExist. If many create the same file at once, one succeeds.
func CreateFile(path string, data []byte, mode os.FileMode) error {
	if _, err := os.Lstat(path); err == nil { // saves the work
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	temporary, err := stage(path, mode, synced(data))
	if err != nil {
		return err
	}
	// A link, unlike a rename, never replaces another file.
	if err := errors.Join(os.Link(temporary, path), os.Remove(temporary)); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// synced writes data and syncs the file before its name changes, or a power cut could leave
// an empty file.
func synced(data []byte) func(*os.File) error {
	return func(f *os.File) error {
		if _, err := f.Write(data); err != nil {
			return err
		}
		return f.Sync()
	}
}

// stage makes a new file in the folder of path and returns its name. After an error no such
// file is left.
func stage(path string, mode os.FileMode, write func(*os.File) error) (temporary string, err error) {
	// The dot hides the file from programs that list the folder.
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return "", err
	}
	if err = f.Chmod(mode); err == nil {
		err = write(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// SyncFolder makes the names of the files in a folder durable.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" { // it has no such call, and writes them by itself
		return nil
	}
	f, err := openfile.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("the folder's entry is not safe yet: %w", err)
	}
	return nil
}
