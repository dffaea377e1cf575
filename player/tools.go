package player

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"evenodd/league/membership"
	"evenodd/league/protocol"
)

func (p *Player) ack(matchID string, round int) *protocol.Ack {
	return &protocol.Ack{Status: protocol.StatusAcknowledged, PlayerID: p.ID(), MatchID: matchID, RoundID: round}
}

// notifyRound takes in ROUND_ANNOUNCEMENT.
func (p *Player) notifyRound(ctx context.Context, bearer string, q *protocol.RoundAnnouncement) (*protocol.Ack, error) {
	if err := p.member.CheckManager(ctx, bearer); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.round, p.over = q, q.RoundID-1
	p.keepTable()
	maps.DeleteFunc(p.current, func(_ string, m *match) bool { return m.round < q.RoundID-1 }) // their end got lost
	for i := range q.Matches {
		if m := forfeit(p.ID(), &q.Matches[i]); m != nil && p.history.file(m) {
			p.unsaved = true
		}
	}
	p.idle()
	p.mu.Unlock()
	p.note()
	return p.ack("", q.RoundID), nil
}

// idle is the state of a player in no match of the current round; p.mu is held.
func (p *Player) idle() {
	if !p.engaged() {
		p.state = StateWaitingForRound
	}
	p.settle()
}

// authorize tells who conducts a match, and refuses a caller that cannot be
// it. In a league whose manager proves itself, a referee shows the access token
// of this match and attempt, unless the round was announced with referee_auth
// none for it: a referee of another maker. A player that wants all referees to
// prove themselves makes no such exception.
func (p *Player) authorize(ctx context.Context, e *protocol.Envelope, matchID string, attempt int) (referee, error) {
	r := referee{sender: e.Sender, token: protocol.NoToken}
	m := p.member.Await(ctx)
	if m == nil {
		return r, protocol.Fault(protocol.ErrPlayerNotRegistered, "this player is not registered in a league")
	}
	if !m.Strict() && !p.options.StrictReferees {
		return r, nil
	}
	expected := m.Key.AccessToken(m.LeagueID, matchID, attempt, protocol.AgentOf(e.Sender))
	if protocol.SameToken(e.AuthToken, expected) {
		r.token = expected
		return r, nil
	}
	if !p.options.StrictReferees && p.announced(matchID).RefereeAuth == protocol.RefereeAuthNone {
		p.options.Log.Warn().Str("match_id", matchID).Str("sender", e.Sender).Str("event_type", protocol.EventRefereeUnauthenticated).Msg("the referee of this match does not prove itself")
		return r, nil
	}
	if e.AuthToken == "" {
		return r, protocol.Fault(protocol.ErrTokenMissing, "auth_token must be the access token of match %s", matchID)
	}
	return r, protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not the access token of %s in match %s", e.Sender, matchID)
}

// announced is a match as the current round was announced, empty when it was
// not.
func (p *Player) announced(matchID string) protocol.AnnouncedMatch {
	p.mu.Lock()
	round := p.round
	p.mu.Unlock()
	return announcedIn(round, matchID)
}

func announcedIn(round *protocol.RoundAnnouncement, matchID string) (none protocol.AnnouncedMatch) {
	if round == nil {
		return none
	}
	i := slices.IndexFunc(round.Matches, func(m protocol.AnnouncedMatch) bool { return m.MatchID == matchID })
	if i < 0 {
		return none
	}
	return round.Matches[i]
}

// mayConduct tells whether a caller may take a match over from the referee that
// invited first: one that proves itself may. Of those that do not, only the
// announced one may, and only from another: else a stranger that knows of the
// match could have the player refuse its referee. p.mu is held.
func (p *Player) mayConduct(m *match, by referee) bool {
	if by.token != protocol.NoToken || by.sender == m.auth.sender && m.auth.token == protocol.NoToken {
		return true
	}
	announced := announcedIn(p.round, m.id).RefereeID
	return m.auth.token == protocol.NoToken && announced != "" && by.sender == protocol.RefereeSender(announced)
}

// maxOpenMatches is how many matches a player is in at once, at most: a
// stranger may invite it to any number.
const maxOpenMatches = 1000

// invite answers GAME_INVITATION: yes, with a commitment to this player's part
// in the draw. Invited again in the same attempt it answers the same.
func (p *Player) invite(ctx context.Context, _ string, q *protocol.GameInvitation) (*protocol.GameJoinAck, error) {
	attempt := max(q.Attempt, 1)
	auth, err := p.authorize(ctx, &q.Envelope, q.MatchID, attempt)
	if err != nil {
		return nil, err
	}
	id := p.ID()
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.current[q.MatchID]
	if m == nil && len(p.current) >= maxOpenMatches {
		return nil, protocol.Fault(protocol.ErrRateLimited, "in %d matches already", maxOpenMatches)
	}
	if m != nil && attempt < m.attempt && m.auth.token != protocol.NoToken { // what a stranger says of attempts binds nobody
		return nil, protocol.Fault(protocol.ErrInvalidMatchState, "attempt %d at match %s has begun", m.attempt, m.id)
	}
	if m != nil && !p.mayConduct(m, auth) {
		return nil, protocol.Fault(protocol.ErrTokenInvalid, "%s does not conduct match %s", q.Sender, m.id)
	}
	if m == nil || m.attempt != attempt || m.auth.sender != auth.sender {
		m = &match{
			id: q.MatchID, opponent: q.OpponentID, round: q.RoundID, attempt: attempt,
			auth: auth, entropy: p.options.Entropy(q.MatchID, attempt), commitment: q.DrawCommitment,
		}
		p.current[q.MatchID] = m
	}
	if m.commitment != q.DrawCommitment {
		p.options.Log.Warn().Str("conversation_id", q.ConversationID).Str("match_id", m.id).
			Str("event_type", protocol.EventDrawCommitmentChanged).Msg("the referee binds itself to another draw than before: the first counts")
	}
	p.state = StateInMatch
	accept := true
	ack := &protocol.GameJoinAck{
		MatchID: q.MatchID, PlayerID: id, ArrivalTimestamp: p.options.Clock.Timestamp(), Accept: &accept,
	}
	if m.gives() {
		ack.EntropyCommitment = protocol.EntropyCommitment(q.MatchID, id, m.entropy)
	}
	ack.AuthToken = m.auth.token
	return ack, nil
}

// A question is what the referee of a match wants to know, and what it says of
// the match besides.
type question struct {
	envelope *protocol.Envelope
	matchID  string
	playerID string // the id by which it knows the player
	opponent string // "" when it does not say
	round    int    // 0 when it does not say
}

// playing finds the match a question is about, and refuses anyone but its
// referee.
func (p *Player) playing(ctx context.Context, q question) (*match, error) {
	member := p.member.Await(ctx) // a player that was restarted may be asked before it is let in again
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.current[q.matchID]
	if forgotten := p.forgotten(member, q); forgotten != nil {
		m = forgotten
	}
	switch {
	case m == nil && p.history.attempt(q.matchID) > 0:
		return nil, protocol.Fault(protocol.ErrInvalidMatchState, "match %s is over", q.matchID)
	case m == nil:
		return nil, protocol.Fault(protocol.ErrMatchNotFound, "not invited to match %s", q.matchID)
	}
	if err := m.refuseOthers(q.envelope); err != nil {
		return nil, err
	}
	if member != nil && !member.Strict() {
		m.calledAs = q.playerID
	}
	return m, nil
}

// forgotten takes up a match whose invitation this player answered before it
// was restarted. The access token tells that there was one: only the referee of
// this very attempt has it. Nil when there is no such match. p.mu is held.
func (p *Player) forgotten(member *membership.Membership, q question) *match {
	if !p.restarted || member == nil || !member.Strict() || len(p.current) >= maxOpenMatches {
		return nil
	}
	attempt := attemptOf(q.matchID, q.envelope.ConversationID)
	if m := p.current[q.matchID]; m != nil && m.attempt >= attempt || p.history.attempt(q.matchID) >= attempt {
		return nil
	}
	auth := referee{
		sender: q.envelope.Sender,
		token:  member.Key.AccessToken(member.LeagueID, q.matchID, attempt, protocol.AgentOf(q.envelope.Sender)),
	}
	if !protocol.SameToken(q.envelope.AuthToken, auth.token) {
		return nil
	}
	if q.round == 0 {
		id, _ := protocol.ParseMatchID(q.matchID)
		q.round = id.Round
	}
	m := &match{
		id: q.matchID, opponent: q.opponent, round: q.round, attempt: attempt,
		auth: auth, entropy: p.options.Entropy(q.matchID, attempt), restored: true,
	}
	p.current[m.id], p.state = m, StateInMatch
	p.options.Log.Info().Str("match_id", m.id).Str("conversation_id", q.envelope.ConversationID).
		Str("event_type", protocol.EventMatchResumed).Msg("taking up a match that began before this player was restarted")
	return m
}

// refuseOthers lets only the referee that invited go on.
func (m *match) refuseOthers(e *protocol.Envelope) error {
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

// gameOver takes in GAME_OVER, once.
func (p *Player) gameOver(ctx context.Context, _ string, q *protocol.GameOver) (*protocol.Ack, error) {
	id := p.ID()
	p.mu.Lock()
	m := p.current[q.MatchID]
	if m != nil && m.calledAs != "" {
		id = m.calledAs
	}
	p.mu.Unlock()
	attempt := attemptOf(q.MatchID, q.ConversationID)
	by, err := p.authorize(ctx, &q.Envelope, q.MatchID, attempt)
	switch {
	case m == nil:
	case by.token != protocol.NoToken && attempt > m.attempt:
		m = nil // the invitation to this attempt did not arrive
	default:
		attempt, err = m.attempt, m.refuseOthers(&q.Envelope)
	}
	if err != nil {
		return nil, err
	}
	seen := Seen(id, q.MatchID, attempt, q.GameResult)
	if m != nil {
		seen.OpponentID = cmp.Or(seen.OpponentID, m.opponent)
		seen.DrawCommitment = m.commitment
		if m.gives() {
			seen.Entropy = m.entropy.Hex()
		}
		p.checkDraw(m, q)
	}
	ack := p.ack(q.MatchID, 0)
	ack.AuthToken = protocol.NoToken
	if m != nil {
		ack.AuthToken = m.auth.token
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.GameResult.Status == protocol.StatusWin && q.GameResult.WinnerPlayerID == nil {
		return ack, nil // it does not say who won: the standings will
	}
	if _, told := q.GameResult.Choices.Get(id); !told && m != nil {
		seen.MyChoice = m.chosen
	}
	if attempt > p.history.attempt(q.MatchID) && p.history.file(seen) {
		p.unsaved = true
	}
	delete(p.current, q.MatchID)
	p.idle()
	return ack, nil
}

// gives tells whether the player takes part in the draw: with a referee that
// has bound itself first. One that proves itself and has not could still choose
// its part when it knows the player's. A player that was restarted in a match
// does not know, and keeps what it may have promised.
func (m *match) gives() bool {
	return m.commitment != "" || m.restored || m.auth.token == protocol.NoToken
}

// checkDraw looks whether the draw is what the referee was bound to. It changes
// nothing here: the history says what the commitment was, and an audit sees it.
func (p *Player) checkDraw(m *match, q *protocol.GameOver) {
	if m.commitment == "" || q.Draw == nil {
		return
	}
	member := p.member.Get()
	nonce, ok := protocol.ParseSecret(q.Draw.Nonce)
	made := protocol.DrawCommitment(member.LeagueID, m.id, m.attempt, protocol.AgentOf(m.auth.sender), nonce)
	if !ok || q.Draw.Commitment != m.commitment || !protocol.SameDigest(made, m.commitment) {
		p.options.Log.Error().Str("conversation_id", q.ConversationID).Str("match_id", m.id).Str("sender", m.auth.sender).
			Str("event_type", protocol.EventDrawCommitmentBroken).Msg("the draw is not the one that the referee was bound to: the audit of the league will tell")
	}
}

// attemptOf reads the attempt from a match's conversation id; 1 when it has
// none. What others call their conversations may look like one.
func attemptOf(matchID, conversation string) int {
	if i := strings.LastIndex(conversation, "-a"); i >= 0 {
		n, err := strconv.Atoi(conversation[i+2:])
		if err == nil && n > 0 && conversation == protocol.MatchConversation(matchID, n) {
			return n
		}
	}
	return 1
}

// gameError notes what the referee was not content with.
func (p *Player) gameError(ctx context.Context, _ string, q *protocol.GameError) (*protocol.Ack, error) {
	if _, err := p.authorize(ctx, &q.Envelope, q.MatchID, attemptOf(q.MatchID, q.ConversationID)); err != nil {
		return nil, err
	}
	p.options.Log.Warn().Str("message_type", q.MessageType).Str("conversation_id", q.ConversationID).
		Str("match_id", q.MatchID).Str("error_code", q.ErrorCode).Str("error", q.ErrorDescription).
		Str("affected_player", q.AffectedPlayer).Str("consequence", q.Consequence).Str("event_type", protocol.EventGameErrorReceived).Msg("the referee reports an error")
	return p.ack(q.MatchID, 0), nil
}

// updateStandings keeps the table.
func (p *Player) updateStandings(ctx context.Context, bearer string, q *protocol.StandingsUpdate) (*protocol.Ack, error) {
	if err := p.member.CheckManager(ctx, bearer); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.standings = q
	p.keepTable() // some managers complete the round first
	p.infer(q.RoundID, q.Standings)
	p.mu.Unlock()
	return p.ack("", q.RoundID), nil
}

// roundCompleted takes note: what the round brought goes to disk.
func (p *Player) roundCompleted(ctx context.Context, bearer string, q *protocol.RoundCompleted) (*protocol.Ack, error) {
	if err := p.member.CheckManager(ctx, bearer); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.over = max(p.over, q.RoundID)
	p.keepTable()
	p.settle()
	p.mu.Unlock()
	p.note()
	return p.ack("", q.RoundID), nil
}

// leagueCompleted ends the player's part.
func (p *Player) leagueCompleted(ctx context.Context, bearer string, q *protocol.LeagueCompleted) (*protocol.Ack, error) {
	if err := p.member.CheckManager(ctx, bearer); err != nil {
		return nil, err
	}
	p.mu.Lock()
	if p.completed == nil {
		p.completed = q
		p.infer(q.TotalRounds, q.FinalStandings)
		close(p.done)
		p.settle()
	}
	p.mu.Unlock()
	p.note()
	return p.ack("", 0), nil
}

// getState tells the player's state and its finished matches (spec 003
// §8.11.2).
func (p *Player) getState(_ context.Context, bearer string, q *protocol.ToolRequest) (*protocol.PlayerState, error) {
	if err := p.member.CheckOwner(bearer, q.AuthToken); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return &protocol.PlayerState{
		PlayerID: p.ID(), State: p.state, Strategy: p.options.Strategy.Name(),
		Stats: p.history.stats, Matches: p.history.played(), LeagueStats: p.totals,
	}, nil
}

func (p *Player) ping(context.Context, string, *protocol.ToolRequest) (*protocol.Pong, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &protocol.Pong{Status: "ok", Role: "player", State: p.state}, nil
}
