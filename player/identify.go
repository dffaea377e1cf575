package player

import "evenodd/league/protocol"

// Identify names the caller of an encoded request by a valid credential, as that of an agent
// does: also the referee that shows the access token of a match.
func (p *Player) Identify(bearer string, body []byte) string {
	if name := p.Agent.Identify(bearer, body); name != "" {
		return name
	}
	m, claim := p.Membership(), protocol.ClaimOf(body)
	if m == nil || claim.Token == "" {
		return ""
	}
	attempt, referee := attemptOf(claim.MatchID, claim.ConversationID), protocol.AgentOf(claim.Sender)
	if !m.Key.IsAccessToken(claim.Token, m.LeagueID, claim.MatchID, attempt, referee) {
		return ""
	}
	return referee
}
