package appendfile

import (
	"errors"
	"io/fs"
	"os"

	"evenodd/league/store/openfile"
)

// ErrInUse is the error of OpenLocked for a file that another process has open.
var ErrInUse = errors.New("another process writes this file")

// OpenLocked is Open for a file that one process at a time may open, or it returns ErrInUse.
// The lock is on the file itself, so that it cannot be removed, and ends with Close or with
// the process.
//
// If the file is moved, removed or replaced while it is open, it cannot be written any more:
// lines that nobody finds at the path are not durable.
//
// Systems without flock lock nothing: there the caller needs another lock. A lock of Windows
// would keep all other processes from reading the file.
func OpenLocked(path, name string, visit Visit) (f *File, torn *Torn, err error) {
	return lockedFile(path, name, false, visit)
}

// OpenCopy is OpenLocked for a copy of lines that are durable elsewhere. A line counts as durable once it is written;
// Close syncs the file.
func OpenCopy(path, name string, visit Visit) (f *File, torn *Torn, err error) {
	return lockedFile(path, name, true, visit)
}

func lockedFile(path, name string, isCopy bool, visit Visit) (f *File, torn *Torn, err error) {
	file, err := openLocked(path, tryLock)
	if err != nil {
		return nil, nil, err
	}
	f, torn, err = start(file, path, name, visit)
	if err == nil {
		f.mu.Lock()
		f.path, f.copy = path, isCopy
		f.mu.Unlock()
	}
	return f, torn, err
}

// openLocked opens and locks a file. A file that was renamed or removed after it was opened
// is no longer the one at path, so its lock protects nothing: try again.
func openLocked(path string, lock func(*os.File) error) (*os.File, error) {
	for {
		file, err := open(path)
		if err != nil {
			return nil, err
		}
		switch err := lock(file); {
		case errors.Is(err, ErrInUse) && tryShare(file) == nil: // another process asks InUse: try again
		case err != nil:
			return nil, errors.Join(err, file.Close())
		case isAt(file, path):
			return file, nil
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
}

func isAt(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(opened, there)
}

// InUse tells whether a process has the file open by OpenLocked. A missing file is not in
// use. A file that this process may not open is an error.
func InUse(path string) (bool, error) {
	file, err := openfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = tryShare(file)
	closed := file.Close()
	if errors.Is(err, ErrInUse) {
		return true, closed
	}
	return false, errors.Join(err, closed)
}
