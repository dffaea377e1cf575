package referee

import (
	"fmt"
	"time"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// A window is the time a player has to answer a question. A wrong answer may
// be mended inside it; a lost or late one opens another after a pause.
type window struct {
	ctx    *protocol.Limited
	end    time.Time // as the question says; what it waited at this side comes on top
	stamp  string    // the deadline as messages say it
	action string    // the message that is awaited
	length time.Duration
	asked  bool
	turn   *turn // nil where nothing is written
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
		ctx: protocol.Window(m.referee.life, length), end: end, length: length,
		stamp: m.referee.options.Clock.Format(end), turn: turn,
	}
}

// until is when the window really ends.
func (w *window) until() time.Time { return w.end.Add(w.ctx.Extended()) }

// insist puts a question to a seat until it is answered rightly or the seat's
// chances are used up; then the seat has lost technically.
//
// A timeout (E001) or a broken connection (E009) is tried again after a pause,
// with a new window, up to max_retries times (spec 003 §2.9.4). A wrong answer
// is asked again at once, as long as retries and the window last (002 §6.2.4);
// after one the window stays the same, whatever else happens in it.
// Each failure is told to the player by GAME_ERROR, beside the match.
//
// A try that failed by the fault of this side (see account) is no failure: it
// is made again with a new window, and the player hears nothing of it.
func (m *match) insist(w window, side rules.Seat, question func(*window, rules.Seat) error) {
	s := &m.seats[side]
	policy := m.assignment.RetryPolicy
	wrong := false // something wrong was answered in this window
	if m.chronicle != nil {
		w.turn = &turn{}
	}
	defer func() { w.ctx.Stop() }()
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
		pause := fault.Code == protocol.ErrTimeout || fault.Code == protocol.ErrConnection
		wrong = wrong || !pause
		again := retries < policy.MaxRetries && (!wrong || m.mendable(&w, fault.Code, retries+1))
		if again {
			retries++
		}
		m.complain(&w, s, fault, known.timing, retries, again, pause)
		if !again {
			s.lost, s.fault = lossReason(fault, w.action), fault.Code
			return
		}
		if !pause {
			continue
		}
		if m.referee.options.Clock.Sleep(m.referee.life, policy.Pause(retries)) != nil {
			return
		}
		if !wrong {
			m.renew(&w)
		}
	}
}

// renew opens the window again.
func (m *match) renew(w *window) {
	w.ctx.Stop()
	*w = m.window(w.length, w.turn)
}

// question puts a question once, and has it and its outcome in the transcript.
func (m *match) question(w *window, side rules.Seat, question func(*window, rules.Seat) error) (account, error) {
	if w.asked {
		w.ctx = w.ctx.Again()
	}
	w.asked = true
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

// unanswered reads why a call failed: by time, or by the connection. Whatever
// else it is, the player answered it, and an error is a wrong answer.
func unanswered(err error) error {
	e := protocol.AsError(err)
	if e == nil || !e.Remote && (e.Code == protocol.ErrTimeout || e.Code == protocol.ErrConnection) {
		return err
	}
	return protocol.Fault(protocol.ErrInvalidFieldType, "answered with an error: %v", e)
}

// lossReason tells people why a player lost.
func lossReason(fault *protocol.Error, action string) string {
	switch fault.Code {
	case protocol.ErrTimeout:
		return "did not send " + action + " in time"
	case protocol.ErrConnection:
		return "could not be reached for " + action
	}
	return fmt.Sprintf("sent no valid %s (%s)", action, fault.Code)
}

// complain tells a player by GAME_ERROR what was wrong (spec 003 §4.10.2). It
// waits for nothing. Its context says where the time went.
func (m *match) complain(w *window, s *seat, fault *protocol.Error, timing *protocol.Timing, retry int, again, pause bool) {
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
		Msg("a player failed")
	peer, conversation, chronicle, try := s.peer, m.conversation, m.chronicle, 0
	method := &protocol.NotifyGameError
	if chronicle != nil {
		try = w.turn.try
		chronicle.sent(problem.AffectedPlayer, method.Name, try, problem)
		chronicle.beside.Add(1)
	}
	told := r.crew.run(func() {
		ctx := protocol.Limit(r.life, method.Timeout)
		defer ctx.Stop()
		ack, err := method.Call(ctx, r.options.Caller, peer, problem)
		if chronicle != nil {
			chronicle.acknowledged(problem.AffectedPlayer, method.Name, try, ack, err, ctx.Timing())
			chronicle.beside.Done()
		}
		if err != nil {
			r.options.Log.Debug().Err(err).Str("conversation_id", conversation).
				Str("player_id", problem.AffectedPlayer).Msg("GAME_ERROR was not acknowledged")
		}
	})
	if !told && chronicle != nil {
		chronicle.beside.Done()
	}
}

func (m *match) currentState() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}
