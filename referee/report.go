package referee

import (
	"context"
	"time"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// sendGameOver sends GAME_OVER to a player and waits for its acknowledgement, at most
// 5 s. A missing one changes nothing (004 §4.3).
func (m *match) sendGameOver(side rules.Side) {
	s := &m.sides[side]
	notice := &protocol.GameOver{
		Envelope: m.envelope(protocol.TypeGameOver, s),
		MatchID:  m.assignment.MatchID, GameType: m.assignment.GameType,
		GameResult: m.result, Draw: m.final.Draw,
	}
	limit := protocol.Seconds(m.assignment.Timeouts.GameOver)
	if err := notify(m, s, &protocol.NotifyMatchResult, 1, notice, limit)(); err != nil {
		m.referee.options.Log.Info().Err(err).Str("conversation_id", m.conversation).
			Str("player_id", s.player.PlayerID).Str("event_type",
			"GAME_OVER_WAS_NOT_ACKNOWLEDGED").Msg("GAME_OVER was not acknowledged")
	}
}

// report reports the result to the manager again, unless a report is under way.
func (m *match) report() {
	m.mu.Lock()
	busy := m.reporting
	m.reporting = true
	m.mu.Unlock()
	if !busy {
		m.deliver()
	}
}

// deliver reports the result to the manager until the manager acknowledges it or
// refuses it for good, or the referee stops.
func (m *match) deliver() {
	ctx, o := m.referee.life, &m.referee.options
	err := membership.Retry(ctx, o.Clock, func(ctx context.Context) error {
		_, err := protocol.ReportMatchResult.Call(ctx, o.Caller, protocol.Peer{Endpoint: o.Manager}, m.final)
		return err
	}, func(err error, wait time.Duration) {
		o.Log.Warn().Err(err).Str("conversation_id", m.conversation).Dur("wait_ms", wait).Str("event_type",
			"CANNOT_REPORT_YET_TRYING_AGAIN").Msg("cannot report yet, trying again")
	})
	refusal := protocol.AsError(err)
	switch {
	case err == nil:
		m.fileReply(nil)
	case ctx.Err() != nil: // another process may report it later
		m.fileEnding()
	default:
		o.Log.Error().Err(err).Str("conversation_id", m.conversation).Str("event_type",
			"THE_MANAGER_REFUSES_THE_REPORT").Msg("the manager refuses the report")
		if refusal != nil && refusal.Remote {
			m.fileReply(refusal)
		}
	}
	m.mu.Lock()
	m.reporting = false
	first := err == nil && !m.reported
	m.reported = m.reported || first
	m.mu.Unlock()
	if first {
		m.referee.acknowledged(m)
	}
	if err == nil {
		o.Log.Info().Str("conversation_id", m.conversation).Str("match_id", m.final.MatchID).Str("reason",
			m.final.Result.Details.Reason).
			Str("event_type", "MATCH_REPORTED").Msg("match reported")
	}
}

// hasResult tells whether there is a result to report.
func (m *match) hasResult() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.final != nil
}

// matchState answers get_match_state.
func (m *match) matchState() *protocol.MatchState {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := &protocol.MatchState{MatchID: m.matchID, State: m.state, Attempt: m.attempt, PlayerAID: m.players[0],
		PlayerBID: m.players[1]}
	if m.final != nil {
		result := m.final.Result.GameResult()
		state.Draw, state.GameResult = m.final.Draw, &result
	}
	return state
}
