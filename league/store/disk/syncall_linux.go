package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll syncs the file system of an open file. Before Linux 5.8 the call hides errors.
func syncAll(f *os.File) error {
	var system unix.Utsname
	if err := unix.Uname(&system); err != nil {
		return errors.ErrUnsupported
	}
	var major, minor int
	_, _ = fmt.Sscanf(string(system.Release[:]), "%d.%d", &major, &minor) // 0 for another text
	if major < 5 || major == 5 && minor < 8 {
		return errors.ErrUnsupported
	}
	return unix.Syncfs(int(f.Fd()))
}
