package atomicfile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// A reader of the file sees all of the old text or all of the new text.
func ExampleWriteFile() {
	dir, err := os.MkdirTemp("", "file")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "standings.json")
	fmt.Println(atomicfile.WriteFile(disk.Real{}, path, []byte("{}"), 0o600))
	text, err := os.ReadFile(path)
	fmt.Println(string(text), err)
	// Output:
	// <nil>
	// {} <nil>
}
