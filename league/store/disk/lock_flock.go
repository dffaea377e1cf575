//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package disk

import (
	"errors"
	"os"
	"syscall"
)

func tryLock(file *os.File, exclusive bool) error {
	if exclusive {
		return lock(file, syscall.LOCK_EX)
	}
	return lock(file, syscall.LOCK_SH)
}

func unlock(file *os.File) { _ = lock(file, syscall.LOCK_UN) } // there may be none

func lock(file *os.File, how int) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Control(func(fd uintptr) {
		for failure = syscall.EINTR; errors.Is(failure, syscall.EINTR); {
			failure = syscall.Flock(int(fd), how|syscall.LOCK_NB)
		}
	})
	switch {
	case err != nil:
		return err
	case errors.Is(failure, syscall.EWOULDBLOCK):
		return ErrInUse
	case failure != nil:
		return &os.PathError{Op: "flock", Path: file.Name(), Err: failure}
	}
	return nil
}
