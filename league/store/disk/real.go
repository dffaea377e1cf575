package disk

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"github.com/gofrs/flock"
)

// Real is the disk of the machine.
type Real struct{}

var _ Disk = Real{}

// A realFile has one pointer, so that a File is made without an allocation.
type realFile struct{ *os.File }

// errNotRegular is the error for a file of another type.
var errNotRegular = errors.New("it is not a regular file")

// OpenFile implements Disk.
func (Real) OpenFile(path string, flag int, mode fs.FileMode) (File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return realFile{f}, nil
}

// CreateTemp implements Disk.
func (Real) CreateTemp(dir, pattern string) (File, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return realFile{f}, nil
}

// Rename implements Disk.
func (Real) Rename(from, to string) error { return rename(from, to) }

// Link implements Disk.
func (Real) Link(from, to string) error { return os.Link(from, to) }

// Remove implements Disk.
func (Real) Remove(path string) error { return os.Remove(path) }

// Mkdir implements Disk.
func (Real) Mkdir(path string, mode fs.FileMode) error { return os.Mkdir(path, mode) }

// MkdirAll implements Disk.
func (Real) MkdirAll(path string, mode fs.FileMode) error { return os.MkdirAll(path, mode) }

// ReadDir implements Disk.
func (Real) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Stat implements Disk.
func (Real) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

// Lstat implements Disk.
func (Real) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// SyncFolder implements Disk.
func (r Real) SyncFolder(path string) error {
	if runtime.GOOS == "windows" { // it has no such call, and writes the names by itself
		return nil
	}
	f, err := Open(r, path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncAll implements Disk.
func (Real) SyncAll(folder File) error {
	f, isReal := folder.(realFile)
	if !isReal {
		return errors.ErrUnsupported
	}
	return syncAll(f.File)
}

// LockFile implements Disk.
func (Real) LockFile(path string, exclusive bool) (unlock func() error, err error) {
	flag, try := os.O_RDONLY|syscall.O_NONBLOCK, (*flock.Flock).TryRLock
	if exclusive {
		flag, try = flag|os.O_CREATE, (*flock.Flock).TryLock
	}
	lock := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(flag))
	locked, err := try(lock)
	if err == nil && !locked {
		err = ErrInUse
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock.Close, nil
}

// IsAt implements File.
func (f realFile) IsAt(path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(opened, there)
}

// TryLock implements File.
func (f realFile) TryLock(exclusive bool) error { return tryLock(f.File, exclusive) }

// Unlock implements File.
func (f realFile) Unlock() { unlock(f.File) }
