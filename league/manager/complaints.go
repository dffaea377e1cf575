package manager

import (
	"context"

	"evenodd/league/protocol"
	"evenodd/league/words"
)

// playerError takes GAME_ERROR of a player, which says what is wrong with the calls of a referee: it takes the player
// for another one. The log has the first one of each player.
func (m *Manager) playerError(_ context.Context, _ string, q *protocol.GameError) (*protocol.Ack, error) {
	m.mu.Lock()
	a, _, err := m.owner(q.AuthToken)
	if err == nil && !a.player {
		err = protocol.Fault(protocol.ErrNotAuthorized, "%s is no player", a.id)
	}
	first := err == nil && !a.complained
	if first {
		a.complained = true
	}
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if first {
		detail, _ := q.Context["detail"].(string)
		m.log.Warn().Str("player_id", a.id).Str("match_id", words.Clip(q.MatchID, 60)).Str("error_code", words.Clip(q.ErrorCode, 60)).
			Str("defect", words.Clip(detail, 300)).Str("event_type", "GAME_ERROR").
			Msg("a player says that a referee takes it for another one")
	}
	return &protocol.Ack{Status: protocol.StatusAcknowledged, PlayerID: a.id, MatchID: q.MatchID}, nil
}
