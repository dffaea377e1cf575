package protocol

import (
	"sync"
	"time"
)

// A LineQuota limits the log lines that callers without a credential can cause: linesPerMinute
// lines in a minute. It counts the others. The zero value is ready to use, by several goroutines
// at once.
type LineQuota struct {
	mu      sync.Mutex
	ends    time.Time // of the minute
	lines   int
	omitted int // since the last line
}

const linesPerMinute = 20

// Take tells whether the log may get another line, and how many were omitted before it.
func (q *LineQuota) Take(now time.Time) (omitted int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !now.Before(q.ends) {
		q.ends, q.lines = now.Add(time.Minute), 0
	}
	if q.lines == linesPerMinute {
		q.omitted++
		return 0, false
	}
	q.lines++
	omitted, q.omitted = q.omitted, 0
	return omitted, true
}
