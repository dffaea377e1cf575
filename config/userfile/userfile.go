// Package userfile reads and writes the files that a user names on a command line. Such a file may be
// a named pipe or a device, whose system calls can block for ever: each function here returns when its
// context ends. The package must not depend on what the files contain.
package userfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"

	"evenodd/league/store/atomicfile"
)

// patience is how long a named pipe may have no process at its other end.
const patience = 5 * time.Second

// Read returns the content of a file of at most limit bytes. It does not wait for a named pipe without
// a writer longer than 5 seconds. Its errors do not have the path.
func Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	return read(ctx, path, limit, patience)
}

// ReadText is Read for a file in UTF-8.
func ReadText(ctx context.Context, path string, limit int64) ([]byte, error) {
	text, err := Read(ctx, path, limit)
	if err == nil && !utf8.Valid(text) {
		err = errors.New("the file is not in UTF-8: save it as UTF-8")
	}
	return text, err
}

func read(ctx context.Context, path string, limit int64, patience time.Duration) ([]byte, error) {
	text, err := use(ctx, path, os.O_RDONLY, 0, patience, func(f *os.File) ([]byte, error) {
		text, err := io.ReadAll(io.LimitReader(f, limit+1))
		if err == nil && int64(len(text)) > limit {
			err = fmt.Errorf("the file has more than %d bytes", limit)
		}
		return text, err
	})
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	return text, err
}

// Write replaces the content of a regular file atomically, or makes it with the mode. All else, such as
// a device or a named pipe, is written into, and so is what a symbolic link names, as a shell does for
// '>'. Write does not wait for a named pipe without a reader longer than 5 seconds. Its errors have the
// path.
func Write(ctx context.Context, path string, content []byte, mode fs.FileMode) error {
	return write(ctx, path, content, mode, patience)
}

func write(ctx context.Context, path string, content []byte, mode fs.FileMode, patience time.Duration) error {
	if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
		return atomicfile.WriteFile(path, content, mode)
	}
	_, err := use(ctx, path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode, patience, func(f *os.File) ([]byte, error) {
		_, err := f.Write(content)
		return nil, err
	})
	return err
}

// use opens a file, calls do with it, and closes it. When ctx ends, it returns without waiting for them.
func use(ctx context.Context, path string, flag int, mode fs.FileMode, patience time.Duration, do func(*os.File) ([]byte, error)) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	done, late := make(chan result, 1), time.NewTimer(patience)
	if info, err := os.Stat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		late.Stop()
	}
	go func() { // a blocked system call may keep it until the process ends
		f, err := os.OpenFile(path, flag, mode)
		late.Stop()
		var text []byte
		if err == nil {
			text, err = do(f)
			err = errors.Join(err, f.Close())
		}
		done <- result{text, err}
	}()
	var err error
	select {
	case r := <-done:
		return r.text, r.err
	case <-late.C:
		err = fmt.Errorf("no process has opened the other end of this named pipe in %s: start that process first", patience)
	case <-ctx.Done():
		err = fmt.Errorf("interrupted: %w", ctx.Err())
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: err}
}
