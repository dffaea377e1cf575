package league

import (
	"context"

	"evenodd/league/protocol"
)

// startLeague begins the league by hand, with the admin token (spec 003 §8.5).
func (m *Manager) startLeague(_ context.Context, _ string, q *protocol.ToolRequest) (*protocol.LeagueStarted, error) {
	if q.AuthToken == "" {
		return nil, protocol.Fault(protocol.ErrTokenMissing, "start_league needs the admin token as auth_token")
	}
	if !protocol.SameToken(q.AuthToken, m.adminToken) {
		return nil, protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not the admin token")
	}
	started, err := m.startByHand()
	if err != nil {
		return nil, err
	}
	return started, m.durable() // what was said to have begun has begun, whatever dies now
}

func (m *Manager) startByHand() (*protocol.LeagueStarted, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.Completed != nil {
		return nil, protocol.Fault(protocol.ErrLeagueComplete, "the league is over")
	}
	if players, referees := m.answeredCounts(); players < 2 || referees < 1 {
		return nil, protocol.Fault(protocol.ErrLeagueNotStarted,
			"%d players and %d referees have answered: a league needs 2 and 1", players, referees).
			With("awaited", m.firstAwaited(protocol.MaxInactive))
	}
	m.begin()
	if err := m.start(); err != nil {
		return nil, err
	}
	players, referees := m.registeredCounts()
	return &protocol.LeagueStarted{
		Status: "STARTED", LeagueID: m.options.LeagueID, Players: players, Referees: referees,
		Rounds: m.state.TotalRounds(), Matches: m.state.TotalMatches(),
	}, nil
}
