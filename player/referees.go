package player

import (
	"cmp"
	"context"
	"slices"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// authorize returns the referee that a message comes from, or an error for a caller that
// cannot be the referee of the match. In a league whose manager proves itself, a referee
// must send the access token of this attempt. The exception is a match that was
// announced with referee_auth none, for a third-party referee; StrictReferees excludes
// it.
func (p *Player) authorize(ctx context.Context, e *protocol.Envelope, matchID string, attempt int) (referee, error) {
	r := referee{sender: e.Sender, token: protocol.NoToken}
	m, err := p.member(ctx)
	if err != nil {
		return r, err
	}
	if !m.Strict() && !p.options.StrictReferees {
		return r, nil
	}
	if m.Key.IsAccessToken(e.AuthToken, m.LeagueID, matchID, attempt, protocol.AgentOf(e.Sender)) {
		r.token = e.AuthToken
		return r, nil
	}
	p.mu.Lock()
	round := p.round
	p.mu.Unlock()
	if !p.options.StrictReferees && announcedIn(round, matchID).RefereeAuth == protocol.RefereeAuthNone {
		if omitted, ok := p.unproven.Take(p.options.Clock.Now()); ok { // any caller can say that it is this referee
			p.options.Log.Warn().Str("match_id", matchID).Str("sender", e.Sender).Int("omitted_before", omitted).
				Str("event_type", "REFEREE_UNAUTHENTICATED").Msg("the referee of this match does not prove itself")
		}
		return r, nil
	}
	if e.AuthToken == "" {
		return r, protocol.Fault(protocol.ErrTokenMissing, "auth_token must be the access token of match %s", matchID)
	}
	return r, protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not the access token of %s in match %s", e.Sender,
		matchID)
}

// announcedIn returns a match of an announced round; an empty one for none.
func announcedIn(round *protocol.RoundAnnouncement, matchID string) (none protocol.AnnouncedMatch) {
	if round != nil {
		if i := slices.IndexFunc(round.Matches,
			func(m protocol.AnnouncedMatch) bool { return m.MatchID == matchID }); i >= 0 {
			return round.Matches[i]
		}
	}
	return none
}

// playsAgain tells whether the last announcement is that of a rematch of a match. p.mu is held.
func (p *Player) playsAgain(matchID string) bool {
	return p.rematch && announcedIn(p.round, matchID).MatchID != ""
}

// isAnew tells whether an attempt, 0 for an unknown one, is at a rematch whose announcement is missing: the round is
// over, and the player still has all decisions that it has signed in the attempt. After a restart it has them if its
// history does, and only in an attempt after one with a result: those in history.jsonl are durable. p.mu is held.
func (p *Player) isAnew(matchID string, attempt int) bool {
	id, _ := league.ParseMatchID(matchID)
	return id.Round <= p.over && id.Round > p.forgotten && attempt > 0 &&
		(!p.restarted || p.recalls && p.history.reached(matchID) > 0)
}

// mayConduct tells whether a caller may take over a match from the referee of the first
// invitation. A referee that proves itself may. Of the others only the announced one
// may, and only from one that did not prove itself either; otherwise an untrusted caller
// could make the player refuse its referee. A plain announcement does not name it: then the first
// referee after a new announcement of the match may. p.mu is held.
func (p *Player) mayConduct(m *match, by referee) bool {
	if by.token != protocol.NoToken || by.sender == m.auth.sender && m.auth.token == protocol.NoToken {
		return true
	}
	announced := announcedIn(p.round, m.id)
	if announced.MatchID != "" && announced.RefereeID == "" { // a plain announcement names no referee
		return m.auth.token == protocol.NoToken && m.plain && p.round != m.announced
	}
	return m.auth.token == protocol.NoToken && announced.RefereeID != "" &&
		by.sender == protocol.RefereeSender(announced.RefereeID)
}

// invitedTo returns the attempt of an invitation, which a plain one has in its conversation alone. Some third-party
// referees name none: then that of a rematch is the next one.
func (p *Player) invitedTo(q *protocol.GameInvitation) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, named := p.current[q.MatchID], cmp.Or(q.Attempt, protocol.ConversationAttempt(q.MatchID, q.ConversationID))
	switch {
	case named > 0 || !p.playsAgain(q.MatchID):
		return max(named, 1)
	case m != nil && m.attempt > p.history.reached(q.MatchID):
		return m.attempt // it is invited again
	}
	return p.history.reached(q.MatchID) + 1
}

// A question is a request of the referee for a decision, and what it contains about the
// match.
type question struct {
	envelope *protocol.Envelope
	matchID  string
	playerID string // the id of the player in the request
	opponent string // "" if not given
	round    int    // 0 if not given
}

// matchOf returns the match of a question, or an error for a caller that is not its
// referee.
func (p *Player) matchOf(ctx context.Context, q question) (*match, error) {
	member := p.Await(ctx) // after a restart a question may arrive before the registration ends
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.current[q.matchID]
	if resumed := p.resume(member, q); resumed != nil {
		m = resumed
	}
	if m == nil && announcedIn(p.round, q.matchID).RefereeAuth == protocol.RefereeAuthNone {
		p.asked.add(q.matchID, 0) // a question without an invitation
	}
	switch {
	case m == nil && p.history.attempt(q.matchID) > 0:
		return nil, protocol.Fault(protocol.ErrInvalidMatchState, "match %s is over", q.matchID)
	case m == nil:
		return nil, protocol.Fault(protocol.ErrMatchNotFound, "not invited to match %s", q.matchID)
	}
	if err := m.checkReferee(q.envelope); err != nil {
		return nil, err
	}
	if member != nil && q.playerID != "" && q.playerID != member.AgentID {
		p.misnamed(ctx, q.envelope, q.matchID, protocol.Fault(protocol.ErrPlayerNotRegistered,
			"player_id is %s, and this player is %s", words.Clip(q.playerID, 50), member.AgentID))
	}
	if member != nil && !member.Strict() {
		m.calledAs = q.playerID
	}
	return m, nil
}

// resume continues a match whose invitation this player accepted before a restart. The
// access token proves the invitation, because only the referee of this attempt has it.
// It returns nil for no such match. p.mu is held.
func (p *Player) resume(member *membership.Membership, q question) *match {
	if !p.restarted || member == nil || !member.Strict() || len(p.current) >= maxOpenMatches {
		return nil
	}
	attempt := attemptOf(q.matchID, q.envelope.ConversationID)
	if m := p.current[q.matchID]; m != nil && m.attempt >= attempt || p.history.attempt(q.matchID) >= attempt {
		return nil
	}
	auth := referee{sender: q.envelope.Sender, token: q.envelope.AuthToken}
	if !member.Key.IsAccessToken(auth.token, member.LeagueID, q.matchID, attempt, protocol.AgentOf(auth.sender)) {
		return nil
	}
	if q.round == 0 {
		id, _ := league.ParseMatchID(q.matchID)
		q.round = id.Round
	}
	p.asked.add(q.matchID, attempt)
	m := p.newMatch(q.matchID, q.opponent, q.round, attempt, auth)
	m.restored, m.anew = true, p.isAnew(q.matchID, attempt)
	p.current[m.id], p.state = m, stateInMatch
	p.options.Log.Info().Str("match_id", m.id).Str("conversation_id", q.envelope.ConversationID).
		Str("event_type", "MATCH_RESUMED").Msg("resuming a match that began before the restart of this player")
	return m
}

// checkReferee returns an error for a caller other than the referee that sent the
// invitation.
func (m *match) checkReferee(e *protocol.Envelope) error {
	switch {
	case m.auth.token == protocol.NoToken && e.Sender == m.auth.sender:
		return nil
	case m.auth.token != protocol.NoToken && protocol.SameToken(e.AuthToken, m.auth.token):
		return nil
	case e.AuthToken == "":
		return protocol.Fault(protocol.ErrTokenMissing, "auth_token must be the access token of match %s", m.id)
	}
	return protocol.Fault(protocol.ErrTokenInvalid, "%s does not conduct match %s", e.Sender, m.id)
}

// attemptOf returns the attempt in the conversation id of a match; 1 for an id in another
// form.
func attemptOf(matchID, conversation string) int {
	return max(protocol.ConversationAttempt(matchID, conversation), 1)
}

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
