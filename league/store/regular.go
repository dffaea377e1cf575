package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// errNotRegular is the error for a file of another type. To open a named pipe would wait for
// ever, and a device may have no end.
var errNotRegular = errors.New("it is not a regular file")

// Open opens a regular file of a data folder, which another user may have written. Its
// errors are *fs.PathError.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() { // reading a folder is an error anyway
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	return os.Open(path)
}

// ReadFile reads a regular file of a data folder. Its errors are those of Open.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(f)
	return raw, errors.Join(err, f.Close())
}
