package audit

import (
	"time"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// rounding is how much times of a match file may be off: they have milliseconds,
// and another clock than durations.
const rounding = 100 * time.Millisecond

// A call is one of those to a player; the last, where a game has more moves.
type call struct {
	method string
	try    int
}

// queued is how long a question waited at the referee.
func queued(e *store.Exchange) time.Duration {
	if e.Timing == nil {
		return 0
	}
	return e.Timing.Queued
}

// timed holds where the time of a call is said to have gone against the times of
// the call.
func (h *hearing) timed(s *side, e *store.Exchange, at []any) {
	t := e.Timing
	if e.Void == "" && (e.Stalled != 0 || e.Local) {
		h.wrong(RuleTranscript, s.id, append(at, "direction"), "the referee is said to have failed at its side when %s was called, but the try is not void", s.id)
	}
	if t == nil {
		return
	}
	if min(t.Queued, t.Connecting, t.Waiting, t.Reading) < 0 {
		h.wrong(RuleTranscript, s.id, append(at, "timing"), "a part of the call to %s is said to have taken less than no time", s.id)
		return
	}
	if passed := h.passed(s, e); passed >= 0 && t.Total() > passed+rounding {
		h.wrong(RuleTranscript, s.id, append(at, "timing"), "the call to %s is said to have taken %v, but %v passed between question and answer", s.id, t.Total(), passed)
	}
}

// passed is the time between a question and what came of it; less than 0 where
// that is not known.
func (h *hearing) passed(s *side, e *store.Exchange) time.Duration {
	asked := s.spokenTo[call{e.Method, e.Try}]
	if asked.IsZero() || h.at.Before(asked) || h.back {
		return -1
	}
	return h.at.Sub(asked)
}

// voided takes in a failure that is said to be the referee's own, and counts for
// nothing: its own exchange must bear that out. A referee could else save a
// player it likes.
func (h *hearing) voided(s *side, e *store.Exchange, at []any) {
	at = append(at, "void")
	if p := part(e.Method); p != joining && p != moving {
		h.wrong(RuleTranscript, s.id, at, "%s is told by %s, and asked nothing: it cannot be void", s.id, quoted(&e.Method))
		return
	}
	if e.Error == nil || len(e.Message) > 0 {
		h.wrong(RuleTranscript, s.id, at, "%s answered here: only a failure can be void", s.id)
		return
	}
	code := protocol.Code(e.Error.ErrorCode)
	switch {
	case e.Local && (code == protocol.ErrConnection || code == protocol.ErrTimeout):
	case code != protocol.ErrTimeout:
		h.wrong(RuleTranscript, s.id, at, "a failure of %s with %s is said to be void, but nothing in it is of the referee's side", s.id, code)
	default:
		h.excused(s, e, at)
	}
}

// excused looks for what a late answer is excused by: a time that the question
// waited at the referee, or that the referee stood still, beyond the margin.
// The window was, at least, what passed beside these, less the margin by which the
// referee may have looked up too late: a twentieth of it.
func (h *hearing) excused(s *side, e *store.Exchange, at []any) {
	waited, stalled := queued(e), protocol.FromMilliseconds(e.Stalled)
	margin := protocol.Margin((h.passed(s, e) - waited - stalled - rounding) * 20 / 21)
	if waited <= margin && stalled <= margin {
		h.wrong(RuleTranscript, s.id, at, "a failure of %s is said to be void (%s), but the question waited only %v at the referee, and that stood still for %v",
			s.id, clip(e.Void), waited, stalled)
	}
}
