package store

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// syncAll returns the function that syncs the file system of an open file; nil before Linux 5.8,
// where it hides errors.
func syncAll() func(*os.File) error {
	var system unix.Utsname
	if unix.Uname(&system) != nil {
		return nil
	}
	parts := bytes.SplitN(system.Release[:], []byte("."), 3)
	major, _ := strconv.Atoi(string(parts[0]))
	minor := 0
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(string(parts[1]))
	}
	if major < 5 || major == 5 && minor < 8 {
		return nil
	}
	return func(f *os.File) error { return unix.Syncfs(int(f.Fd())) }
}
