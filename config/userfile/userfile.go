// Package userfile reads and writes the files that a user names on a command line. Such a file may be
// a named pipe or a device. The package must not depend on what the files contain.
package userfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"evenodd/league/store/atomicfile"
)

// Read returns the content of a file of at most limit bytes. Its errors do not have the path.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, limit+1))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, Reason(err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("the file has more than %d bytes", limit)
	}
	return text, nil
}

// Reason returns an error of a file without its path, for a message that names the path.
func Reason(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// ReadText is Read for a file in UTF-8.
func ReadText(path string, limit int64) ([]byte, error) {
	text, err := Read(path, limit)
	if err == nil && !utf8.Valid(text) {
		err = errors.New("the file is not in UTF-8: save it as UTF-8")
	}
	return text, err
}

// Write replaces the content of a regular file atomically, or makes it with the mode. All else, such as
// a device or a named pipe, is written into, and so is what a symbolic link names, as a shell does for
// '>'. Its errors have the path.
func Write(path string, content []byte, mode fs.FileMode) error {
	if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
		return atomicfile.WriteFile(path, content, mode)
	}
	return os.WriteFile(path, content, mode)
}
