//go:build !linux

package disk

import (
	"errors"
	"os"
)

// syncAll is unsupported: only Linux returns the errors of all files.
func syncAll(*os.File) error { return errors.ErrUnsupported }
