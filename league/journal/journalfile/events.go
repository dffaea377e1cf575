package journalfile

import (
	"bytes"
	"fmt"
)

// MaxEvents is how many bytes of events one call of Events returns.
const MaxEvents = 256 << 10

// Events returns the lines of durable events from a number on, without line feeds: at
// most limit, and at most MaxEvents bytes unless the first is longer. Last is the number
// of the last durable event. If that is before from, there are no lines, and more is
// closed when there may be some. An error means that there will be none. The caller
// never delays Append.
func (f *File) Events(from, limit int) (lines [][]byte, last int, more <-chan struct{}, err error) {
	f.mu.Lock()
	last = f.durable
	if from > last {
		if f.failure != nil {
			err = f.failure
		} else if f.more == nil {
			f.more = make(chan struct{})
		}
		more = f.more
		f.mu.Unlock()
		return nil, last, more, err
	}
	to := from
	for to < min(last, from+limit-1) && f.ends[to+1]-f.ends[from-1] <= MaxEvents {
		to++
	}
	start, end := f.ends[from-1], f.ends[to]
	f.mu.Unlock()
	text := make([]byte, end-start)
	if _, err := f.file.ReadAt(text, start); err != nil {
		return nil, last, nil, fmt.Errorf("cannot read the journal: %w", err)
	}
	return bytes.Split(text[:len(text)-1], []byte{'\n'}), last, nil, nil
}

// wakeReaders wakes the callers that wait for more events. F.mu is held.
func (f *File) wakeReaders() {
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}
