package referee

import (
	"time"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// A window is the time that a player has to answer a question. The player may
// correct a wrong answer within it. After a timeout or a broken connection another
// window opens.
type window struct {
	length   time.Duration
	end      time.Time     // by the league's clock, as the question says
	deadline time.Time     // by the machine's clock: when calls end
	queued   time.Duration // at this side, in all calls: the window lasts so much longer than end
	stamp    string        // the deadline as messages have it
	waited   time.Duration // for a player that asked the referee to wait
	waits    int           // answers that asked the referee to wait

	callAttempt // the last one
}

func (m *match) newWindow(length time.Duration) window {
	clock := m.referee.options.Clock
	end := clock.Now().Add(length)
	return window{length: length, end: end, deadline: time.Now().Add(length), stamp: clock.Format(end)}
}

// reopen opens another window for the same question.
func (m *match) reopen(w *window) {
	try := w.Try
	*w = m.newWindow(w.length)
	w.Try = try
}

// until is the end of the window, moved by the time that questions were queued.
func (w *window) until() time.Time { return w.end.Add(w.queued) }

// called records the timing of a call. The time that the question was queued at
// this side does not count for the player.
func (w *window) called(timing *protocol.Timing) {
	w.Timing = timing
	if timing != nil {
		w.queued += timing.Queued
		w.deadline = w.deadline.Add(timing.Queued)
	}
}

// askWithRetries asks one side a question until it answers correctly or has no
// retries left; then it has lost technically.
//
// The referee retries after a timeout (E001) or a broken connection (E009): after a
// pause, with a new window, up to max_retries times (spec 003 §2.9.4). After a wrong
// answer it asks again at once, as long as retries and the window last (002
// §6.2.4); from then on the window stays the same, whatever else fails in it. Each
// failure is reported to the player by GAME_ERROR. The next question waits until
// the GAME_ERROR is delivered, at most one second.
//
// An answer that asks the referee to wait (E022) and a void attempt are no
// failures: see waitAsAsked and judgeAttempt.
func (m *match) askWithRetries(side rules.Side, seconds float64, ask question) {
	s := &m.sides[side]
	w := &s.window
	*w = m.newWindow(protocol.Seconds(seconds))
	var before failures
	for voids := 0; ; {
		err := m.askOnce(side, ask)
		if err == nil || m.over() {
			return
		}
		fault := faultOf(err)
		if w.Void != "" {
			if voids++; !m.repeatVoid(s, fault, voids) {
				return
			}
			m.reopen(w)
			continue
		}
		if fault.Code == protocol.ErrRateLimited && m.waitAsAsked(s, fault) {
			continue
		}
		if m.over() || !m.prepareRetry(s, fault, &before) {
			return
		}
	}
}

// The failures at a question so far.
type failures struct {
	retries int
	wrong   bool // there was a wrong answer in this window
}

// prepareRetry reports a failure to the player, and waits until the next question may be
// asked. It returns false if there is none: the side has lost, or the match is over.
func (m *match) prepareRetry(s *matchSide, fault *protocol.Error, before *failures) (again bool) {
	w, clock, policy := &s.window, m.referee.options.Clock, m.assignment.RetryPolicy
	pause := fault.Code == protocol.ErrTimeout || fault.Code == protocol.ErrConnection
	before.wrong = before.wrong || !pause
	again = fault.Code != protocol.ErrRateLimited && before.retries < policy.MaxRetries &&
		(!before.wrong || m.correctable(w, fault.Code, before.retries+1))
	if again {
		before.retries++
	}
	delivered := m.sendGameError(s, failure{fault: fault, retries: before.retries, again: again, pause: pause})
	if !again {
		s.lost, s.fault = lossReason(fault, w), fault.Code
		return false
	}
	limit := gameErrorDelay
	if pause {
		if clock.Sleep(m.referee.life, policy.Pause(before.retries)) != nil {
			return false
		}
		limit -= policy.Pause(before.retries)
	}
	if before.wrong { // the window goes on: leave half of its rest for the question
		limit = min(limit, w.until().Sub(clock.Now())/2)
	} else {
		m.reopen(w)
	}
	if limit > 0 {
		_ = clock.Sleep(delivered, limit) // the delivery ends it
	}
	return true
}

// gameErrorDelay is how long a question waits at most for the delivery of the
// GAME_ERROR before it.
const gameErrorDelay = time.Second

// waitAsAsked waits after an answer that asks the referee to wait (E022, which
// includes HTTP 429): as long as it asks and at least 250 ms, a quarter of a second
// more each time up to 1 s, but not beyond the end of the window. It returns false
// at the end of the window or of the match. So the number of such answers in a
// window is bounded, even if the clock does not advance.
func (m *match) waitAsAsked(s *matchSide, fault *protocol.Error) (again bool) {
	const step = 250 * time.Millisecond
	w, o := &s.window, &m.referee.options
	w.waits++
	left := min(w.until().Sub(o.Clock.Now()), w.length+w.queued-w.waited)
	pause := max(fault.RetryAfter(), min(time.Duration(w.waits)*step, time.Second))
	bounded := max(min(pause, left), 0)
	o.Log.Info().Str("conversation_id", m.conversation).Str("player_id", s.player.PlayerID).Str("message_type", w.request).
		Str("detail", fault.Detail).Dur("asked_ms", fault.RetryAfter()).Dur("wait_ms", bounded).Str("event_type",
		"PLAYER_RATE_LIMIT").Msg("a player asks the referee to wait")
	w.waited += pause
	return o.Clock.Sleep(m.referee.life, bounded) == nil && pause < left
}

// askOnce makes one call attempt at a question and records its result.
func (m *match) askOnce(side rules.Side, ask question) error {
	s := &m.sides[side]
	s.window.callAttempt = callAttempt{entry: entry{Exchange: store.Exchange{Try: s.window.Try + 1}}}
	err := ask(m, side)
	m.judgeAttempt(s, err)
	m.received(s.player, s.window.entry)
	return err
}

// correctable tells whether the player can correct a wrong answer before the
// window ends: at once, or after the pause that follows a broken connection.
func (m *match) correctable(w *window, code protocol.Code, retry int) bool {
	next := m.referee.options.Clock.Now()
	if code == protocol.ErrConnection {
		next = next.Add(m.assignment.RetryPolicy.Pause(retry))
	}
	return code != protocol.ErrTimeout && next.Before(w.until())
}

// faultOf returns an error as the GAME_ERROR that it causes.
func faultOf(err error) *protocol.Error {
	if e := protocol.AsError(err); e != nil {
		return e
	}
	return protocol.Fault(protocol.ErrConnection, "%v", err)
}

// answeredError returns the error of a call as the referee judges it. A timeout, a
// broken connection and a request to wait stay as they are. Any other error is an
// answer of the player: a wrong one (E002), with the JSON-RPC code that it has.
func answeredError(err error) error {
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
