package referee

import "evenodd/league/protocol"

// Identify names the caller of an encoded request by a valid credential, as that of an agent
// does: also the player that shows the access token of a running match, with an answer that it
// posts later.
func (r *Referee) Identify(bearer string, body []byte) string {
	if name := r.Agent.Identify(bearer, body); name != "" {
		return name
	}
	claim := protocol.ClaimOf(body)
	if claim.Token == "" {
		return ""
	}
	r.mu.Lock()
	m := r.matches[claim.MatchID]
	r.mu.Unlock()
	if m == nil {
		return ""
	}
	m.mu.Lock()
	a := m.assignment
	m.mu.Unlock()
	switch {
	case a == nil: // the match is over
	case protocol.SameToken(claim.Token, a.PlayerA.AccessToken):
		return a.PlayerA.PlayerID
	case protocol.SameToken(claim.Token, a.PlayerB.AccessToken):
		return a.PlayerB.PlayerID
	}
	return ""
}
