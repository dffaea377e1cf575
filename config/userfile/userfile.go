// Package userfile reads and writes the files that a user names on a command line. Such a file may be
// a named pipe or a device. The package must not depend on what the files contain.
package userfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
	"unicode/utf8"

	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// patience is how long a named pipe without another end is waited for.
const patience = 2 * time.Second

// The errors of a named pipe without another end.
var (
	errNoWriter = errors.New("it is a named pipe, and no program has written to it for " + patience.String())
	errNoReader = errors.New("it is a named pipe, and no program reads from it")
)

// Read returns the content of a file of at most limit bytes. Its errors do not have the path.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	var text []byte
	if err == nil {
		text, err = readAll(f, limit)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, Reason(err)
	}
	if int64(len(text)) > limit {
		return nil, disk.TooLarge(limit)
	}
	return text, nil
}

// readAll reads a file to its end, or a byte more than limit. A named pipe has an end while no program writes to it: one
// may begin to.
func readAll(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var text []byte
	ended := untilTrue(func() bool {
		text, err = io.ReadAll(io.LimitReader(f, limit+1))
		return len(text) > 0 || err != nil || info.Mode()&fs.ModeNamedPipe == 0
	})
	if !ended {
		err = errNoWriter
	}
	return text, err
}

// untilTrue tries something again until it is true, and returns false after the patience.
func untilTrue(try func() bool) bool {
	tick, end := time.NewTicker(10*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !try() {
		select {
		case <-end:
			return false
		case <-tick.C:
		}
	}
	return true
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
		return atomicfile.WriteFile(disk.Real{}, path, content, mode)
	}
	f, err := openOutput(path, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// openOutput opens what is not replaced. A named pipe needs a program that reads from it: one may begin to.
func openOutput(path string, mode fs.FileMode) (f *os.File, err error) {
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	info, err := os.Stat(path)
	pipe := err == nil && info.Mode()&fs.ModeNamedPipe != 0
	if pipe {
		flag |= syscall.O_NONBLOCK
	}
	opened := untilTrue(func() bool {
		f, err = os.OpenFile(path, flag, mode)
		return !pipe || !errors.Is(err, syscall.ENXIO)
	})
	if !opened {
		err = &fs.PathError{Op: "open", Path: path, Err: errNoReader}
	}
	return f, err
}
