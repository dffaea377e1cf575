package protocol

import (
	"context"
	"sync/atomic"
	"time"
)

// A Clock is an agent's time: what now is, and how to wait. Agents never ask
// the time package themselves, so that a test or a simulation can give them a
// time of its own. Safe for concurrent use.
type Clock struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
	last  atomic.Pointer[stamp]
}

type stamp struct {
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

// Timestamp is now as the protocol writes it. It is formatted once a second,
// because every message carries one.
func (c *Clock) Timestamp() string {
	now := c.now()
	second := now.Unix()
	if s := c.last.Load(); s != nil && s.second == second {
		return s.text
	}
	s := &stamp{second, FormatTimestamp(now)}
	c.last.Store(s)
	return s.text
}
