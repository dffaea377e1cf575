package protocol

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"evenodd/league/words"
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

// A Deadline is the end of the time to answer a question, by the times that a match file
// has: those of the wall clock of the referee. Referee and audit judge by it alone whether a
// response was in time, so that they agree whatever happened to the referee's process or to
// its clock. The zero value is no deadline.
type Deadline struct {
	at     time.Time
	queued time.Duration // at the referee, of all questions with this deadline
}

// deadlineTolerance is how much later than its deadline a response may be read: deadlines
// in messages are cut to seconds.
const deadlineTolerance = time.Second

// Ask sets the deadline of a question, as its message says it. A question that is repeated
// with the same deadline continues its time.
func (d *Deadline) Ask(at time.Time) {
	if !at.Equal(d.at) {
		*d = Deadline{at: at}
	}
}

// Queue extends the time by that which a question was queued at the referee. Timing may be
// nil.
func (d *Deadline) Queue(timing *Timing) {
	if timing != nil {
		d.queued += FromMilliseconds(Milliseconds(timing.Queued)) // as files have it
	}
}

// Late tells whether a response that the referee read at a time is too late to count, and
// how long after the deadline that was. Calls end at the deadline, so the referee was
// stopped or suspended in between, or its clock was set: nobody can tell when the response
// arrived, and the call attempt is void. It does not matter whether the response is an
// answer, an error or a broken connection. A timeout is no response.
func (d *Deadline) Late(at time.Time) (after time.Duration, late bool) {
	// as files have it; without the monotonic clock, which stops while a machine sleeps
	after = at.Truncate(time.Millisecond).Sub(d.at)
	return after, !d.at.IsZero() && after > deadlineTolerance+d.queued
}

// Margin is the longest local delay that counts as normal for a question with the
// given window: a twentieth of the window, at least 100 ms and at most 1 s. If this
// side queued the question for longer, or stalled for longer, a missing answer is
// not the player's failure.
func Margin(window time.Duration) time.Duration {
	return min(max(window/20, 100*time.Millisecond), time.Second)
}

const timestampLimit = 40 // characters; no fraction of a second needs more

// FormatTimestamp formats t as the protocol requires: UTC, whole seconds,
// YYYY-MM-DDTHH:MM:SSZ (spec 003 §4.12.3).
func FormatTimestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ParseTimestamp reads a timestamp that the protocol accepts: Z or +00:00,
// with or without fractions of a second (spec 003 §2.4.2). Local zones and
// times without a zone are errors.
func ParseTimestamp(s string) (time.Time, error) {
	if !strings.HasSuffix(s, "Z") && !strings.HasSuffix(s, "+00:00") {
		return time.Time{}, fmt.Errorf("%q is not in UTC: end it with Z or +00:00", clip(s))
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	// time.Parse takes T1:30:00Z too
	if err != nil || len(s) > timestampLimit || s[13] != ':' || strings.ContainsRune(s, ',') {
		return time.Time{}, fmt.Errorf("%q is not a time of the form YYYY-MM-DDTHH:MM:SSZ", clip(s))
	}
	return t.UTC(), nil
}

// ValidTimestamp tells whether ParseTimestamp accepts s.
func ValidTimestamp(s string) bool {
	_, err := ParseTimestamp(s)
	return err == nil
}

// OptionalTimestamp is FormatTimestamp; "" for the zero time.
func OptionalTimestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return FormatTimestamp(t)
}

// clip shortens an untrusted text for an error text.
func clip(s string) string { return words.Clip(s, 60) }
