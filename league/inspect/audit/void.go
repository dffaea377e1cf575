package audit

import (
	"time"

	"evenodd/league/protocol"
)

// timingTolerance is how much the times of a match file may be off: they have
// milliseconds, and durations are measured by another clock.
const timingTolerance = 100 * time.Millisecond

// checkTiming compares the timing of a call with the times of its exchanges.
func (t *transcriptCheck) checkTiming(e *exchange) {
	timing := e.Timing
	if e.Void == "" && (e.Stalled != 0 || e.Local) {
		t.find(e, "/direction", "the call to %s has a fault of the referee's side, but the attempt is not void", e.side.id)
	}
	if timing == nil {
		return
	}
	if min(timing.Queued, timing.Connecting, timing.Waiting, timing.Reading) < 0 {
		t.find(e, "/timing", "a part of the call to %s took a negative time", e.side.id)
		return
	}
	if passed, known := t.passed(e); known && timing.Total() > passed+timingTolerance {
		t.find(e, "/timing", "the call to %s is said to have taken %v, but %v passed between request and response", e.side.id,
			timing.Total(), passed)
	}
}

// passed returns the time between a request and its response.
func (t *transcriptCheck) passed(e *exchange) (passed time.Duration, known bool) {
	q := e.question
	return t.at.Sub(q.calledAt), q.attempt == e.Try && !q.calledAt.IsZero() && !t.at.Before(q.calledAt) && !t.wentBack
}

// checkVoid checks that the file has evidence for a void attempt: a call attempt
// that counts for nothing because the fault was the referee's own. Without
// evidence, a referee could save a player that it likes.
//
// A response to a question for a move is void if the referee read it too late (Deadline).
// A timeout (E001) is void if the question waited at the referee, or the referee
// stalled, for more than the margin. The window was at least the time that passed
// besides, less a twentieth, by which the referee may have noticed its end late.
func (t *transcriptCheck) checkVoid(e *exchange) {
	switch {
	case !e.method.phase.asks():
		t.find(e, "/void", "%s asks %s nothing: the attempt cannot be void", quoted(&e.Method), e.side.id)
		return
	case e.Error == nil:
		t.find(e, "/void", "%s answered here: only a failure can be void", e.side.id)
		return
	}
	_, late := t.late(e)
	switch answered := len(e.Message) > 0; {
	case late && (answered || e.Omission() != "" || e.Error.ErrorCode != string(protocol.ErrTimeout)):
		return
	case answered:
		t.find(e, "/void", "%s answered here in time: only a failure can be void", e.side.id)
		return
	}
	code := protocol.Code(e.Error.ErrorCode)
	if e.Local && (code == protocol.ErrConnection || code == protocol.ErrTimeout) {
		return
	}
	if code != protocol.ErrTimeout {
		t.find(e, "/void", "a failure of %s with %s is said to be void, but nothing shows a fault of the referee's side",
			e.side.id, code)
		return
	}
	waited, stalled := protocol.ValueOf(e.Timing).Queued, protocol.FromMilliseconds(e.Stalled)
	passed, known := t.passed(e)
	if !known {
		passed = -1
	}
	margin := protocol.Margin((passed - waited - stalled - timingTolerance) * 20 / 21)
	if waited <= margin && stalled <= margin {
		t.find(e, "/void",
			"a failure of %s is said to be void (%s), but the question waited only %v at the referee, which stalled for %v",
			e.side.id, clip(e.Void), waited, stalled)
	}
}

// late tells whether the response to a question for a move is too late to count, and how
// long after the deadline the referee read it.
func (t *transcriptCheck) late(e *exchange) (after time.Duration, late bool) {
	at, err := protocol.ParseTimestamp(e.At)
	if err != nil || e.method.phase != phaseMove {
		return 0, false
	}
	return e.side.deadline.Late(at)
}
