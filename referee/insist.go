package referee

import (
	"context"
	"fmt"
	"time"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// A window is the time a player has to answer a question. A wrong answer may
// be mended inside it; a lost or late one opens another after a pause.
type window struct {
	end      time.Time        // by the league's clock, as the question says
	deadline time.Time        // by the machine's clock: when calls end
	queued   time.Duration    // at this side, in all calls: the window lasts so much longer than end says
	timing   *protocol.Timing // of the last call; nil when the carrier measures none
	stamp    string           // the deadline as messages say it
	asks     string           // the message type of the question
	action   string           // the message that is awaited
	length   time.Duration
	held     time.Duration // what hold has waited
	limits   int           // answers that asked to wait
	turn     *turn         // nil where nothing is written
}

// A turn is what the transcript needs to know of a question.
type turn struct {
	method string
	try    int // from 1
	answer any // nil while there is none
}

func (m *match) openWindow(seconds float64) window {
	return m.window(protocol.Seconds(seconds), nil)
}

func (m *match) window(length time.Duration, turn *turn) window {
	end := m.referee.options.Clock.Now().Add(length)
	return window{
		end: end, deadline: time.Now().Add(length), length: length,
		stamp: m.referee.options.Clock.Format(end), turn: turn,
	}
}

// until is when the window really ends.
func (w *window) until() time.Time { return w.end.Add(w.queued) }

// called takes the timing of a call in the window. The player keeps the time that
// the question was queued at this side.
func (w *window) called(timing *protocol.Timing) {
	w.timing = timing
	if timing != nil {
		w.queued += timing.Queued
		w.deadline = w.deadline.Add(timing.Queued)
	}
}

// insist puts a question to a seat until it is answered rightly or the seat's
// chances are used up; then the seat has lost technically.
//
// A timeout (E001) or a broken connection (E009) is tried again after a pause,
// with a new window, up to max_retries times (spec 003 §2.9.4). A wrong answer
// is asked again at once, as long as retries and the window last (002 §6.2.4);
// after one the window stays the same, whatever else happens in it.
// Each failure is told to the player by GAME_ERROR. Before the question is asked
// again, the GAME_ERROR is delivered or one second has passed.
//
// An answer that asks to wait (E022) is no failure: see hold.
//
// A try that failed by the fault of this side (see account) is no failure: it
// is made again with a new window, and the player hears nothing of it.
func (m *match) insist(w window, side rules.Side, question func(*window, rules.Side) error) {
	s := &m.seats[side]
	policy := m.assignment.RetryPolicy
	wrong := false // something wrong was answered in this window
	if m.chronicle != nil {
		w.turn = &turn{}
	}
	for retries, voids := 0, 0; ; {
		known, err := m.question(&w, side, question)
		if err == nil || m.over() {
			return
		}
		fault := faultOf(err)
		if known.void != "" {
			if voids++; !m.void(&w, s, fault, known.void, known.local, voids) {
				return
			}
			m.renew(&w)
			continue
		}
		limited := fault.Code == protocol.ErrRateLimited
		if limited && m.hold(&w, s, fault) {
			continue
		}
		if m.over() {
			return
		}
		pause := fault.Code == protocol.ErrTimeout || fault.Code == protocol.ErrConnection
		wrong = wrong || !pause
		again := !limited && retries < policy.MaxRetries && (!wrong || m.mendable(&w, fault.Code, retries+1))
		if again {
			retries++
		}
		delivered := m.complain(&w, s, fault, known.timing, retries, again, pause)
		if !again {
			s.lost, s.fault = lossReason(fault, &w), fault.Code
			return
		}
		notice := noticeTime
		if pause {
			if m.referee.options.Clock.Sleep(m.referee.life, policy.Pause(retries)) != nil {
				return
			}
			notice -= policy.Pause(retries)
		}
		if wrong { // the window goes on: leave half of its rest for the question
			notice = min(notice, w.until().Sub(m.referee.options.Clock.Now())/2)
		} else {
			m.renew(&w)
		}
		if notice > 0 {
			_ = m.referee.options.Clock.Sleep(delivered, notice) // the delivery ends it
		}
	}
}

// noticeTime is how long a question waits at most for the GAME_ERROR before it.
const noticeTime = time.Second

// hold waits after an answer that asks to wait (E022, which includes HTTP 429): as
// long as it asks and at least 250 ms, one more quarter of a second each time up
// to 1 s, but not beyond the end of the window. It returns false when that has
// come, or the match is over. The number of such answers in a window is therefore
// bounded, also where the clock does not advance.
func (m *match) hold(w *window, s *seat, fault *protocol.Error) (again bool) {
	const step = 250 * time.Millisecond
	w.limits++
	o := &m.referee.options
	left := min(w.until().Sub(o.Clock.Now()), w.length+w.queued-w.held)
	pause := max(fault.RetryAfter(), min(time.Duration(w.limits)*step, time.Second))
	o.Log.Info().Str("conversation_id", m.conversation).Str("player_id", s.player.PlayerID).Str("message_type", w.asks).
		Str("detail", fault.Detail).Dur("asked_ms", fault.RetryAfter()).Dur("wait_ms", max(min(pause, left), 0)).Str("event_type", protocol.EventPlayerAsksToWait).Msg("a player asks to wait")
	w.held += pause
	return o.Clock.Sleep(m.referee.life, max(min(pause, left), 0)) == nil && pause < left
}

// renew opens the window again.
func (m *match) renew(w *window) {
	*w = m.window(w.length, w.turn)
}

// question puts a question once, and has it and its outcome in the transcript.
func (m *match) question(w *window, side rules.Side, question func(*window, rules.Side) error) (account, error) {
	w.timing = nil
	if w.turn == nil {
		err := question(w, side)
		return m.account(w, err), err
	}
	w.turn.try++
	err := question(w, side)
	known := m.account(w, err)
	m.chronicle.received(m.seats[side].player.PlayerID, w.turn.method, w.turn.try, w.turn.answer, protocol.AsError(err), known)
	return known, err
}

// mendable tells whether what was answered wrongly can be put right before the
// window ends: at once, or after the pause that a broken connection needs.
func (m *match) mendable(w *window, code protocol.Code, retry int) bool {
	next := m.referee.options.Clock.Now()
	if code == protocol.ErrConnection {
		next = next.Add(m.assignment.RetryPolicy.Pause(retry))
	}
	return code != protocol.ErrTimeout && next.Before(w.until())
}

// faultOf reads what went wrong with a question as the GAME_ERROR it makes.
func faultOf(err error) *protocol.Error {
	if e := protocol.AsError(err); e != nil {
		return e
	}
	return protocol.Fault(protocol.ErrConnection, "%v", err)
}

// unanswered reads why a call failed. A timeout, a broken connection and a
// request to wait stay as they are. Any other error is what the player answered,
// and a wrong answer (E002) with the JSON-RPC code that it sent.
func unanswered(err error) error {
	e := protocol.AsError(err)
	switch {
	case e == nil,
		!e.Remote && (e.Code == protocol.ErrTimeout || e.Code == protocol.ErrConnection),
		e.Remote && e.Code == protocol.ErrRateLimited:
		return err
	}
	wrong := protocol.Fault(protocol.ErrInvalidFieldType, "answered with an error: %v", e).Coded(e.RPC).Because(err)
	wrong.Remote = e.Remote
	return wrong
}

// lossReason tells people why a player lost. Of an answer that is an error it has
// the HTTP status and the JSON-RPC code, and no text of the player's.
func lossReason(fault *protocol.Error, w *window) string {
	answered := "answered " + w.asks + " with "
	status := protocol.HTTPStatus(fault)
	succeeded, limited := status/100 == 2, fault.Code == protocol.ErrRateLimited
	switch {
	case limited && status != 0 && !succeeded: // whose code may be ours
		answered += fmt.Sprintf("HTTP %d", status)
	case fault.Remote && fault.RPC != 0 && status != 0 && !succeeded: // 0 names no code
		answered += fmt.Sprintf("HTTP %d, JSON-RPC error %d", status, fault.RPC)
	case fault.Remote && fault.RPC != 0:
		answered += fmt.Sprintf("JSON-RPC error %d", fault.RPC)
	case succeeded:
		return fmt.Sprintf("%sHTTP %d and no readable message", answered, status)
	case status != 0:
		answered += fmt.Sprintf("HTTP %d", status)
	case fault.Code == protocol.ErrTimeout:
		return "did not send " + w.action + " in time"
	case fault.Code == protocol.ErrConnection:
		return "could not be reached for " + w.action
	default:
		return fmt.Sprintf("sent no valid %s (%s)", w.action, fault.Code)
	}
	if !limited {
		return answered
	}
	if after := fault.RetryAfter().Round(time.Second); after > 0 {
		return fmt.Sprintf("%s (rate limited, asked to wait %v)", answered, after)
	}
	return answered + " (rate limited)"
}

// complain tells a player by GAME_ERROR what was wrong (spec 003 §4.10.2), with
// the timing of the call in its context. It returns at once; the context that it
// returns ends when the GAME_ERROR is delivered, or cannot be.
func (m *match) complain(w *window, s *seat, fault *protocol.Error, timing *protocol.Timing, retry int, again, pause bool) (delivered context.Context) {
	r := m.referee
	now := r.options.Clock.Now()
	remaining := max(w.until().Sub(now).Seconds(), 0)
	limit := m.assignment.RetryPolicy.MaxRetries
	info := &protocol.RetryInfo{RetryCount: retry, MaxRetries: limit}
	consequence := "Technical loss"
	switch {
	case again && pause:
		next := now.Add(m.assignment.RetryPolicy.Pause(retry))
		info.NextRetryAt = protocol.FormatTimestamp(next)
		consequence = "Technical loss if max retries exceeded"
	case again:
		info.NextRetryAt = protocol.FormatTimestamp(now)
		info.TimeRemaining = &remaining
		consequence = "Technical loss if no valid answer is received before the deadline"
	}
	problem := &protocol.GameError{
		Envelope: m.envelope(protocol.TypeGameError, s),
		MatchID:  m.assignment.MatchID, PlayerID: s.player.PlayerID, AffectedPlayer: s.player.PlayerID,
		ErrorCode: string(fault.Code), ErrorName: fault.Code.Name(), ErrorDescription: fault.Code.Name(),
		ActionRequired: w.action, GameState: m.currentState(), Retryable: &again,
		RetryCount: &retry, MaxRetries: &limit, RetryInfo: info,
		Context: map[string]any{"detail": fault.Detail}, Consequence: consequence,
	}
	for key, value := range fault.Context {
		problem.Context[key] = value
	}
	if timing != nil {
		problem.Context["timing"] = *timing
	}
	if fault.Code == protocol.ErrTimeout {
		problem.Context["deadline"] = r.options.Clock.Format(w.until())
	}
	r.options.Log.Warn().Str("conversation_id", m.conversation).Str("player_id", s.player.PlayerID).
		Str("error_code", string(fault.Code)).Str("detail", fault.Detail).Int("retry", retry).Bool("retryable", again).
		Str("event_type", protocol.EventPlayerFailed).Msg("a player failed")
	peer, conversation, chronicle, try := s.peer, m.conversation, m.chronicle, 0
	method := &protocol.NotifyGameError
	if chronicle != nil {
		try = w.turn.try
		chronicle.sent(problem.AffectedPlayer, method.Name, try, problem)
		chronicle.beside.Add(1)
	}
	delivered, done := context.WithCancel(r.life)
	told := r.crew.run(func() {
		defer done()
		ack, timing, err := method.CallWithin(r.life, r.options.Caller, peer, problem, method.Timeout)
		if chronicle != nil {
			chronicle.acknowledged(problem.AffectedPlayer, method.Name, try, ack, err, timing)
			chronicle.beside.Done()
		}
		if err != nil {
			r.options.Log.Debug().Err(err).Str("conversation_id", conversation).
				Str("player_id", problem.AffectedPlayer).Str("event_type", protocol.EventGameErrorUnacknowledged).Msg("GAME_ERROR was not acknowledged")
		}
	})
	if !told {
		done()
		if chronicle != nil {
			chronicle.beside.Done()
		}
	}
	return delivered
}

func (m *match) currentState() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}
