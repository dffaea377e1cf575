package protocol

import "time"

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
