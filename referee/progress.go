package referee

import "evenodd/league/protocol"

// A Progress is the state of a match with the steps of its conduct (spec 003 §5.4.1).
type Progress struct {
	*protocol.MatchState
	Chosen     []string // ids of the players that have made a legal move
	Commitment string   // to the nonce of the draw
	Reported   bool     // the manager has acknowledged the report
}

// Progress returns how far a match is, to a caller with the credential of the referee's manager.
// The error is E011 or E012 without it, and E006 for a match that the referee does not know.
func (r *Referee) Progress(bearer, matchID string) (*Progress, error) {
	if err := r.CheckCredential(bearer); err != nil {
		return nil, err
	}
	m, err := r.match(matchID)
	if err != nil {
		return nil, err
	}
	p := &Progress{MatchState: m.matchState(), Chosen: []string{}, Commitment: m.commitment}
	m.mu.Lock()
	chosen := m.chosen
	p.Reported = m.reported
	m.mu.Unlock()
	for i, id := range m.players {
		played := chosen[i]
		if p.GameResult != nil { // it may be from a file
			choice, _ := p.GameResult.Choices.Get(id)
			played = choice != nil
		}
		if played {
			p.Chosen = append(p.Chosen, id)
		}
	}
	return p, nil
}

// A Registration is that of a referee at its manager, without the token.
type Registration struct {
	Status    string `json:"status"`
	RefereeID string `json:"referee_id"`
	LeagueID  string `json:"league_id"`
	Manager   string `json:"manager"` // its URL
	protocol.RefereeMeta
}

// Registration returns the registration that the referee has, to a caller with the credential of
// its manager. The error is E011 or E012 without it.
func (r *Referee) Registration(bearer string) (*Registration, error) {
	if err := r.CheckCredential(bearer); err != nil {
		return nil, err
	}
	m := r.Membership()
	return &Registration{protocol.StatusAccepted, m.AgentID, m.LeagueID, r.options.Manager, r.meta()}, nil
}
