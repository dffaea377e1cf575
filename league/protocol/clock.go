package protocol

import (
	"context"
	"sync/atomic"
	"time"
)

// A Clock is an agent's time: what now is, and how to wait between two things.
// Agents are given one, so that a test or a simulation can give them a time of
// its own; only deadlines of calls are those of their contexts. Safe for
// concurrent use.
type Clock struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
	cache [64]atomic.Pointer[cachedSecond] // by second
}

type cachedSecond struct {
	second int64
	text   string
}

// NewClock makes a clock of the two functions. Sleep must return ctx.Err()
// when ctx ends first.
func NewClock(now func() time.Time, sleep func(context.Context, time.Duration) error) *Clock {
	return &Clock{now: now, sleep: sleep}
}

// SystemClock is the time of the machine.
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

// Now is the present moment.
func (c *Clock) Now() time.Time { return c.now() }

// Sleep waits for d, or until ctx ends, and then returns its error.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error { return c.sleep(ctx, d) }

// Timestamp is now as the protocol writes it.
func (c *Clock) Timestamp() string { return c.Format(c.now()) }

// Format is FormatTimestamp, once for each second around now: every message
// carries a timestamp, and many a deadline.
func (c *Clock) Format(t time.Time) string {
	second := t.Unix()
	slot := &c.cache[uint64(second)%uint64(len(c.cache))] //nolint:gosec // only a place in the cache
	if s := slot.Load(); s != nil && s.second == second {
		return s.text
	}
	s := &cachedSecond{second, FormatTimestamp(t)}
	slot.Store(s)
	return s.text
}
