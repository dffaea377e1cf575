package protocol

import (
	"math"
	"time"

	"github.com/go-json-experiment/json"
)

// A Timing is where the time of a call went, in the order in which it passed:
// waiting at this side, connecting (DNS, TCP, TLS), waiting for the first byte of
// the answer, and reading the rest. As JSON it has queued_ms, connecting_ms,
// waiting_ms and reading_ms, to a tenth of a millisecond.
type Timing struct {
	Queued, Connecting, Waiting, Reading time.Duration
}

type timingJSON struct {
	Queued     float64 `json:"queued_ms"`
	Connecting float64 `json:"connecting_ms"`
	Waiting    float64 `json:"waiting_ms"`
	Reading    float64 `json:"reading_ms"`
}

// MarshalJSON writes milliseconds.
func (t Timing) MarshalJSON() ([]byte, error) {
	return json.Marshal(timingJSON{Milliseconds(t.Queued), Milliseconds(t.Connecting), Milliseconds(t.Waiting), Milliseconds(t.Reading)})
}

// UnmarshalJSON reads milliseconds.
func (t *Timing) UnmarshalJSON(raw []byte) error {
	var ms timingJSON
	if err := json.Unmarshal(raw, &ms); err != nil {
		return err
	}
	*t = Timing{FromMilliseconds(ms.Queued), FromMilliseconds(ms.Connecting), FromMilliseconds(ms.Waiting), FromMilliseconds(ms.Reading)}
	return nil
}

// Total is how long the call took in all.
func (t Timing) Total() time.Duration { return t.Queued + t.Connecting + t.Waiting + t.Reading }

// Milliseconds is a duration as files and messages have it: rounded to a tenth.
func Milliseconds(d time.Duration) float64 {
	return math.Round(float64(d)/float64(100*time.Microsecond)) / 10
}

// FromMilliseconds is the reverse of Milliseconds.
func FromMilliseconds(ms float64) time.Duration {
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}

// Margin is how far this side may have queued a question of the given window, or
// have stalled in it, before the failure to answer is nobody's: a twentieth of
// the window, at least 100 ms and at most 1 s. Less is what a player must reckon
// with, as with the network.
func Margin(window time.Duration) time.Duration {
	return min(max(window/20, 100*time.Millisecond), time.Second)
}

// progress is what a carrier told of a call.
type progress struct {
	timing   Timing
	departed time.Time // when the request began to be written; zero for never, as far as is known
	answered bool
}

// Departed tells that the request begins to be written: how long it has waited
// at this side since the call began, and how long connecting took. When it is
// sent again the last word counts. What was queued moves the deadline of a
// Window: by the most that was ever told, and not after the end.
func (l *Limited) Departed(queued, connecting time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.told().timing.Queued
	*l.call = progress{timing: Timing{Queued: max(queued, before), Connecting: connecting}, departed: time.Now()}
	if l.movable && queued > before && l.ended() == nil {
		l.move(queued - before)
	}
}

// Answered tells that the answer has been read: how long it took until its first
// byte, and from there to its last.
func (l *Limited) Answered(waiting, reading time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.told()
	p.timing.Waiting, p.timing.Reading, p.answered = waiting, reading, true
}

// told is what the carrier tells; the lock is held.
func (l *Limited) told() *progress {
	if l.call == nil {
		l.call = &progress{}
	}
	return l.call
}

// move lets the context end later; the lock is held.
func (l *Limited) move(by time.Duration) {
	if d, ok := l.Context.Deadline(); ok {
		by = min(by, d.Sub(l.deadline))
	}
	if by <= 0 {
		return
	}
	l.deadline, l.extended = l.deadline.Add(by), l.extended+by
	if l.timer != nil {
		l.timer.Reset(time.Until(l.deadline))
	}
}

// Left is when the request began to be written, for the last time; zero when it
// did not, or the carrier told nothing.
func (l *Limited) Left() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.call == nil {
		return time.Time{}
	}
	return l.call.departed
}

// Timing is where the time of the call went, until now where no answer came;
// nil when the carrier told nothing.
func (l *Limited) Timing() *Timing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.call == nil {
		return nil
	}
	t := l.call.timing
	if !l.call.answered && !l.call.departed.IsZero() {
		t.Waiting = time.Since(l.call.departed)
	}
	return &t
}
