//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package disk

import (
	"errors"
	"os"
)

func tryLock(*os.File, bool) error { return errors.ErrUnsupported }

func unlock(*os.File) {}
