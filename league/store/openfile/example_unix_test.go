//go:build unix

package openfile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"evenodd/league/store/openfile"
)

// A device is no regular file, and has no end.
func ExampleRead() {
	_, err := openfile.Read(os.DevNull, 1<<20)
	fmt.Println(err)
	_, err = openfile.Read(filepath.Join("no", "such", "file"), 1<<20)
	fmt.Println(os.IsNotExist(err))
	// Output:
	// open /dev/null: it is not a regular file
	// true
}
