package referee

import (
	"sync"
	"time"
)

// A steadyClock makes times of a match from those of the wall clock: they go on as the monotonic clock does, also when
// the wall clock is set back, so that the times of a match file are in order, and no call takes less time by them than
// it took. When the wall clock is ahead, because it was set or the machine slept, they follow it: only so a response
// shows that it was read too late (protocol.Deadline). The zero value is ready to use; it is safe for concurrent use.
type steadyClock struct {
	mu     sync.Mutex
	anchor time.Time // of both clocks
}

// at returns the time of the match at a time of protocol.Clock.
func (c *steadyClock) at(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	steady := c.anchor.Add(now.Sub(c.anchor))
	if c.anchor.IsZero() || now.Round(0).After(steady.Round(0)) {
		c.anchor, steady = now, now
	}
	return steady
}
