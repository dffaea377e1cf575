package referee

import (
	"context"
	"fmt"
	"net/netip"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/rules"
)

// memberOf returns the membership for a request of the manager about a league.
func (r *Referee) memberOf(ctx context.Context, bearer, leagueID string) (*membership.Membership, error) {
	if err := r.CheckManager(ctx, bearer); err != nil {
		return nil, err
	}
	member := r.Membership()
	if leagueID != member.LeagueID {
		return nil, protocol.Fault(protocol.ErrLeagueNotFound, "this referee serves league %s", member.LeagueID)
	}
	return member, nil
}

// startMatch accepts an assignment and answers at once; the match runs by itself.
// It is idempotent: the same assignment again changes nothing. For a finished match
// the referee reports the result again, unless the assignment says that the attempt is
// annulled: then it plays the match again. An acceptance has a reason if the program of the
// game has failed in this attempt, which begins again.
func (r *Referee) startMatch(ctx context.Context, bearer string,
	q *protocol.MatchAssignment) (*protocol.MatchAssignmentAck, error) {
	member, err := r.memberOf(ctx, bearer, q.LeagueID)
	if err != nil {
		return nil, err
	}
	var own protocol.GameID
	fill := func(ack *protocol.MatchAssignmentAck, status, reason string) *protocol.MatchAssignmentAck {
		*ack = protocol.MatchAssignmentAck{
			MatchID: q.MatchID, Attempt: q.Attempt, RefereeID: member.AgentID, Status: status, GameDigest: own.Digest,
			Reason: reason,
		}
		return ack
	}
	answer := func(status, reason string) *protocol.MatchAssignmentAck {
		return fill(new(protocol.MatchAssignmentAck), status, reason)
	}
	accept := func(m *match, attempt int) *protocol.MatchAssignmentAck {
		ack := fill(m.acceptance.New(), protocol.StatusAccepted, "")
		ack.Attempt, ack.DrawCommitment = attempt, m.commitment
		return ack
	}
	game, err := r.options.Games.Game(q.GameType)
	if err != nil {
		return answer(protocol.StatusRejected, err.Error()), nil
	}
	own = r.gameID(game)
	if other := otherProgram(q.GameType, own, q.GameID); other != "" {
		return answer(protocol.StatusRejected, other), nil
	}
	if _, err := rules.BeginAfter(game, q.Opening); err != nil {
		return answer(protocol.StatusRejected, err.Error()), nil
	}
	for _, p := range []*protocol.AssignedPlayer{&q.PlayerA, &q.PlayerB} {
		if check := r.options.CheckPlayer; check != nil && check(q.LeagueID, p.Endpoint) != nil {
			return answer(protocol.StatusRejected, check(q.LeagueID, p.Endpoint).Error()), nil
		}
	}
	r.recover(member, q.MatchID)
	r.mu.Lock()
	defer r.mu.Unlock()
	var nonce protocol.Secret
	var failure string
	known := r.knownFor(q)
	switch {
	case r.life.Err() != nil:
		return answer(protocol.StatusRejected, "this referee is stopping"), nil
	case known != nil && known.hasResult():
		r.work(known, (*match).report)
		if known.attempt < q.Attempt && known.mayBeOutdated() {
			return answer(protocol.StatusBusy, fmt.Sprintf("reporting attempt %d at the match first", known.attempt)), nil
		}
		return accept(known, known.attempt), nil
	case known != nil && (known.attempt > q.Attempt || known.attempt == q.Attempt && !known.returned):
		return accept(known, q.Attempt), nil
	case r.stopping:
		return answer(protocol.StatusRejected, "this referee is stopping"), nil
	case r.busy >= r.options.MaxConcurrent:
		return answer(protocol.StatusBusy, "conducting as many matches as it can"), nil
	case known != nil && !known.abandon(): // it has just come to its result, and reports it
		return accept(known, known.attempt), nil
	case known != nil && known.attempt == q.Attempt: // it was given up, and must not draw twice
		nonce, failure = known.nonce, known.failed()
	default:
		nonce = r.nonce(q)
	}
	m := newMatch(r, member, game, q, nonce)
	r.matches[q.MatchID] = m
	r.busy++
	r.work(m, (*match).run)
	ack := accept(m, q.Attempt)
	ack.Reason = words.Clip(failure, maxFailure)
	return ack, nil
}

// knownFor returns what the referee knows of the match of an assignment; nil for nothing, or a result that was annulled,
// or refused because the match has a later attempt. R.mu is held.
func (r *Referee) knownFor(q *protocol.MatchAssignment) *match {
	known := r.matches[q.MatchID]
	if known != nil && known.hasResult() &&
		(known.attempt <= q.AnnulledAttempts || known.attempt < q.Attempt && known.isOutdated()) {
		return nil
	}
	return known
}

// maxFailure is the largest number of bytes of what an acceptance says of the program's failure in the last try.
const maxFailure = 400

// networks returns the networks in which the players of a match may be; nil for all. The
// referee's own setting comes first, because its operator bears the consequences of its calls,
// and it may see the players at other addresses than the manager does (split-horizon DNS).
func (r *Referee) networks(a *protocol.MatchAssignment) []netip.Prefix {
	if r.options.Networks != nil {
		return r.options.Networks
	}
	if told := a.Networks(); told != nil {
		return told
	}
	return r.options.UsualNetworks
}

// work runs a job concurrently, unless the referee has stopped; r.mu is held. About is the match of the job; nil for
// none.
func (r *Referee) work(about *match, job func(about *match)) {
	if r.life.Err() != nil {
		return
	}
	r.working++
	r.workers.Start(func() {
		job(about)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.working--
		r.rested.Broadcast()
	})
}

// keptMatches is how many acknowledged matches a referee keeps in memory.
const keptMatches = 1000

// remember records an acknowledged match and evicts the oldest if there are too
// many; r.mu is held.
func (r *Referee) remember(m *match) {
	r.reported = append(r.reported, m)
	if len(r.reported) > keptMatches {
		if oldest := r.reported[0]; r.matches[oldest.matchID] == oldest { // else there is a rematch
			delete(r.matches, oldest.matchID)
		}
		r.reported = r.reported[1:]
	}
}

// release frees the slot of a match. Conducted tells whether it has a result.
func (r *Referee) release(conducted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	if conducted {
		r.conducted++
	}
}
