package player

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
)

func (p *Player) ack(matchID string) *protocol.Ack {
	return &protocol.Ack{Status: protocol.StatusAcknowledged, PlayerID: p.ID(), MatchID: matchID}
}

// ackRound acknowledges a message of the manager about a round; 0 for none. Acknowledgements are allocated together,
// because a league has more of them than of any other message. P.mu is held.
func (p *Player) ackRound(round int) *protocol.Ack {
	const together = 8
	if len(p.acks) == 0 {
		p.acks = make([]protocol.Ack, together)
	}
	ack := &p.acks[0]
	p.acks = p.acks[1:]
	ack.Status, ack.PlayerID, ack.RoundID = protocol.StatusAcknowledged, p.ID(), round
	return ack
}

// fromManager returns the handler of a message that only the manager may send. Handle is
// called with p.mu held. It returns the round of the message, 0 for none, and whether to
// save the history afterwards.
func fromManager[Q any](p *Player, handle func(q *Q) (round int, save bool)) func(context.Context, string,
	*Q) (*protocol.Ack, error) {
	return func(ctx context.Context, bearer string, q *Q) (*protocol.Ack, error) {
		if err := p.CheckManager(ctx, bearer); err != nil {
			return nil, err
		}
		p.mu.Lock()
		round, save := handle(q)
		when := afterRound
		if p.completed != nil {
			when = atEnd
		}
		ack := p.ackRound(round)
		p.mu.Unlock()
		if save {
			p.trySave(when)
		}
		return ack, nil
	}
}

// notifyRound processes ROUND_ANNOUNCEMENT. That of a round that is over announces rematches.
func (p *Player) notifyRound(q *protocol.RoundAnnouncement) (round int, save bool) {
	if p.round, p.rematch = q, q.RoundID <= p.over; !p.rematch {
		p.over = q.RoundID - 1
	}
	p.sure = cmp.Or(p.sure, q.RoundID+1) // this round may be announced again
	p.forgetDecisions(q.RoundID - 1)
	p.keepTable()
	// their GAME_OVER is missing
	maps.DeleteFunc(p.current, func(_ string, m *match) bool { return m.round < q.RoundID-1 })
	for i := range q.Matches {
		if m := forfeit(p.ID(), &q.Matches[i]); m != nil {
			p.add(m, "")
		}
	}
	p.idle()
	return q.RoundID, true
}

// idle updates the state after the end of a match. p.mu is held.
func (p *Player) idle() {
	if !p.engaged() {
		p.state = stateWaitingForRound
	}
	p.quiet.Broadcast()
}

// member waits for a registration in progress and returns the membership, or an error if there
// is none. After a restart the player knows its id, its history and its matches only then.
func (p *Player) member(ctx context.Context) (*membership.Membership, error) {
	if m := p.Await(ctx); m != nil {
		return m, nil
	}
	return nil, protocol.Fault(protocol.ErrPlayerNotRegistered, "this player is not registered in a league")
}

// maxOpenMatches limits the matches of a player at the same time, because an untrusted
// caller may invite it to any number.
const maxOpenMatches = 1000

// invite accepts GAME_INVITATION, with a commitment to this player's part in the draw.
// It is idempotent: a repeated invitation to the same attempt gets the same answer.
func (p *Player) invite(ctx context.Context, _ string, q *protocol.GameInvitation) (*protocol.GameJoinAck, error) {
	attempt := p.invitedTo(q)
	auth, err := p.authorize(ctx, &q.Envelope, q.MatchID, attempt)
	if err != nil {
		return nil, err
	}
	id := p.ID()
	p.mu.Lock()
	defer p.mu.Unlock()
	named := cmp.Or(q.Attempt, protocol.ConversationAttempt(q.MatchID, q.ConversationID))
	anew := p.isAnew(q.MatchID, named)
	p.asked.add(q.MatchID, named)
	if q.OpponentID == id {
		p.misnamed(ctx, &q.Envelope, q.MatchID, protocol.Fault(protocol.ErrInvalidFieldType,
			"opponent_id is %s, which is this player itself", id))
	}
	m := p.current[q.MatchID]
	if m == nil && len(p.current) >= maxOpenMatches {
		return nil, protocol.Fault(protocol.ErrRateLimited, "in %d matches already", maxOpenMatches)
	}
	// an unauthenticated caller may name any attempt
	if m != nil && attempt < m.attempt && m.auth.token != protocol.NoToken {
		return nil, protocol.Fault(protocol.ErrInvalidMatchState, "attempt %d at match %s has begun", m.attempt, m.id)
	}
	if m != nil && !p.mayConduct(m, auth) {
		return nil, protocol.Fault(protocol.ErrTokenInvalid, "%s does not conduct match %s", q.Sender, m.id)
	}
	if m == nil || m.attempt != attempt || m.auth.sender != auth.sender {
		m = p.newMatch(q.MatchID, q.OpponentID, q.RoundID, attempt, auth)
		m.commitment, m.role, m.plain, m.anew = q.DrawCommitment, q.RoleInMatch, q.DrawCommitment == "", anew
		p.current[q.MatchID] = m
		if p.watcher != nil {
			p.watcher.Began(m.id, m.opponent, q.GameType, m.role)
		}
	}
	if m.commitment != q.DrawCommitment {
		p.options.Log.Warn().Str("conversation_id", q.ConversationID).Str("match_id", m.id).
			Str("event_type", "DRAW_COMMITMENT_CHANGED").
			Msg("the referee sends another draw commitment than before: the first one counts")
	}
	p.state = stateInMatch
	ack := m.join.New()
	*ack = protocol.GameJoinAck{
		Envelope: protocol.Envelope{AuthToken: m.auth.token},
		MatchID:  q.MatchID, PlayerID: id, ArrivalTimestamp: p.options.Clock.Timestamp(), Accept: &m.accepts,
	}
	ack.SetPlain(m.plain)
	if m.givesEntropy() {
		ack.EntropyCommitment = m.entropyCommitment
	}
	return ack, nil
}

// forfeited processes the GAME_OVER of a match that the opponent forfeits. No referee conducts such a match: the manager
// sends it. It is idempotent: mostly the announcement has said so.
func (p *Player) forfeited(bearer string, q *protocol.GameOver) (*protocol.Ack, error) {
	if err := p.CheckCredential(bearer); err != nil {
		return nil, err
	}
	if q.GameResult.Status != league.StatusTechnicalLoss {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "the manager sends only the results of forfeited matches, with "+
			"status TECHNICAL_LOSS")
	}
	id, seen := p.ID(), Seen(p.ID(), q.MatchID, 0, q.GameResult)
	if _, plays := q.GameResult.Choices.Get(id); !plays {
		return nil, protocol.Fault(protocol.ErrMatchNotFound, "%s does not play match %s", id, q.MatchID)
	}
	p.mu.Lock()
	added := p.add(&seen, q.GameResult.Reason)
	delete(p.current, q.MatchID) // the referee of an earlier attempt has given it up
	p.idle()
	p.mu.Unlock()
	p.options.Log.Info().Str("conversation_id", q.ConversationID).Str("match_id", q.MatchID).Str("result", seen.Result).
		Str("reason", q.GameResult.Reason).Str("event_type", "MATCH_FORFEITED").Msg("the match is forfeited")
	if added {
		p.trySave(afterMatch)
	}
	return p.ack(q.MatchID), nil
}

// gameOver processes GAME_OVER. It is idempotent.
func (p *Player) gameOver(ctx context.Context, bearer string, q *protocol.GameOver) (*protocol.Ack, error) {
	member, err := p.member(ctx)
	if err != nil {
		return nil, err
	}
	if q.Sender == protocol.ManagerSender && member.Strict() {
		return p.forfeited(bearer, q)
	}
	id := member.AgentID
	p.mu.Lock()
	m := p.current[q.MatchID]
	if m != nil && m.calledAs != "" {
		id = m.calledAs
	}
	p.mu.Unlock()
	attempt := attemptOf(q.MatchID, q.ConversationID)
	if m == nil || attempt != m.attempt || m.checkReferee(&q.Envelope) != nil {
		by, err := p.authorize(ctx, &q.Envelope, q.MatchID, attempt)
		switch {
		case m == nil:
		case by.token != protocol.NoToken && attempt > m.attempt:
			m = nil // the invitation to this attempt got lost
		default:
			attempt, err = m.attempt, m.checkReferee(&q.Envelope)
		}
		if err != nil {
			return nil, err
		}
	}
	seen := Seen(id, q.MatchID, attempt, q.GameResult)
	if m != nil {
		seen.OpponentID = cmp.Or(seen.OpponentID, m.opponent)
		seen.DrawCommitment = m.commitment
		seen.Entropy = m.revealed()
		p.checkDraw(m, q)
	}
	var ack *protocol.Ack
	if m != nil {
		ack = m.over.New()
		ack.AuthToken = m.auth.token
	} else {
		ack = new(protocol.Ack)
		ack.AuthToken = protocol.NoToken
	}
	ack.Status, ack.PlayerID, ack.MatchID = protocol.StatusAcknowledged, p.ID(), q.MatchID
	if q.GameResult.Status == league.StatusWin && q.GameResult.WinnerPlayerID == nil {
		return ack, nil // the winner is missing: the standings will show it
	}
	p.mu.Lock()
	added := attempt > p.history.attempt(q.MatchID)
	if added {
		p.compareChoice(m, &seen, q.GameResult, q.Sender)
		added = p.add(&seen, cmp.Or(q.GameResult.Reason, q.Reason))
	}
	delete(p.current, q.MatchID)
	p.idle()
	p.mu.Unlock()
	if added { // before the acknowledgement, so that a player that is killed after it has the match
		p.checkShown(ctx, m, q)
		p.trySave(afterMatch)
	}
	return ack, nil
}

// givesEntropy tells whether the player takes part in the commit–reveal of the draw. It
// does so with a referee that has committed first: a referee that proves itself and has
// not committed could choose its nonce when it knows the player's entropy. After a
// restart the player does not know, and reveals what it may have committed to.
func (m *match) givesEntropy() bool {
	return m.commitment != "" || m.restored
}

// revealed returns the entropy of the player as it is sent; "" if it gives none.
func (m *match) revealed() string {
	if m.givesEntropy() {
		return m.entropy
	}
	return ""
}

// checkDraw logs a draw that differs from the referee's commitment. The result counts all
// the same; the history contains the commitment, and the audit reports the difference.
func (p *Player) checkDraw(m *match, q *protocol.GameOver) {
	if q.Draw == nil {
		return
	}
	member := p.Membership()
	if entropy, revealed := q.Draw.Entropies.Get(member.AgentID); revealed && entropy != m.entropy {
		p.contradiction(m.id, q.Sender, "entropy", m.revealed(), entropy)
	}
	if m.commitment == "" {
		return
	}
	_, opens := protocol.OpensDraw(m.commitment, member.LeagueID, m.id, m.attempt, protocol.AgentOf(m.auth.sender),
		q.Draw.Nonce)
	if !opens || q.Draw.Commitment != m.commitment {
		p.options.Log.Error().Str("conversation_id", q.ConversationID).Str("match_id", m.id).Str("sender", m.auth.sender).
			Str("event_type", "DRAW_COMMITMENT_BROKEN").
			Msg("the draw differs from the referee's commitment: the audit of the league will report it")
	}
}

// gameError logs GAME_ERROR.
func (p *Player) gameError(ctx context.Context, _ string, q *protocol.GameError) (*protocol.Ack, error) {
	if _, err := p.authorize(ctx, &q.Envelope, q.MatchID, attemptOf(q.MatchID, q.ConversationID)); err != nil {
		return nil, err
	}
	p.options.Log.Warn().Str("message_type", q.MessageType).Str("conversation_id", q.ConversationID).
		Str("match_id", q.MatchID).Str("error_code", q.ErrorCode).Str("error", q.ErrorDescription).
		Str("affected_player", q.AffectedPlayer).Str("consequence", q.Consequence).
		Str("event_type", "GAME_ERROR").Msg("the referee reports an error")
	p.refuse(q)
	return p.ack(q.MatchID), nil
}

// updateStandings processes LEAGUE_STANDINGS_UPDATE.
func (p *Player) updateStandings(q *protocol.StandingsUpdate) (round int, save bool) {
	p.standings = q
	p.keepTable() // some managers send ROUND_COMPLETED first
	p.infer(q.RoundID, q.Standings)
	return q.RoundID, false
}

// roundCompleted processes ROUND_COMPLETED, and saves the history.
func (p *Player) roundCompleted(q *protocol.RoundCompleted) (round int, save bool) {
	p.over = max(p.over, q.RoundID)
	p.compareResults(q.Results)
	p.storeHead(q.RoundID, q.JournalHead, q.JournalHeadSignature)
	p.keepTable()
	p.quiet.Broadcast()
	return q.RoundID, true
}

// leagueCompleted processes LEAGUE_COMPLETED.
func (p *Player) leagueCompleted(q *protocol.LeagueCompleted) (round int, save bool) {
	p.storeHead(0, q.JournalHead, q.JournalHeadSignature)
	if p.completed == nil {
		p.completed = q
		if q.Counted() {
			p.infer(q.TotalRounds, q.Rows())
		}
		p.End()
		p.quiet.Broadcast()
	}
	return 0, true
}

// getState returns the player's state and its finished matches.
func (p *Player) getState(_ context.Context, bearer string, q *protocol.ToolRequest) (*protocol.PlayerState, error) {
	if err := p.CheckOwner(bearer, q.AuthToken); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return &protocol.PlayerState{
		PlayerID: p.ID(), State: p.state, Strategy: p.options.Strategy.Name(),
		Stats: p.history.stats, Matches: p.history.played(), LeagueStats: p.totals,
	}, nil
}

// ping answers ping. It tells the manager whether the attempt that the ping names has reached the
// player. After a restart it knows that only for the rounds after the first one that is announced to
// it, because a manager that was restarted as well announces its round again.
func (p *Player) ping(_ context.Context, bearer string, q *protocol.ToolRequest) (*protocol.Pong, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pong := &protocol.Pong{Status: "ok", Role: protocol.RolePlayer, State: p.state}
	if q.MatchID != "" && p.KnowsManager(bearer) {
		asked := p.asked.has(q.MatchID, q.Attempt)
		id, _ := league.ParseMatchID(q.MatchID)
		known := !p.restarted || p.sure > 0 && id.Round >= p.sure
		if asked || known && id.Round > p.asked.forgotten {
			pong.Asked = &asked
		}
	}
	return pong, nil
}

// askedAttempts are the last attempts of which an invitation or a question has reached a player.
// Its manager asks about an attempt as soon as it has a result. Attempt 0 stands for any attempt
// at the match, because some third-party referees name none.
type askedAttempts struct {
	known     [16]askedAttempt // the newest overwrites the oldest
	last      int              // the index of the newest
	forgotten int              // the last round of which the player has forgotten an attempt; 0 for none
}

type askedAttempt struct {
	matchID string
	number  int
}

func (a *askedAttempts) add(matchID string, attempt int) {
	asked := askedAttempt{matchID, attempt}
	if a.known[a.last] == asked { // by its invitation
		return
	}
	a.last = (a.last + 1) % len(a.known)
	id, _ := league.ParseMatchID(a.known[a.last].matchID)
	a.forgotten = max(a.forgotten, id.Round)
	a.known[a.last] = asked
}

func (a *askedAttempts) has(matchID string, attempt int) bool {
	known := a.known[:]
	return slices.Contains(known, askedAttempt{matchID, attempt}) || slices.Contains(known, askedAttempt{matchID, 0})
}
