package referee

import (
	"context"
	"fmt"
	"time"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// decide judges the match: by the rules, or by who failed.
func (m *match) decide(position rules.Position) *protocol.GameResult {
	a, b := &m.seats[0], &m.seats[1]
	idA, idB := a.player.PlayerID, b.player.PlayerID
	if a.lost != "" || b.lost != "" {
		result := &protocol.GameResult{
			Status:  protocol.StatusTechnicalLoss,
			Choices: protocol.Both(idA, optional(a.move), idB, optional(b.move)),
		}
		for _, s := range [...]*seat{a, b} {
			if s.fault != "" {
				result.Faults = append(result.Faults, protocol.Member[string]{Name: s.player.PlayerID, Value: string(s.fault)})
			}
		}
		switch {
		case a.lost != "" && b.lost != "":
			result.Reason = fmt.Sprintf("%s %s, %s %s - both lose", idA, a.lost, idB, b.lost)
		case a.lost != "":
			result.WinnerPlayerID = &b.player.PlayerID
			result.Reason = idA + " " + a.lost + " - " + idB + " wins by default"
		default:
			result.WinnerPlayerID = &a.player.PlayerID
			result.Reason = idB + " " + b.lost + " - " + idA + " wins by default"
		}
		return result
	}
	verdict := position.Judge(rules.Chance{Nonce: m.nonce, EntropyA: a.entropy, EntropyB: b.entropy})
	result := &protocol.GameResult{
		Status:  protocol.StatusDraw,
		Choices: protocol.Both(idA, optional(verdict.Moves[0]), idB, optional(verdict.Moves[1])),
		Reason:  verdict.Reason([2]string{idA, idB}),
	}
	if verdict.Winner != rules.NoSide {
		result.Status, result.WinnerPlayerID = protocol.StatusWin, &m.seats[verdict.Winner].player.PlayerID
	}
	if verdict.Number > 0 {
		result.DrawnNumber, result.NumberParity = &verdict.Number, &verdict.Parity
	}
	return result
}

// optional is nil for a choice that was never made.
func optional(choice string) *string {
	if choice == "" {
		return nil
	}
	return &choice
}

// finish decides the match, makes the report of the result, and brings it to
// the disk. False when another attempt has taken its place.
func (m *match) finish(position rules.Position) bool {
	result := m.decide(position)
	a := m.assignment
	idA, idB := a.PlayerA.PlayerID, a.PlayerB.PlayerID
	score := protocol.Both(idA, m.points(result, &m.seats[0]), idB, m.points(result, &m.seats[1]))
	report := m.reportOf(result, score, m.draw())
	report.RoundID, report.GameType = a.RoundID, a.GameType
	m.mu.Lock()
	if m.abandoned.Load() {
		m.mu.Unlock()
		return false
	}
	m.state, m.final, m.result, m.reporting = store.StateFinished, report, result, true
	m.mu.Unlock()
	m.keepResult()
	return true
}

// reportOf is the report of a result of this match; the round and the game are
// the caller's to add.
func (m *match) reportOf(result *protocol.GameResult, score protocol.PerPlayer[int], draw *protocol.Draw) *protocol.MatchResultReport {
	report := &protocol.MatchResultReport{
		Envelope: m.referee.stamp.Envelope(protocol.TypeMatchResultReport, m.conversation),
		LeagueID: m.member.LeagueID, MatchID: m.matchID, Attempt: m.attempt,
		Result: protocol.MatchResult{
			Winner: result.WinnerPlayerID,
			Score:  score,
			Details: &protocol.ResultDetails{
				DrawnNumber: result.DrawnNumber, Choices: result.Choices, Status: result.Status, Reason: result.Reason,
				Faults: result.Faults,
			},
		},
		Draw: draw,
	}
	report.AuthToken = m.member.Token
	return report
}

// draw reveals what the number came from, as far as the players have revealed
// their part.
func (m *match) draw() *protocol.Draw {
	draw := &protocol.Draw{Commitment: m.commitment, Nonce: m.nonce.Hex()}
	for i := range m.seats {
		if s := &m.seats[i]; s.entropyCommitment != "" && s.entropy != (protocol.Secret{}) {
			draw.Entropies = append(draw.Entropies, protocol.Member[string]{Name: s.player.PlayerID, Value: s.entropy.Hex()})
		}
	}
	return draw
}

// points is what the result is worth to a seat by the league's scoring. The
// manager computes it again.
func (m *match) points(result *protocol.GameResult, s *seat) int {
	scoring := &m.assignment.Scoring
	switch {
	case s.lost != "":
		return scoring.TechnicalLoss
	case result.Status == protocol.StatusDraw:
		return scoring.Draw
	case result.WinnerPlayerID != nil && *result.WinnerPlayerID == s.player.PlayerID:
		return scoring.Win
	}
	return scoring.Loss
}

// announce sends GAME_OVER to both players and waits for their
// acknowledgements, 5 s at most; a missing one changes nothing (004 §4.3).
func (m *match) announce() {
	m.both(2, func(i int) { m.tellResult(&m.seats[i]) })
}

// tellResult sends GAME_OVER to a player.
func (m *match) tellResult(s *seat) {
	method := &protocol.NotifyMatchResult
	over := &protocol.GameOver{
		Envelope: m.envelope(protocol.TypeGameOver, s),
		MatchID:  m.assignment.MatchID, GameType: m.assignment.GameType,
		GameResult: m.result, Draw: m.final.Draw,
	}
	if m.chronicle != nil {
		m.chronicle.sent(s.player.PlayerID, method.Name, 1, over)
	}
	ack, timing, err := method.CallWithin(m.referee.life, m.referee.options.Caller, s.peer, over, protocol.Seconds(m.assignment.Timeouts.GameOver))
	if m.chronicle != nil {
		m.chronicle.acknowledged(s.player.PlayerID, method.Name, 1, ack, err, timing)
	}
	if err != nil {
		m.referee.options.Log.Info().Err(err).Str("conversation_id", m.conversation).
			Str("player_id", s.player.PlayerID).Str("event_type", protocol.EventGameOverUnacknowledged).Msg("GAME_OVER was not acknowledged")
	}
}

// report tells the manager the result again, unless a report is on its way
// already.
func (m *match) report(ctx context.Context) {
	m.mu.Lock()
	busy := m.reporting
	m.reporting = true
	m.mu.Unlock()
	if !busy {
		m.deliver(ctx)
	}
}

// deliver tells the manager the result until it is acknowledged, refused for
// good, or ctx ends.
func (m *match) deliver(ctx context.Context) {
	o := &m.referee.options
	err := membership.Retry(ctx, o.Clock, func(ctx context.Context) error {
		_, err := protocol.ReportMatchResult.Call(ctx, o.Caller, protocol.Peer{Endpoint: o.Manager}, m.final)
		return err
	}, func(err error, wait time.Duration) {
		o.Log.Warn().Err(err).Str("conversation_id", m.conversation).Dur("wait_ms", wait).Str("event_type", protocol.EventReportRetried).Msg("cannot report yet, trying again")
	})
	refusal := protocol.AsError(err)
	switch {
	case err == nil:
		m.settle(nil)
	case ctx.Err() != nil: // the next time, perhaps of another process
		m.keepEnding()
	default:
		o.Log.Error().Err(err).Str("conversation_id", m.conversation).Str("event_type", protocol.EventReportRefused).Msg("the manager refuses the report")
		if refusal != nil && refusal.Remote {
			m.settle(refusal)
		}
	}
	m.mu.Lock()
	m.reporting = false
	first := err == nil && !m.reported
	m.reported = m.reported || first
	m.mu.Unlock()
	if err != nil {
		return
	}
	if first {
		m.referee.acknowledged(m.matchID)
	}
	o.Log.Info().Str("conversation_id", m.conversation).Str("match_id", m.final.MatchID).Str("reason", m.final.Result.Details.Reason).Str("event_type", protocol.EventMatchReported).Msg("match reported")
}

// finished tells whether there is a result to report.
func (m *match) finished() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.final != nil
}

// tell is the match's state for get_match_state.
func (m *match) tell() *protocol.MatchState {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := &protocol.MatchState{MatchID: m.matchID, State: m.state, Attempt: m.attempt, PlayerAID: m.players[0], PlayerBID: m.players[1]}
	if m.final != nil {
		details := m.final.Result.Details
		state.GameResult = &protocol.GameResult{
			Status: details.Status, WinnerPlayerID: m.final.Result.Winner, DrawnNumber: details.DrawnNumber,
			Choices: details.Choices, Reason: details.Reason, Faults: details.Faults,
		}
		if n := details.DrawnNumber; n != nil {
			parity := "even"
			if *n%2 != 0 {
				parity = "odd"
			}
			state.GameResult.NumberParity = &parity
		}
		state.Draw = m.final.Draw
	}
	return state
}
