package disk

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// rename replaces a file. Windows refuses that while another process or goroutine has the file
// open, so rename tries again for 2 seconds, until the reader has closed it.
func rename(from, to string) error {
	const sharingViolation = syscall.Errno(32)
	tick, end := time.NewTicker(5*time.Millisecond), time.After(2*time.Second)
	defer tick.Stop()
	for {
		err := os.Rename(from, to)
		if !errors.Is(err, syscall.ERROR_ACCESS_DENIED) && !errors.Is(err, sharingViolation) {
			return err
		}
		select {
		case <-end:
			return err
		case <-tick.C:
		}
	}
}
