package league

import (
	"context"
	"time"

	"evenodd/league/protocol"
)

// conductMatch gets a match played: it hands it to its referee, waits for the
// report, and hands it to another, with the next attempt, when the referee is
// gone or the longest time a match can take is over. The first accepted result
// counts. It returns when there is one, or ctx ends.
func (m *Manager) conductMatch(ctx context.Context, x *match) {
	attempt := 1
	for try := 0; ctx.Err() == nil; try++ {
		referee := m.refereeFor(x, try)
		if !m.takeSlot(ctx, x, referee) {
			return
		}
		ack, err := m.assign(ctx, x, referee, attempt)
		switch {
		case err == nil && ack.Status == protocol.StatusAccepted:
			if m.awaitReport(ctx, x, referee) {
				<-referee.slots
				return
			}
			attempt++
			if ctx.Err() == nil {
				m.options.Log.Warn().Str("match_id", x.id).Str("referee_id", referee.id).Int("next_attempt", attempt).
					Msg("no report in time: another attempt")
			}
		case err == nil:
			m.options.Log.Info().Str("match_id", x.id).Str("referee_id", referee.id).Str("status", ack.Status).
				Str("reason", ack.Reason).Msg("the referee does not take the match")
		default:
			attempt++ // it may have begun all the same
			if ctx.Err() == nil {
				m.options.Log.Warn().Err(err).Str("match_id", x.id).Str("referee_id", referee.id).Msg("the match could not be handed over")
			}
		}
		<-referee.slots
		if m.recordedMatch(x) {
			return
		}
		if (try+1)%len(m.referees) == 0 { // all have been asked
			_ = m.options.Clock.Sleep(ctx, protocol.Seconds(m.options.Retry.Delay)) // the loop sees ctx
		}
	}
}

// refereeFor goes through the referees, beginning with the announced one.
func (m *Manager) refereeFor(x *match, try int) *agent {
	if try == 0 {
		return x.referee
	}
	for i, r := range m.referees {
		if r == x.referee {
			return m.referees[(i+try)%len(m.referees)]
		}
	}
	return x.referee
}

// takeSlot waits until the referee has room; false when the match has a result
// meanwhile, or ctx ends.
func (m *Manager) takeSlot(ctx context.Context, x *match, referee *agent) bool {
	select {
	case referee.slots <- struct{}{}:
		return true
	case <-x.done:
	case <-ctx.Done():
	}
	return false
}

// awaitReport waits for the result of a match that was handed over, as long as
// the longest match can take; no longer when its referee is gone. False when
// there is none.
func (m *Manager) awaitReport(ctx context.Context, x *match, referee *agent) bool {
	const glance = 5 * time.Second
	end := time.Now().Add(m.longestMatch())
	timer := time.NewTimer(glance)
	defer timer.Stop()
	missed := 0 // glances in a row at which nobody listened there
	for missed < 3 {
		select {
		case <-x.done:
			return true
		case <-ctx.Done():
			return m.recordedMatch(x)
		case <-timer.C:
		}
		left := time.Until(end)
		if left <= 0 {
			break
		}
		missed++
		if m.reachable(ctx, referee.address(), 0) {
			missed = 0
		}
		timer.Reset(min(glance, left))
	}
	return m.recordedMatch(x)
}

func (m *Manager) recordedMatch(x *match) bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// longestMatch is the most time a match can take, all attempts, all waits, and
// a margin for the report's own.
func (m *Manager) longestMatch() time.Duration {
	const margin = 30 * time.Second
	return m.options.Timeouts.LongestMatch(m.options.Retry, m.maxMoves) + margin
}

// assign sends start_match (MATCH_ASSIGNMENT).
func (m *Manager) assign(ctx context.Context, x *match, referee *agent, attempt int) (*protocol.MatchAssignmentAck, error) {
	m.mu.Lock()
	before := x.holders[referee]
	x.holders[referee] = true
	round := m.round
	seatA, seatB := m.seat(x.a), m.seat(x.b)
	to := protocol.Peer{Endpoint: referee.address(), Bearer: referee.credential}
	m.mu.Unlock()
	seatA.AccessToken = x.a.key.AccessToken(m.options.LeagueID, x.id, attempt, referee.id)
	seatB.AccessToken = x.b.key.AccessToken(m.options.LeagueID, x.id, attempt, referee.id)
	s := m.options.Scoring
	ack, err := protocol.StartMatch.Call(ctx, m.options.Caller, to, &protocol.MatchAssignment{
		Envelope: m.voice.Envelope(protocol.TypeMatchAssignment, protocol.MatchConversation(x.id, attempt)),
		LeagueID: m.options.LeagueID, RoundID: round, MatchID: x.id, Attempt: attempt,
		GameType: m.options.GameType, PlayerA: seatA, PlayerB: seatB,
		Timeouts: m.options.Timeouts, RetryPolicy: m.options.Retry,
		Scoring: protocol.Scoring{Win: s.Win, Draw: s.Draw, Loss: s.Loss, TechnicalLoss: s.TechnicalLoss},
	})
	if err != nil {
		return nil, err
	}
	if ack.Status != protocol.StatusAccepted && !before {
		m.mu.Lock()
		delete(x.holders, referee) // it does not have the match
		m.mu.Unlock()
	}
	return ack, nil
}

// seat is what a referee is told of a player; m.mu is held.
func (m *Manager) seat(p *agent) protocol.AssignedPlayer {
	row := m.table.Row(p.index)
	points := row.Points
	return protocol.AssignedPlayer{
		PlayerID: p.id, Endpoint: p.address(), DisplayName: p.name,
		Standings: protocol.Record{Wins: row.Wins, Losses: row.Losses, Draws: row.Draws, Points: &points},
	}
}
