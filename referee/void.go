package referee

import (
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
)

// A callAttempt is one call attempt at a question: its messages, where its time went, and
// whether it is void. Its tries count from 1 over all windows of the question, and its time is when
// the response was read, or the call failed, by the league's clock.
type callAttempt struct {
	request, response string // message types
	entry
}

// maxVoid is how many attempts at one question may be void before the referee
// gives up the attempt at the match.
const maxVoid = 10

// judgeAttempt decides whether a failed call attempt is a void attempt: a call
// attempt that counts for nothing because the fault was local. An attempt is void if
//
//   - the call failed at this side and never reached the player (an error that is
//     Local: no file descriptors, no ports); or
//   - the referee read a response too late (protocol.Deadline has the rule). Such a
//     response is an answer, right or wrong, or a broken connection; or
//   - no answer came in time (E001), and the question was queued at this side for
//     longer than the margin before it was sent. The player then had its whole
//     window, but the deadline in the message was earlier than its end; or
//   - no answer came in time, and this process stalled for longer than the margin
//     when the window ended, or when the request was sent.
//
// An answer counts if the referee read it before the end of the window. A process
// that stalls reads an answer when it goes on. If it goes on a margin or more
// before the end, it has time to read what arrived; if it stalls only after the
// end, nothing more could count. So a stall matters if it reaches into the last
// margin of the window. It also matters if it reaches into the first margin after
// the referee began to write the request, because the player may have got the
// request only after the stall. A stall in between does not matter.
//
// Nobody can tell how much of the player's time such a stall took: the player gets
// the benefit of the doubt, and the whole stall counts. Two measurements show a
// stall: the stall monitor, and this call, which should return at the deadline, by
// the monotonic clock and by the wall clock, which goes on while a machine sleeps. A
// connection that breaks before the deadline is the player's failure, whatever
// happened at this side.
func (m *match) judgeAttempt(s *matchSide, err error) {
	w := &s.window
	fault := protocol.AsError(err)
	w.fault = fault
	after, late := s.deadline.Late(w.at)
	switch {
	case fault == nil:
	case protocol.Local(err):
		w.Void, w.Local = "the call failed at the referee's side", true
	case late && (w.message != nil || fault.Code != protocol.ErrTimeout):
		w.Void = fmt.Sprintf("the referee read the response %v after the deadline", after)
	case fault.Code == protocol.ErrTimeout:
		margin := protocol.Margin(w.length)
		stalled, when := m.stalled(w, margin)
		switch {
		case stalled > margin:
			w.Stalled = protocol.Milliseconds(stalled)
			w.Void = fmt.Sprintf("the referee stalled for %v when %s", stalled.Round(time.Millisecond), when)
		case w.Timing != nil && w.Timing.Queued > margin:
			w.Void = fmt.Sprintf("the question was queued for %v at the referee before it was sent",
				w.Timing.Queued.Round(time.Millisecond))
		}
	}
}

// stalled returns how long this process stalled where that matters to a question
// whose window has ended, and when.
func (m *match) stalled(w *window, margin time.Duration) (length time.Duration, when string) {
	end := w.deadline
	length = max(time.Since(end), w.at.Round(0).Sub(w.until().Round(0)))
	when = "the time to answer ended"
	stalls := m.referee.options.Stalls
	if stalls == nil {
		return length, when
	}
	length = max(length, stalls(end.Add(-margin), end))
	if length <= margin && w.Timing != nil && !w.Timing.Departed.IsZero() {
		sent := w.Timing.Departed
		length, when = stalls(sent, sent.Add(margin)), "the question was sent"
	}
	return length, when
}

// repeatVoid logs the n-th void attempt at a question. It pauses after a local
// failure, because the next call would fail in the same way. It returns false if
// the referee gives up the attempt at the match.
func (m *match) repeatVoid(s *matchSide, fault *protocol.Error, n int) bool {
	w, o, givenUp, level := &s.window, &m.referee.options, n >= maxVoid, zerolog.WarnLevel
	if givenUp {
		level = zerolog.ErrorLevel
		m.givenUp.Store(true)
	}
	o.Log.WithLevel(level).Str("conversation_id", m.conversation).Str("player_id", s.player.PlayerID).
		Str("message_type", w.response).Str("error_code", string(fault.Code)).Str("detail", fault.Detail).Str("void", w.Void).
		Int("times", n).Bool("given_up", givenUp).Str("event_type", "ATTEMPT_VOID").
		Msg("a call attempt is void: the fault is local")
	return !givenUp && (!w.Local || o.Clock.Sleep(m.referee.life, m.assignment.RetryPolicy.Pause(1)) == nil)
}

// returnToManager makes the manager assign a match again that was given up. The
// referee then starts it again under the same attempt and with the same nonce.
//
// The manager assigns matches again when the referee registers again with its
// token, else only after the time of the longest match. Registering again changes
// nothing for the other matches, which go on. A manager that does not prove itself
// may be a third-party agent that takes the registration for that of a new agent:
// the referee waits for it.
func (r *Referee) returnToManager(m *match) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.returned = true
	r.returns++
	if !m.member.Strict() || r.stopping || r.registering {
		return
	}
	r.registering = true
	r.work(r.registerAgain)
}

// registerAgain registers again, and once more if another match was returned
// meanwhile.
func (r *Referee) registerAgain() {
	for again := true; again; {
		r.mu.Lock()
		returns := r.returns
		r.mu.Unlock()
		err := r.Register(r.life)
		if err != nil && r.life.Err() == nil {
			r.options.Log.Error().Err(err).Str("event_type", "MATCHES_NOT_REQUESTED").
				Msg("cannot ask the manager to assign the given-up matches again: it will do so when their time is over")
		}
		r.mu.Lock()
		again = err == nil && returns != r.returns
		r.registering = again
		r.mu.Unlock()
	}
}
