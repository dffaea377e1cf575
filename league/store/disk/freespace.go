package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// FreeSpace returns the bytes that this user can still write to the file system of a folder of the machine. The
// folder need not exist yet. The error is errors.ErrUnsupported on systems without this call.
func FreeSpace(folder string) (uint64, error) {
	path, err := filepath.Abs(folder)
	if err != nil {
		return 0, err
	}
	for {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return freeSpace(path)
		}
		path = filepath.Dir(path)
	}
}
