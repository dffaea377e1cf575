package referee

import (
	"context"
	"fmt"
	"maps"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A failure is a failed call attempt that counts.
type failure struct {
	fault   *protocol.Error
	retries int  // including the next, if the referee asks again
	again   bool // the referee asks again
	pause   bool // after a pause
}

// sendGameError reports a failure to a player by GAME_ERROR (spec 003 §4.10.2). It
// returns at once. The context ends when the GAME_ERROR is delivered or has failed.
func (m *match) sendGameError(s *matchSide, f failure) (delivered context.Context) {
	r, notice := m.referee, m.gameError(s, &f)
	r.options.Log.Warn().Str("conversation_id", m.conversation).Str("player_id", notice.PlayerID).
		Str("error_code", string(f.fault.Code)).Str("detail", f.fault.Detail).Int("retry", f.retries).
		Bool("retryable", f.again).Str("event_type", "GAME_ERROR").Msg("a player failed")
	send := notify(m, s, &protocol.NotifyGameError, s.window.Try, notice, protocol.NotifyGameError.Timeout)
	m.pending.Add(1)
	delivered, cancel := context.WithCancel(r.life)
	r.workers.Start(func() {
		defer m.pending.Done()
		defer cancel()
		if err := send(); err != nil {
			r.options.Log.Debug().Err(err).Str("conversation_id", m.conversation).Str("player_id", notice.PlayerID).
				Str("event_type", "GAME_ERROR_UNACKNOWLEDGED").Msg("GAME_ERROR was not acknowledged")
		}
	})
	return delivered
}

// notify begins a notice to a player. The returned function makes the call, which may outlast the
// match.
func notify[Q any](m *match, s *matchSide, method *protocol.Method[Q, protocol.Ack], try int, notice *Q,
	limit time.Duration) (send func() error) {
	r, peer, player := m.referee, s.peer, s.player
	notice = protocol.Plain(notice) // as the file of the match has it
	m.transcript.sent(player.PlayerID, method.Name, try, notice)
	return func() error {
		ack, timing, err := method.CallWithin(r.life, r.options.Caller, peer, notice, limit)
		e := entry{Exchange: store.Exchange{Method: method.Name, Try: try, Timing: timing}, fault: protocol.AsError(err)}
		if err == nil {
			e.message = ack
		}
		m.received(player, e)
		return err
	}
}

// gameError makes the GAME_ERROR about a failure, with the timing of the call in
// its context.
func (m *match) gameError(s *matchSide, f *failure) *protocol.GameError {
	w, clock, policy := &s.window, m.referee.options.Clock, m.assignment.RetryPolicy
	now := clock.Now()
	info := &protocol.RetryInfo{RetryCount: f.retries, MaxRetries: policy.MaxRetries}
	consequence := "Technical loss"
	switch {
	case f.again && f.pause:
		info.NextRetryAt = protocol.FormatTimestamp(now.Add(policy.Pause(f.retries)))
		consequence = "Technical loss if max retries exceeded"
	case f.again:
		remaining := max(w.until().Sub(now).Seconds(), 0)
		info.NextRetryAt, info.TimeRemaining = protocol.FormatTimestamp(now), &remaining
		consequence = "Technical loss if no valid answer is received before the deadline"
	}
	details := map[string]any{"detail": f.fault.Detail}
	maps.Copy(details, f.fault.Context)
	if w.Timing != nil {
		details["timing"] = *w.Timing
	}
	if f.fault.Code == protocol.ErrTimeout {
		details["deadline"] = protocol.FormatTimestamp(w.until())
	}
	m.mu.Lock()
	state := m.state
	m.mu.Unlock()
	return &protocol.GameError{
		Envelope: m.envelope(protocol.TypeGameError, s),
		MatchID:  m.assignment.MatchID, PlayerID: s.player.PlayerID, AffectedPlayer: s.player.PlayerID,
		ErrorCode: string(f.fault.Code), ErrorName: f.fault.Code.Name(), ErrorDescription: f.fault.Code.Name(),
		ActionRequired: w.response, GameState: state, Retryable: &f.again,
		RetryCount: &f.retries, MaxRetries: &policy.MaxRetries, RetryInfo: info,
		Context: details, Consequence: consequence,
	}
}

// lossReason says why a player lost. If it answered with an error, the reason has
// the HTTP status and the JSON-RPC code, and no text of the player.
func lossReason(fault *protocol.Error, w *window) string {
	answered := "answered " + w.request + " with "
	status := protocol.HTTPStatus(fault)
	succeeded, limited := status/100 == 2, fault.Code == protocol.ErrRateLimited
	switch {
	case limited && status != 0 && !succeeded: // the code may be that of this side's codec
		answered += fmt.Sprintf("HTTP %d", status)
	case fault.Remote && fault.RPC != 0 && status != 0 && !succeeded: // 0 is no code
		answered += fmt.Sprintf("HTTP %d, JSON-RPC error %d", status, fault.RPC)
	case fault.Remote && fault.RPC != 0:
		answered += fmt.Sprintf("JSON-RPC error %d", fault.RPC)
	case succeeded:
		return fmt.Sprintf("%sHTTP %d and no readable message", answered, status)
	case status != 0:
		answered += fmt.Sprintf("HTTP %d", status)
	case fault.Code == protocol.ErrTimeout:
		return "did not send " + w.response + " in time"
	case fault.Code == protocol.ErrConnection && protocol.Accepted(fault):
		return "accepted the connection, but sent no readable " + w.response
	case fault.Code == protocol.ErrConnection:
		return "could not be reached for " + w.response
	default:
		return fmt.Sprintf("sent no valid %s (%s)", w.response, fault.Code)
	}
	if !limited {
		return answered
	}
	if after := fault.RetryAfter().Round(time.Second); after > 0 {
		return fmt.Sprintf("%s (rate limited, asked to wait %v)", answered, after)
	}
	return answered + " (rate limited)"
}
