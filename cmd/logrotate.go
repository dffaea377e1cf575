package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/gofrs/flock"

	"evenodd/league/store"
)

// rotate begins another file if a line of so many bytes would make this one too large. Other
// processes may append to the same file and rotate it too: the size is that on disk.
func (f *logFile) rotate(line int64) error {
	about, err := f.file.Stat()
	if err != nil || about.Size() == 0 || about.Size()+line <= f.most {
		return err
	}
	if err := f.shiftOnce(about); err != nil {
		return err
	}
	err = f.file.Close()
	f.file = nil
	if err == nil {
		err = f.open(false)
	}
	return err
}

// open opens the file at the path, and decides how large it may become.
func (f *logFile) open(mend bool) (err error) {
	if f.file, err = openLog(f.path, mend); err != nil {
		return err
	}
	f.most = int64(f.limits.MaxFileMB) * megabyte
	if free, err := store.FreeSpace(f.folder); err == nil { // else writing fails when the disk is full
		f.most = min(f.most, int64(min(free/8, math.MaxInt64)))
	}
	return nil
}

// shiftOnce is shift, unless another process has renamed this file. It locks the file, because
// two processes that rename at the same time would replace each other's files.
func (f *logFile) shiftOnce(own os.FileInfo) (err error) {
	lock := flock.New(f.path, flock.SetFlag(os.O_RDONLY)) // without it: another process is renaming
	switch err := lock.Lock(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if current, err := os.Stat(f.path); err != nil || !os.SameFile(own, current) {
		return nil // another process has renamed it
	}
	return f.shift()
}

// shift renames the files of the log, and removes those above the limit.
func (f *logFile) shift() error {
	for n := f.limits.MaxFiles; ; n++ { // more than one if the limit was higher before
		if err := os.Remove(f.backup(n)); err != nil {
			break
		}
	}
	for n := f.limits.MaxFiles - 1; n > 0; n-- {
		if err := os.Rename(f.backup(n-1), f.backup(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if f.limits.MaxFiles == 1 {
		return os.Remove(f.path)
	}
	return nil
}

// backup returns the path of an older file of the log: 1 is the newest of them, 0 the current file.
func (f *logFile) backup(n int) string {
	if n == 0 {
		return f.path
	}
	return fmt.Sprintf("%s.%d", f.path, n)
}
