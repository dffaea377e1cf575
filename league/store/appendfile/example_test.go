package appendfile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

// A line is durable after Sync. Open visits the lines that the file has.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "lines")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "journal.jsonl")
	for _, line := range []string{`{"seq":1}`, `{"seq":2}`} {
		f, _, err := appendfile.Open(disk.Real{}, path, "the journal", func(number int, text []byte) error {
			fmt.Println("line", number, string(text))
			return nil
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		number, err := f.Append([]byte(line), true)
		fmt.Println("appended", number, err, f.Sync(number), f.Close())
	}
	// Output:
	// appended 1 <nil> <nil> <nil>
	// line 1 {"seq":1}
	// appended 2 <nil> <nil> <nil>
}
