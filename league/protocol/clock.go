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
	cache [64]atomic.Pointer[cachedSecond] // by second
}

type cachedSecond struct {
	second int64
	text   string
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

// Timestamp returns the current time in the form of the protocol.
func (c *Clock) Timestamp() string { return c.Format(c.now()) }

// Format returns FormatTimestamp of t. It caches the texts of the last seconds, because
// every message contains a timestamp.
func (c *Clock) Format(t time.Time) string {
	second := t.Unix()
	slot := &c.cache[uint64(second)%uint64(len(c.cache))] //nolint:gosec // an index in the cache
	if s := slot.Load(); s != nil && s.second == second {
		return s.text
	}
	s := &cachedSecond{second, FormatTimestamp(t)}
	slot.Store(s)
	return s.text
}
