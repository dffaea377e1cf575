package protocol

import (
	"context"
	"sync/atomic"
	"time"
)

// A Clock is the time of an agent: the current time, and a way to wait. A test or a
// simulation can replace it. Safe for concurrent use.
type Clock struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
	cache [64]atomic.Pointer[second] // by second, because every message has a timestamp
}

// A second is a second since 1970 and its timestamp.
type second struct {
	unix int64
	text string
}

// NewClock returns a clock that uses the two functions. Sleep must return ctx.Err()
// when ctx ends first.
func NewClock(now func() time.Time, sleep func(context.Context, time.Duration) error) *Clock {
	return &Clock{now: now, sleep: sleep}
}

// SystemClock returns a clock with the time of the machine.
func SystemClock() *Clock {
	return NewClock(time.Now, func(ctx context.Context, d time.Duration) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// Now returns the current time.
func (c *Clock) Now() time.Time { return c.now() }

// Sleep waits for d. If ctx ends first, it returns the error of ctx.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error { return c.sleep(ctx, d) }

// Backoff returns the pause after so many earlier pauses: first, then twice the one before, up
// to longest.
func Backoff(earlier int, first, longest time.Duration) time.Duration {
	pause := min(first, longest)
	for ; earlier > 0 && pause < longest; earlier-- {
		pause = min(2*pause, longest)
	}
	return pause
}

// Timestamp returns the current time in the form of the protocol.
func (c *Clock) Timestamp() string { return c.Format(c.now()) }

// Format returns FormatTimestamp of t.
func (c *Clock) Format(t time.Time) string {
	unix := t.Unix()
	slot := &c.cache[uint64(unix)%uint64(len(c.cache))] //nolint:gosec // an index in the cache
	s := slot.Load()
	if s == nil || s.unix != unix {
		s = &second{unix, FormatTimestamp(t)}
		slot.Store(s)
	}
	return s.text
}
