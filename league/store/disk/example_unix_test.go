//go:build unix

package disk_test

import (
	"fmt"
	"os"
	"path/filepath"

	"evenodd/league/store/disk"
)

// A device is no regular file, and has no end.
func ExampleRead() {
	_, err := disk.Read(disk.Real{}, os.DevNull, 1<<20)
	fmt.Println(err)
	_, err = disk.Read(disk.Real{}, filepath.Join("no", "such", "file"), 1<<20)
	fmt.Println(os.IsNotExist(err))
	// Output:
	// open /dev/null: it is not a regular file
	// true
}
