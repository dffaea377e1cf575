package referee

import (
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
)

// An account is what is known of how the outcome of a question came about.
type account struct {
	timing  *protocol.Timing // nil when the carrier told nothing
	void    string           // why a failure is nobody's, for people; "" where it is the player's
	stalled time.Duration    // how long this process stood still when the window ended, where that is why
	local   bool             // the call failed at this side
}

// maxVoid is how often one question is put to no avail by the fault of this
// side before the attempt is given up.
const maxVoid = 10

// account tells whose fault a failure is. A player answers for its own time
// only; a try is void, as if it had never been, when
//
//   - the call failed at this side, and never reached the player's (an error
//     that is Local: no file descriptors, no ports); or
//   - no answer came in time (E001), and the question had waited here for more
//     than the margin before it was sent. The player then had all of its window,
//     which was moved, but the deadline in the message was earlier than that; or
//   - no answer came in time, and this process stood still for more than the
//     margin when the window ended, or when the question left.
//
// An answer counts when it was read before the end. What arrives while the
// process stands still is read when it goes on. When it goes on a margin or more
// before the end, there was time to read what had come; when it stops only after
// the end, there was nothing more to read. So a stall matters if it reaches into
// the last margin of the window. And it matters if it reaches into the first
// margin after the request began to be written, because then the player may have
// got it only afterwards; later than that it had been sent. In between, the time
// is the player's, whatever happens here.
//
// Such a stall matters as a whole: how much of the player's time it took nobody
// can tell, and the doubt is the player's. There are two witnesses: the stall
// monitor, and this very call, which must come back at the deadline and not
// later. A connection that broke is the player's failure whatever happened here.
func (m *match) account(w *window, err error) account {
	a := account{timing: w.timing}
	fault := protocol.AsError(err)
	switch {
	case fault == nil:
	case protocol.Local(err):
		a.void, a.local = "the call failed at the referee's side", true
	case fault.Code == protocol.ErrTimeout:
		margin := protocol.Margin(w.length)
		var when string
		if a.stalled, when = m.stalled(w, margin); a.stalled > margin {
			a.void = fmt.Sprintf("the referee stood still for %v when %s", a.stalled.Round(time.Millisecond), when)
			return a
		}
		a.stalled = 0
		if a.timing != nil && a.timing.Queued > margin {
			a.void = fmt.Sprintf("the question waited for %v at the referee before it was sent", a.timing.Queued.Round(time.Millisecond))
		}
	}
	return a
}

// stalled is for how long this process stood still where that matters to a
// question whose window has ended, and where that was.
func (m *match) stalled(w *window, margin time.Duration) (length time.Duration, when string) {
	end := w.deadline
	length, when = time.Since(end), "the time to answer ended"
	stalls := m.referee.options.Stalls
	if stalls == nil {
		return length, when
	}
	length = max(length, stalls(end.Add(-margin), end))
	if length <= margin && w.timing != nil && !w.timing.Departed.IsZero() {
		left := w.timing.Departed
		length, when = stalls(left, left.Add(margin)), "the question left"
	}
	return length, when
}

// void notes that a try counts for nothing, for the n-th time, and waits where
// asking again at once would fail in the same way. False when the attempt is
// given up.
func (m *match) void(w *window, s *seat, fault *protocol.Error, why string, local bool, n int) bool {
	o := &m.referee.options
	level := zerolog.WarnLevel
	if n >= maxVoid {
		level = zerolog.ErrorLevel
	}
	o.Log.WithLevel(level).Str("conversation_id", m.conversation).Str("player_id", s.player.PlayerID).Str("message_type", w.action).
		Str("error_code", string(fault.Code)).Str("detail", fault.Detail).Str("void", why).Int("times", n).
		Bool("given_up", n >= maxVoid).Str("event_type", protocol.EventAttemptVoid).Msg("a question was put to no avail, by no fault of the player")
	if n >= maxVoid {
		m.givenUp.Store(true)
		return false
	}
	return !local || o.Clock.Sleep(m.referee.life, m.assignment.RetryPolicy.Pause(1)) == nil
}

// handBack makes a match that was given up one that can be begun again, in the
// same attempt and with the same nonce, and has the manager hand it over again.
//
// A manager that waits for a report asks again when the longest match is over,
// or at once when the referee registers again with its token: so it does that.
// It changes nothing for the other matches, which the manager hands over again
// too and which go on. A manager that does not prove itself may be of another
// maker, and take the same for somebody new: it is left to its own patience.
func (r *Referee) handBack(m *match) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.handedBack = true
	r.handed++
	if !m.member.Strict() || r.stopping || r.returning {
		return
	}
	r.returning = true
	r.work(func() {
		defer r.rest()
		r.comeBack()
	})
}

// comeBack registers again, once more when a match was handed back meanwhile.
func (r *Referee) comeBack() {
	for {
		r.mu.Lock()
		handed := r.handed
		r.mu.Unlock()
		err := r.Register(r.life)
		if err != nil && r.life.Err() == nil {
			r.options.Log.Error().Err(err).Str("event_type", protocol.EventAbandonedMatchesNotRequested).Msg("cannot ask the manager for the matches that were given up: it will hand them over when it misses them")
		}
		r.mu.Lock()
		r.returning = err == nil && handed != r.handed
		again := r.returning
		r.mu.Unlock()
		if !again {
			return
		}
	}
}
