package store

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll returns the function that syncs the file system of an open file; nil before Linux 5.8,
// where it hides errors.
func syncAll() func(*os.File) error {
	var system unix.Utsname
	if unix.Uname(&system) != nil {
		return nil
	}
	var major, minor int
	_, _ = fmt.Sscanf(string(system.Release[:]), "%d.%d", &major, &minor) // 0 for another text
	if major < 5 || major == 5 && minor < 8 {
		return nil
	}
	return func(f *os.File) error { return unix.Syncfs(int(f.Fd())) }
}
