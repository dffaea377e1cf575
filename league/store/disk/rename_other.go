//go:build !windows

package disk

import "os"

// rename replaces a file.
func rename(from, to string) error { return os.Rename(from, to) }
