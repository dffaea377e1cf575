//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package appendfile

import (
	"errors"
	"os"
	"syscall"
)

// Locks tells that this system has flock.
const Locks = true

// tryLock locks an open file for other open files, or returns ErrInUse.
func tryLock(file *os.File) error { return flock(file, syscall.LOCK_EX) }

// tryShare is tryLock for a lock that several open files may have.
func tryShare(file *os.File) error { return flock(file, syscall.LOCK_SH) }

// unlock ends a lock at once. Close ends it only with the last copy of the descriptor, and a process that is being
// started has one for a moment.
func unlock(file *os.File) { _ = flock(file, syscall.LOCK_UN) } // there may be none

func flock(file *os.File, how int) error {
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
