package referee

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/conduct"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// converse does for a side what the conduct says, until nothing is left: it asks, pauses, and tells the player how it
// has failed.
func (m *match) converse(side rules.Side) {
	var w window
	delivered := m.referee.life // ends when the last GAME_ERROR is delivered
	for {
		step, now := m.step(side)
		if w.asked = now; step.Window > 0 {
			w.length, w.deadline = step.Window, time.Now().Add(step.Window)
		}
		switch step.Kind {
		case conduct.Done:
			return
		case conduct.Pause:
			until := m.referee.life
			if step.Delivery {
				until = delivered
			}
			_ = m.referee.options.Clock.Sleep(until, step.Pause)
		case conduct.GameError:
			delivered = m.sendGameError(side, &step) //nolint:fatcontext // each comes from the life of the referee
		case conduct.Ask:
			m.ask(side, &step, &w)
		}
		if m.over() {
			return
		}
	}
}

// A window is the time that a player has to answer, by the clock of the machine: that of the league may stand still.
type window struct {
	length   time.Duration
	deadline time.Time
	asked    time.Time // when the side was last asked, by the clock of the league
}

// step returns what is to be done for a side now, and adds a message that it sends to the transcript.
func (m *match) step(side rules.Side) (step conduct.Step, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now = m.now()
	step = m.conduct.Step(side, now)
	if step.Message != nil {
		m.transcript.sent(m.players[side], step.Method.Name, step.Try, step.Message, now)
	}
	return step, now
}

// ask makes one call attempt at a question, and makes it count for what it was worth.
func (m *match) ask(side rules.Side, step *conduct.Step, w *window) {
	var answer any
	var a conduct.Attempt
	var err error
	switch q := step.Message.(type) {
	case *protocol.GameInvitation:
		answer, a, err = call(m, side, &protocol.Invite, q, w)
	case *protocol.ChooseParityCall:
		answer, a, err = call(m, side, &protocol.ChooseParity, q, w)
	case *protocol.GameMoveCall:
		answer, a, err = call(m, side, &protocol.MakeMove, q, w)
	}
	if err != nil && m.referee.life.Err() != nil || errors.Is(err, errProgram) {
		return // the referee itself has ended the call, or nobody has judged the answer
	}
	m.mu.Lock()
	worth := m.conduct.Judge(side, &a)
	m.conduct.Take(side, worth)
	x := store.Exchange{Method: step.Method.Name, Try: step.Try, Timing: a.Timing, Void: worth.Void, Used: worth.Used,
		Stalled: protocol.Milliseconds(worth.Stalled), Local: worth.Void != "" && a.Local}
	m.received(side, entry{Exchange: x, at: a.At, message: answer, fault: worth.Fault})
	m.mu.Unlock()
	m.noteWorth(side, step, &a, &worth)
}

// call makes one call at a question to a player, and measures what the conduct needs to judge it.
func call[Q, R any](m *match, side rules.Side, method *protocol.Method[Q, R], q *Q, w *window) (any, conduct.Attempt,
	error) {
	instant := m.instant(side)
	if instant {
		w.deadline = time.Now().Add(time.Hour)
	}
	answer, timing, err := method.Ask(m.referee.life, m.referee.options.Caller, m.peers[side], q, time.Until(w.deadline))
	if timing != nil {
		w.deadline = w.deadline.Add(timing.Queued)
	}
	a := conduct.Attempt{At: m.now(), Timing: timing}
	if instant {
		a.At = w.asked
	}
	if err != nil {
		if a.Fault = protocol.AsError(err); a.Fault == nil { // a carrier that has ended the call
			a.Fault = protocol.Fault(protocol.ErrConnection, "%v", err)
		}
		a.Local = protocol.Local(err)
		if a.Fault.Code == protocol.ErrTimeout {
			m.measureStalls(&a, w)
		}
		return nil, a, err
	}
	a.Reply = m.conduct.Reply(side, answer)
	to := protocol.ReplyTo{ConversationID: m.conversation, PlayerID: m.players[side]}
	if m.assignment.Replies == protocol.RepliesStrict { // only a strict league demands the access token
		to.AccessToken = m.tokens[side]
	}
	a.Reply.Breach = method.ReplyBreach(answer, to)
	m.verify(side, a.Reply)
	err = m.consider(side, &a, w)
	return answer, a, err
}

// instant tells whether the answers of a side take no time from its time bank.
func (m *match) instant(side rules.Side) bool {
	is := m.referee.options.Instant
	return m.assignment.TimeBank != nil && is != nil && is(m.players[side])
}

// measureStalls measures how long this process stalled where that matters to a question whose window has ended.
func (m *match) measureStalls(a *conduct.Attempt, w *window) {
	end, margin := w.deadline, protocol.Margin(w.length)
	a.Overdue = time.Since(end)
	stalls := m.referee.options.Stalls
	if stalls == nil {
		return
	}
	a.AtEnd = stalls(end.Add(-margin), end)
	if a.Timing != nil && !a.Timing.Departed.IsZero() {
		a.AtStart = stalls(a.Timing.Departed, a.Timing.Departed.Add(margin))
	}
}

// verify verifies the signature of a move, outside the lock, because it takes most of the time of a match.
func (m *match) verify(side rules.Side, r *conduct.Reply) {
	m.mu.Lock()
	statement, key, due := m.conduct.Statement(side, r)
	m.mu.Unlock()
	r.Unsigned = due && r.Signature != "" && !statement.Verify(key, r.Signature)
}

// noteWorth logs what is unusual about a call attempt.
func (m *match) noteWorth(side rules.Side, step *conduct.Step, a *conduct.Attempt, worth *conduct.Worth) {
	o, fault := &m.referee.options, worth.Fault
	about := func(event *zerolog.Event) *zerolog.Event {
		return event.Str("conversation_id", m.conversation).Str("player_id", m.players[side])
	}
	switch {
	case a.Reply != nil && a.Reply.Breach != nil && worth.Void == "":
		m.referee.warn(m.players[side], a.Reply.Breach.Detail)
	case worth.Verdict == conduct.Void:
		level := zerolog.WarnLevel
		if worth.GivenUp {
			level = zerolog.ErrorLevel
			m.givenUp.Store(true)
		}
		about(o.Log.WithLevel(level)).Str("message_type", step.Method.Result).Str("error_code", string(fault.Code)).
			Str("detail", fault.Detail).Str("void", worth.Void).Int("times", worth.Voids).Bool("given_up", worth.GivenUp).
			Str("event_type", "ATTEMPT_VOID").Msg("a call attempt is void: the fault is local")
	case fault != nil && fault.Code == protocol.ErrRateLimited:
		about(o.Log.Info()).Str("message_type", step.Method.Request).Str("detail", fault.Detail).
			Dur("asked_ms", fault.RetryAfter()).Dur("wait_ms", worth.Pause).Str("event_type", "PLAYER_RATE_LIMIT").
			Msg("a player asks the referee to wait")
	}
}

// received adds the result of a call to a player to the transcript. The log has one warning about the wrong tokens of
// a player.
func (m *match) received(side rules.Side, e entry) {
	if e.message != nil && protocol.EnvelopeOf(e.message).HasWrongToken(m.tokens[side]) {
		e.WrongToken = true
		if !m.warned[side].Swap(true) {
			m.referee.options.Log.Warn().Str("conversation_id", m.conversation).Str("match_id", m.matchID).
				Str("player_id", m.players[side]).Str("event_type", "WRONG_TOKEN").
				Msg("the auth_token in an answer of this player is not that of the question, but another, as its agent token, " +
					"which is for the manager alone")
		}
	}
	m.transcript.received(m.players[side], e)
}

// sendGameError reports a failure to a player by GAME_ERROR (spec 003 §4.10.2). It returns at once. The context ends
// when the GAME_ERROR is delivered or has failed.
func (m *match) sendGameError(side rules.Side, step *conduct.Step) (delivered context.Context) {
	r, failure := m.referee, step.Failure
	detail := failure.Fault.Detail
	if m.hidden { // it may have a choice
		detail = failure.Fault.Code.Name()
	}
	r.options.Log.Warn().Str("conversation_id", m.conversation).Str("player_id", m.players[side]).
		Str("error_code", string(failure.Fault.Code)).Str("detail", detail).Int("retry", step.Retries).
		Bool("retryable", failure.Verdict == conduct.Again).Str("event_type", "GAME_ERROR").Msg("a player failed")
	notice, try := step.Message.(*protocol.GameError), step.Try
	m.pending.Add(1)
	delivered, cancel := context.WithCancel(r.life)
	r.workers.Start(func() {
		defer m.pending.Done()
		defer cancel()
		if err := notify(m, side, &protocol.NotifyGameError, try, notice, protocol.NotifyGameError.Timeout); err != nil {
			r.options.Log.Debug().Err(err).Str("conversation_id", m.conversation).Str("player_id", m.players[side]).
				Str("event_type", "GAME_ERROR_UNACKNOWLEDGED").Msg("GAME_ERROR was not acknowledged")
		}
	})
	return delivered
}

// sendGameOver sends GAME_OVER to a player and waits for its acknowledgement, at most
// 5 s. A missing one changes nothing (004 §4.3).
func (m *match) sendGameOver(side rules.Side) {
	method, r := &protocol.NotifyMatchResult, m.referee
	notice := m.conduct.GameOver(side, &m.final.Result.Result, m.final.Draw, m.now())
	m.transcript.sent(m.players[side], method.Name, 1, notice, m.now())
	limit := protocol.Seconds(m.assignment.Timeouts.GameOver)
	if err := notify(m, side, method, 1, notice, limit); err != nil {
		r.options.Log.Info().Err(err).Str("conversation_id", m.conversation).Str("player_id", m.players[side]).
			Str("event_type", "GAME_OVER_UNACKNOWLEDGED").Msg("GAME_OVER was not acknowledged")
	}
}

// notify sends a notice to a player, and adds the result of the call to the transcript. It may outlast the match.
func notify[Q any](m *match, side rules.Side, method *protocol.Method[Q, protocol.Ack], try int, notice *Q,
	limit time.Duration) error {
	ack, timing, err := method.CallWithin(m.referee.life, m.referee.options.Caller, m.peers[side], notice, limit)
	e := entry{Exchange: store.Exchange{Method: method.Name, Try: try, Timing: timing}, fault: protocol.AsError(err)}
	if err == nil {
		e.message = ack
	}
	m.received(side, e)
	return err
}
