// Package atomicfile writes files atomically: a reader sees a complete file or none. It
// must not depend on what the files contain.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"evenodd/league/store/disk"
)

// WriteFile atomically replaces the content of path. A concurrent reader sees the old
// content or the new, never a part: WriteFile writes to a temporary file in the same
// folder and renames it. The folder must exist. When WriteFile returns nil, the data is on
// disk, and a power cut during WriteFile leaves the old content or the new.
func WriteFile(d disk.Disk, path string, data []byte, mode fs.FileMode) error {
	if err := replace(d, path, mode, synced(data)); err != nil {
		return err
	}
	return SyncFolder(d, filepath.Dir(path))
}

// WriteUnsynced is WriteFile without syncs, for a file that can be made again from other
// files: after a power cut it may have the old content, the new, a part of it or none.
// write writes the content; after an error the old file stays.
func WriteUnsynced(d disk.Disk, path string, mode fs.FileMode, write func(io.Writer) error) error {
	return replace(d, path, mode, func(f disk.File) error {
		w := bufio.NewWriterSize(f, 1<<16)
		return errors.Join(write(w), w.Flush())
	})
}

// replace writes a temporary file and renames it to path.
func replace(d disk.Disk, path string, mode fs.FileMode, write func(disk.File) error) error {
	temporary, err := stage(d, path, mode, write)
	if err != nil {
		return err
	}
	if err := d.Rename(temporary, path); err != nil {
		return errors.Join(err, d.Remove(temporary))
	}
	return nil
}

// CreateFile is WriteFile for a new file. An existing file stays unchanged, and the error
// is fs.ErrExist. If many create the same file at once, one succeeds.
func CreateFile(d disk.Disk, path string, data []byte, mode fs.FileMode) error {
	if _, err := d.Lstat(path); err == nil { // saves the work
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	temporary, err := stage(d, path, mode, synced(data))
	if err != nil {
		return err
	}
	// A link, unlike a rename, never replaces another file.
	if err := errors.Join(d.Link(temporary, path), d.Remove(temporary)); err != nil {
		return err
	}
	return SyncFolder(d, filepath.Dir(path))
}

// synced writes data and syncs the file before its name changes, or a power cut could leave
// an empty file.
func synced(data []byte) func(disk.File) error {
	return func(f disk.File) error {
		if _, err := f.Write(data); err != nil {
			return err
		}
		return f.Sync()
	}
}

// stage makes a new file in the folder of path and returns its name. After an error no such
// file is left.
func stage(d disk.Disk, path string, mode fs.FileMode, write func(disk.File) error) (temporary string, err error) {
	// The dot hides the file from programs that list the folder.
	f, err := d.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return "", err
	}
	if err = f.Chmod(mode); err == nil {
		err = write(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, d.Remove(f.Name()))
	}
	return f.Name(), nil
}

// MakeFolder creates a folder and those above it that are missing, durably: a power cut would take all files in a
// folder whose name is not on the disk. The name of an existing folder becomes durable, too: the process that made it
// may have been killed before its sync. The mode is that of a new folder; those above it can be read by all.
func MakeFolder(d disk.Disk, dir string, mode fs.FileMode) error {
	above := filepath.Dir(dir)
	switch _, err := d.Stat(dir); {
	case err == nil:
		if err = SyncFolder(d, above); errors.Is(err, fs.ErrPermission) {
			return nil // the folder above cannot be opened, and so not be synced
		}
		return err
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if above != dir {
		if err := MakeFolder(d, above, 0o755); err != nil {
			return err
		}
	}
	switch err := d.Mkdir(dir, mode); {
	case errors.Is(err, fs.ErrExist): // others create it at the same time
	case err != nil:
		return err
	}
	return SyncFolder(d, above)
}

// SyncFolder makes the names of the files in a folder durable.
func SyncFolder(d disk.Disk, dir string) error {
	if err := d.SyncFolder(dir); err != nil {
		return fmt.Errorf("the folder's entry is not safe yet: %w", err)
	}
	return nil
}
