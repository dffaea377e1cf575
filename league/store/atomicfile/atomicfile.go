// Package atomicfile writes files atomically: after a power cut a file is complete or
// absent. It must not depend on what the files contain.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// WriteFile atomically replaces the content of path. A concurrent reader sees the old
// content or the new, never a part: WriteFile writes to a temporary file in the same
// folder and renames it. The folder must exist. When WriteFile returns nil, the data is on
// disk.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	temporary, err := stage(path, data, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return SyncFolder(filepath.Dir(path))
}

// CreateFile is WriteFile for a new file. An existing file stays unchanged, and the error
// is fs.ErrExist. If many create the same file at once, one succeeds.
func CreateFile(path string, data []byte, mode os.FileMode) error {
	if _, err := os.Lstat(path); err == nil { // saves the work
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	temporary, err := stage(path, data, mode)
	if err != nil {
		return err
	}
	// A link, unlike a rename, never replaces another file.
	if err := errors.Join(os.Link(temporary, path), os.Remove(temporary)); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// stage writes data to a new file in the folder of path, syncs it and returns its name.
// After an error no such file is left.
func stage(path string, data []byte, mode os.FileMode) (temporary string, err error) {
	// The dot hides the file from programs that list the folder.
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync() // before the name changes, or a crash could leave an empty file
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
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("the folder's entry is not safe yet: %w", err)
	}
	return nil
}
