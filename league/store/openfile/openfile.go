// Package openfile opens files that others may have made: those of a data folder, of the configuration, of a clone. Such a
// file can be a named pipe, a device without end, or larger than the memory. The package must not depend on what the
// files contain. Nothing else of this program opens a file, except userfile, which opens what a user names.
package openfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// errNotRegular is the error for a file of another type.
var errNotRegular = errors.New("it is not a regular file")

// Open opens a regular file for reading. Its errors are *fs.PathError.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for a regular file. It does not wait for the other end of a named pipe. A folder is opened,
// because reading it is an error anyway. Its errors are *fs.PathError.
func OpenFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
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
	return f, nil
}

// Read reads a regular file of at most limit bytes. Its errors are *fs.PathError.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	text, err := read(f, limit)
	return text, errors.Join(err, f.Close())
}

// read reads a file, which may grow meanwhile.
func read(f *os.File, limit int64) ([]byte, error) {
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
