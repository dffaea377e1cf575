package appendfile

import (
	"errors"
	"io/fs"

	"evenodd/league/store/disk"
)

// OpenLocked is Open for a file that one process at a time may open, or it returns disk.ErrInUse.
// The lock is on the file itself, so that it cannot be removed, and ends with Close or with
// the process.
//
// If the file is moved, removed or replaced while it is open, it cannot be written any more:
// lines that nobody finds at the path are not durable.
//
// Systems without flock lock nothing: there the caller needs another lock.
func OpenLocked(d disk.Disk, path, name string, visit Visit, cut Cut) (f *File, torn *Torn, err error) {
	return lockedFile(d, path, name, false, visit, cut)
}

// OpenCopy is OpenLocked for a copy of lines that are durable elsewhere. A line counts as durable once it is written;
// Close syncs the file.
func OpenCopy(d disk.Disk, path, name string, visit Visit) (f *File, torn *Torn, err error) {
	return lockedFile(d, path, name, true, visit, nil)
}

func lockedFile(d disk.Disk, path, name string, isCopy bool, visit Visit, cut Cut) (f *File, torn *Torn, err error) {
	file, err := openLocked(d, path)
	if err != nil {
		return nil, nil, err
	}
	f, torn, err = start(d, file, path, name, visit, cut)
	if err == nil {
		f.mu.Lock()
		f.path, f.copy = path, isCopy
		f.mu.Unlock()
	}
	return f, torn, err
}

// openLocked opens and locks a file. A file that was renamed or removed after it was opened
// is no longer the one at path, so its lock protects nothing: try again.
func openLocked(d disk.Disk, path string) (disk.File, error) {
	for {
		file, err := open(d, path)
		if err != nil {
			return nil, err
		}
		switch err := lock(file, true); {
		case errors.Is(err, disk.ErrInUse) && lock(file, false) == nil: // another process asks InUse: try again
		case err != nil:
			return nil, errors.Join(err, file.Close())
		case file.IsAt(path):
			return file, nil
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
}

// lock locks a file, if the system can.
func lock(file disk.File, exclusive bool) error {
	err := file.TryLock(exclusive)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// InUse tells whether a process has the file open by OpenLocked. A missing file is not in
// use. A file that this process may not open is an error, and errors.ErrUnsupported is that of a system without flock.
func InUse(d disk.Disk, path string) (bool, error) {
	file, err := disk.Open(d, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = file.TryLock(false)
	closed := file.Close()
	if errors.Is(err, disk.ErrInUse) {
		return true, closed
	}
	return false, errors.Join(err, closed)
}
