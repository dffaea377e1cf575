// Package disk is what roles, and readers of their files, use of a file system: Real is that of the machine, and a
// simulation has one in memory that fails as disks do. The package must not depend on what the files contain.
//
// Files of a data folder, of the configuration or of a clone may have been made by others: such a file can be a named
// pipe, a device without end, or larger than the memory. So nothing else of this program opens a file, except userfile,
// which opens what a user names.
package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A Disk has files and folders. Paths are those of path/filepath. Errors wrap fs.ErrNotExist and fs.ErrExist where
// these are the reason, and name the path. A Disk is safe for concurrent use.
type Disk interface {
	// OpenFile is os.OpenFile for a regular file. It does not wait for the other end of a named pipe. A folder is opened,
	// because reading it is an error anyway. The errors are *fs.PathError.
	OpenFile(path string, flag int, mode fs.FileMode) (File, error)

	// CreateTemp is os.CreateTemp: it creates a file with a new name in a folder.
	CreateTemp(dir, pattern string) (File, error)

	// Rename replaces a file by another one, also while it is open, or renames a folder.
	Rename(from, to string) error

	// Link gives a file a second name, which must be free, or the error is fs.ErrExist.
	Link(from, to string) error

	Remove(path string) error
	Mkdir(path string, mode fs.FileMode) error
	MkdirAll(path string, mode fs.FileMode) error

	// ReadDir returns the entries of a folder in the order of their names; after an error those that were read.
	ReadDir(path string) ([]fs.DirEntry, error)

	Stat(path string) (fs.FileInfo, error)
	Lstat(path string) (fs.FileInfo, error)

	// SyncFolder makes the names of the files in a folder durable. After a creation, renaming or removal without it, a
	// power cut may leave the state before.
	SyncFolder(path string) error

	// SyncAll makes everything durable that was written to the file system of an open folder since the folder was opened.
	// The error is errors.ErrUnsupported where there is no such call that returns the errors of all writes.
	SyncAll(folder File) error

	// LockFile locks the file at path, which nothing reads, until unlock is called or the process ends. Exclusive creates
	// the file with mode 0600 and excludes all other locks; otherwise the lock excludes only exclusive ones. The error is
	// ErrInUse if the lock is excluded. Each system has these locks.
	LockFile(path string, exclusive bool) (unlock func() error, err error)
}

// A File is an open file. It is safe for concurrent use as *os.File is.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer // with os.O_APPEND it appends
	io.Closer
	Name() string // the path by which it was opened
	Stat() (fs.FileInfo, error)
	Chmod(mode fs.FileMode) error
	Truncate(size int64) error

	// Sync makes the content durable. After an error the data may be lost, although a later Sync succeeds.
	Sync() error

	// IsAt tells whether a path leads to this file, which may have been renamed or removed since.
	IsAt(path string) bool

	// TryLock locks the file for other open files until Unlock, Close, or the end of the process. Exclusive excludes all
	// other locks; otherwise the lock excludes only exclusive ones. Readers need no lock. The error is ErrInUse if the
	// lock is excluded, and errors.ErrUnsupported on systems without flock: a lock of Windows would keep all other
	// processes from reading the file.
	TryLock(exclusive bool) error

	// Unlock ends the lock at once, if there is one. Close ends it only with the last copy of the descriptor, and a
	// process that is being started has one for a moment.
	Unlock()
}

// ErrInUse is the error of a lock that another lock excludes.
var ErrInUse = errors.New("another process writes this file")

// Open opens a regular file for reading. Its errors are *fs.PathError.
func Open(d Disk, path string) (File, error) { return d.OpenFile(path, os.O_RDONLY, 0) }

// Read reads a regular file of at most limit bytes. Its errors are *fs.PathError.
func Read(d Disk, path string, limit int64) ([]byte, error) {
	f, err := Open(d, path)
	if err != nil {
		return nil, err
	}
	text, err := read(f, limit)
	return text, errors.Join(err, f.Close())
}

// read reads a file, which may grow meanwhile.
func read(f File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	var text bytes.Buffer
	if size <= limit {
		text.Grow(int(size) + bytes.MinRead)
		size, err = text.ReadFrom(io.LimitReader(f, limit+1))
	}
	if err == nil && size > limit {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: TooLarge(limit)}
	}
	return text.Bytes(), err
}

// TooLarge is the error of a file that has more bytes than a limit.
func TooLarge(limit int64) error { return fmt.Errorf("the file has more than %d bytes", limit) }
