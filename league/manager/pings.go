package manager

import (
	"context"
	"slices"
	"sync"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// askPlayers asks the player that lost a match technically, and both players of a match whose result
// rests on the word of its referee alone, whether an invitation or a question of the attempt reached
// them. It records the players that say no. The round waits for the answers, so that no result
// depends on their time; no report does.
func (m *Manager) askPlayers(ctx context.Context, x *match) {
	m.mu.Lock()
	r := x.fact.Report
	var asked []*agent
	for _, p := range []*agent{x.a, x.b} {
		lost := r != nil && r.Status == league.StatusTechnicalLoss && r.WinnerPlayerID != nil && *r.WinnerPlayerID != p.id
		// A forfeit and a ruling have no attempt.
		if r != nil && r.Number > 0 && (lost || r.Grade == journal.GradeStated) && !slices.Contains(x.fact.Disputed, p.id) {
			asked = append(asked, p)
		}
	}
	m.mu.Unlock()
	var asking sync.WaitGroup
	for _, p := range asked {
		asking.Go(func() {
			// An error and an answer without the member prove nothing: third-party players give them.
			if pong, err := m.pingAbout(ctx, p, r.Attempt); err == nil && pong.Asked != nil && !*pong.Asked {
				m.denied(p, r)
			}
		})
	}
	asking.Wait()
}

// pingAbout pings a player about an attempt.
func (m *Manager) pingAbout(ctx context.Context, p *agent, at league.Attempt) (*protocol.Pong, error) {
	q := &protocol.ToolRequest{
		Envelope: m.stamp.Envelope("", protocol.ConversationOf(at)), LeagueID: m.options.LeagueID,
		MatchID: at.MatchID.String(), Attempt: at.Number,
	}
	pong, _, err := protocol.Ping.CallWithin(ctx, m.options.Caller, p.peer(), q, pingTimeout)
	return pong, err
}

// denied records that a player denies a result, which stays.
func (m *Manager) denied(p *agent, r *journal.MatchReported) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.record(&journal.ResultDenied{Attempt: r.Attempt, PlayerID: p.id}) != nil {
		return // an organiser has decided the match meanwhile
	}
	m.log.Warn().Stringer("match_id", r.MatchID).Int("attempt", r.Number).Str("referee_id",
		r.RefereeID).Str("player_id", p.id).Str("status", r.Status).
		Str("event_type", "RESULT_DENIED_BY_A_PLAYER").Msg("a player denies the result: nothing of this attempt reached it")
}
