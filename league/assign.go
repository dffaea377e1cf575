package league

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// conductMatch gets a match played: it hands it to its referee, waits for the
// report, and hands it to another, with the next attempt, when the referee is
// gone or the longest time a match can take is over. A match that was handed
// over before this manager began goes to the same referee again, which goes on
// with it, or reports what it has. The first accepted result counts. It returns
// when there is one, or work ends, or stop before it was handed over.
func (m *Manager) conductMatch(stop, work context.Context, x *match) {
	referee := m.holder(x)
	failed, givenUp := m.failedBefore(x) // at it, and whether the last attempt was given up
	anew := 0                            // how often a referee has begun again what it had accepted
	for tries := 0; ; tries++ {
		if m.recordedMatch(x) {
			return
		}
		if referee == nil {
			if m.nextReferee(x, tries, failed) == nil && m.settleByClaim(x) {
				return
			}
			if referee = m.refereeFor(stop, x, tries, failed); referee == nil {
				return // told to stop
			}
		}
		m.announceOther(work, x, referee)
		came := m.play(stop, work, x, referee, givenUp)
		givenUp = false
		switch came {
		case settled:
			return
		case lost: // it may have it all the same
			failed.add(referee)
			m.failed(x, referee, "it could not be reached for match "+x.id.String())
			referee, givenUp = nil, true
		case declined, unasked:
			if m.pauseBetweenAsking(stop, tries) != nil {
				return
			}
			referee = nil
		case begunAnew:
			givenUp = true
			if anew++; anew > 1 { // it may have its chance, but not for ever
				referee = nil
			}
		case unfinished:
			m.options.Log.Warn().Stringer("match_id", x.id).Str("referee_id", referee.id).Str("event_type", protocol.EventReportMissing).Msg("no report in time: another attempt")
			failed.add(referee)
			m.failed(x, referee, "it did not report match "+x.id.String()+" in time")
			referee, givenUp = nil, true
		case disbelieved:
			failed.add(referee)
			m.failed(x, referee, "its report of match "+x.id.String()+" was rejected")
			referee, givenUp = nil, true
		}
	}
}

// What came of handing a match to a referee.
type outcome int

const (
	settled     outcome = iota // there is a result, or nothing more to wait for
	lost                       // nobody answered there, or nobody does any more
	declined                   // the referee does not take it now
	unasked                    // this side had nothing to call it with
	begunAnew                  // it has begun the same attempt again, with another commitment
	unfinished                 // the referee is there, but has not reported
	disbelieved                // its report was rejected
)

// pauseBetweenAsking waits when all referees have been asked in turn.
func (m *Manager) pauseBetweenAsking(stop context.Context, tries int) error {
	if (tries+1)%len(m.referees) != 0 {
		return stop.Err()
	}
	return m.options.Clock.Sleep(stop, m.patience(tries))
}

// patience is the pause before referees are asked again: longer and longer, up
// to a minute, when they have been asked many times.
func (m *Manager) patience(tries int) time.Duration {
	const often = 5
	pause := max(protocol.Seconds(m.options.Retry.Delay), time.Second)
	for n := tries / len(m.referees); n >= often && pause < time.Minute; n-- {
		pause *= 2
	}
	return min(pause, max(time.Minute, protocol.Seconds(m.options.Retry.Delay)))
}

// play hands a match to a referee and waits for its report, no longer in all
// than the longest match can take, however often the referee comes back.
func (m *Manager) play(stop, work context.Context, x *match, referee *agent, givenUp bool) outcome {
	if !m.takeSlot(stop, x, referee) {
		return settled
	}
	defer func() { <-referee.slots }()
	for end := time.Now().Add(m.longestMatch()); ; {
		returned := *referee.returned.Load() // before it is called: what happens meanwhile counts
		attempt, again, err := m.attempt(x, referee, givenUp)
		if err != nil {
			return settled // the journal fails, and with it the manager
		}
		result := m.hand(work, x, referee, attempt)
		if result != accepted && (result != lost && result != unasked || !again) {
			return result
		}
		switch m.awaitReport(work, x, referee, returned, result == accepted, end) {
		case reported:
			return settled
		case gone:
			return lost
		case late:
			return unfinished
		case incredible:
			return disbelieved
		case back: // it may have forgotten the match, or has a result on disk
			givenUp = false
			if !time.Now().Before(end) {
				return unfinished
			}
		}
	}
}

// holder is the referee that a match was handed to last; nil for none, and for a
// referee that failed with it, lost it by rejected reports, or gets nothing to do.
func (m *Manager) holder(x *match) *agent {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(x.fact.Attempts)
	if n == 0 {
		return nil
	}
	id := x.fact.Attempts[n-1].Referee
	if x.fact.Attempts[n-1].Failed || x.fact.Doubted(x.fact.Attempts[n-1].Number) || m.state.Agents[id].Absent() {
		return nil
	}
	return m.agents[id]
}

// refereeFor goes through the referees that are not suspended and have not failed
// at this match, beginning with the announced one. When there is none, it waits,
// longer and longer, until one of the others answers; nil when ctx ends first.
func (m *Manager) refereeFor(ctx context.Context, x *match, try int, failed failures) *agent {
	for pause := m.patience(try); ctx.Err() == nil; pause = max(pause, min(2*pause, recallEvery)) {
		if r := m.nextReferee(x, try, failed); r != nil {
			return r
		}
		if m.options.Clock.Sleep(ctx, pause) != nil {
			return nil
		}
		for _, r := range m.recall(ctx, m.referees, failed) {
			delete(failed, r)
		}
	}
	return nil
}

// nextReferee is the first in turn that may have the match; nil for none. One that
// does not prove itself gets a match of one that does only when there is no other:
// the players must be told.
func (m *Manager) nextReferee(x *match, try int, failed failures) *agent {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := slices.Index(m.referees, x.referee)
	var other *agent
	for i := range m.referees {
		r := m.referees[(first+try+i)%len(m.referees)]
		switch {
		case m.state.Agents[r.id].Absent() || failed.has(r):
		case m.unannounced(x, r):
			other = cmp.Or(other, r)
		default:
			return r
		}
	}
	return other
}

// unannounced tells whether players would refuse a referee, because the one that was
// announced to them proves itself, and this one does not. M.mu is held.
func (m *Manager) unannounced(x *match, r *agent) bool {
	return m.state.Agents[x.referee.id].Proves() && !m.state.Agents[r.id].Proves()
}

// announceOther tells the players of a match that another referee has it than the
// announced one, where they would refuse it else.
func (m *Manager) announceOther(ctx context.Context, x *match, referee *agent) {
	m.mu.Lock()
	if !m.unannounced(x, referee) {
		m.mu.Unlock()
		return
	}
	players := m.present([]*agent{x.a, x.b})
	again := m.announcement(ctx, m.state.Round, len(players), []*match{{id: x.id, a: x.a, b: x.b, referee: referee}})
	m.mu.Unlock()
	m.post(players, again)
	again.wait()
}

// takeSlot waits until the referee has room; false when the match has a result
// meanwhile, or ctx ends.
func (m *Manager) takeSlot(ctx context.Context, x *match, referee *agent) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case referee.slots <- struct{}{}:
		return true
	case <-x.done:
	case <-ctx.Done():
	}
	return false
}

// What awaitReport saw first.
type sight int

const (
	reported   sight = iota // the result, or the end of ctx
	gone                    // nobody listens at the referee any more
	back                    // the referee has registered again
	late                    // the longest time a match can take is over
	incredible              // its report was rejected
)

// awaitReport waits for the result of a match that a referee has, as long as
// the longest match can take; no longer when the referee has been gone for a
// while. One that had the match, and could not be reached now, is back as soon
// as it can.
func (m *Manager) awaitReport(ctx context.Context, x *match, referee *agent, returned <-chan struct{}, reached bool, end time.Time) sight {
	glance := m.options.Glance
	timer := time.NewTimer(glance)
	defer timer.Stop()
	var better <-chan time.Time // when a better report must have come
	missed := 0                 // glances in a row at which nobody listened there
	for {
		select {
		case <-x.done:
			return reported
		case <-ctx.Done():
			return reported
		case <-returned:
			return back
		case <-x.doubted:
			lost, until := m.lostBy(x, referee)
			if lost {
				return incredible
			}
			if !until.IsZero() {
				better = time.After(time.Until(until))
			}
			continue
		case <-better:
			if m.loseBy(x, referee) {
				return incredible
			}
			continue
		case <-timer.C:
		}
		left := time.Until(end)
		if left <= 0 {
			return late
		}
		missed++
		if m.reachable(ctx, referee.address()) {
			if !reached {
				return back
			}
			missed = 0
		}
		if missed >= 3 {
			return gone
		}
		timer.Reset(min(glance, left))
	}
}

// recordedMatch tells whether a match has a result on disk.
func (m *Manager) recordedMatch(x *match) bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// longestMatch is the most time a match can take, all attempts, all waits, and
// a margin for the report's own.
func (m *Manager) longestMatch() time.Duration {
	if limit := m.options.LongestMatch; limit > 0 {
		return limit
	}
	const margin = 30 * time.Second
	return m.options.Timeouts.LongestMatch(m.options.Retry, m.turns) + margin
}

// attempt is the number under which a referee gets a match: that of an attempt
// of its own that stands, unless it is given up; else the next, which is on disk
// before anybody hears of it, so that none is used twice. Again tells that the
// referee may have it already.
func (m *Manager) attempt(x *match, referee *agent, givenUp bool) (number int, again bool, err error) {
	m.mu.Lock()
	if !givenUp {
		number = standing(x.fact, referee)
	}
	if again = number > 0; !again {
		number = x.fact.NextAttempt()
		err = m.record(&journal.MatchAssigned{Attempt: x.attempt(number), RefereeID: referee.id})
	}
	m.mu.Unlock()
	if err == nil {
		err = m.durable()
	}
	return number, again, err
}

// standing is the attempt that a referee may be handed once more: the last, or
// one that it declined, if nobody has accepted one since; 0 for none.
func standing(fact *journal.Match, referee *agent) int {
	for i, at := range slices.Backward(fact.Attempts) {
		last := i == len(fact.Attempts)-1
		untouched := at.Declined && !at.Accepted
		switch {
		case at.Referee == referee.id && (last || untouched):
			return at.Number
		case !untouched:
			return 0
		}
	}
	return 0
}

// accepted is what hand returns beside the outcomes that end a try.
const accepted = outcome(-1)

// hand sends start_match (MATCH_ASSIGNMENT), and records what came of it: above
// all what binds the referee. A report that is faster waits for that.
func (m *Manager) hand(ctx context.Context, x *match, referee *agent, attempt int) outcome {
	handing := make(chan struct{})
	m.mu.Lock()
	x.handing, x.handed = handing, attempt
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		x.handing = nil
		m.mu.Unlock()
		close(handing)
	}()
	ack, err := m.assign(ctx, x, referee, attempt)
	switch {
	case ctx.Err() != nil || m.recordedMatch(x):
		return settled
	case err != nil:
		m.options.Log.Warn().Err(err).Stringer("match_id", x.id).Str("referee_id", referee.id).Str("event_type", protocol.EventAssignmentFailed).Msg("the match could not be handed over")
		e := protocol.AsError(err)
		switch {
		case protocol.Local(err):
			return unasked
		case e != nil && (e.Remote || !e.Code.Retryable()):
			return declined
		}
		return lost
	case ack.Status != protocol.StatusAccepted:
		withReason(m.options.Log.Info(), ack.Reason).Stringer("match_id", x.id).Str("referee_id", referee.id).Str("status", ack.Status).
			Str("event_type", protocol.EventAssignmentRefused).Msg("the referee does not take the match")
		m.decline(x, referee, attempt, ack)
		return declined
	}
	return m.accept(x, referee, attempt, ack)
}

// accept records that a referee plays a match, and what binds it.
func (m *Manager) accept(x *match, referee *agent, attempt int, ack *protocol.MatchAssignmentAck) outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := held(x.fact, referee, ack.Attempt)
	if at == nil {
		at = held(x.fact, referee, attempt) // it names none that is its own: that of the request is meant
	}
	switch {
	case at.Accepted && !at.Declined && at.Commitment == ack.DrawCommitment:
	case at.Commitment != "" && at.Commitment != ack.DrawCommitment:
		m.options.Log.Warn().Stringer("match_id", x.id).Str("referee_id", referee.id).Int("attempt", at.Number).
			Str("event_type", protocol.EventCommitmentChanged).Msg("the referee has begun this attempt again with another commitment: another attempt")
		return begunAnew
	default:
		accept := &journal.MatchAccepted{Attempt: x.attempt(at.Number), RefereeID: referee.id, DrawCommitment: ack.DrawCommitment}
		if m.record(accept) != nil {
			return settled // the journal fails, and with it the manager
		}
	}
	return accepted
}

// held is an attempt that was assigned to a referee; nil when there is no such.
func held(fact *journal.Match, referee *agent, number int) *journal.Attempt {
	for i := range fact.Attempts {
		if at := &fact.Attempts[i]; at.Number == number && at.Referee == referee.id {
			return at
		}
	}
	return nil
}

// decline records, once, that a referee does not have the match it was handed.
// One that had accepted it may still have a result.
func (m *Manager) decline(x *match, referee *agent, attempt int, ack *protocol.MatchAssignmentAck) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := held(x.fact, referee, attempt)
	if at.Accepted || at.Declined {
		return
	}
	const longest = 200
	reason := string(protocol.HideTokens([]byte(strings.ToValidUTF8(ack.Reason[:min(len(ack.Reason), longest)], ""))))
	_ = m.record(&journal.MatchDeclined{ // if it cannot be, the journal fails, and with it the manager
		Attempt: x.attempt(attempt), RefereeID: referee.id, Reason: reason,
	})
}

// assign sends start_match.
func (m *Manager) assign(ctx context.Context, x *match, referee *agent, attempt int) (*protocol.MatchAssignmentAck, error) {
	m.mu.Lock()
	round := m.state.Round
	seatA, seatB := m.seat(x.a), m.seat(x.b)
	proves := m.state.Agents[referee.id].Proves()
	m.mu.Unlock()
	matchID, id := x.id.String(), ""
	if proves {
		seatA.AccessToken = x.a.proof.Load().key.AccessToken(m.options.LeagueID, matchID, attempt, referee.id)
		seatB.AccessToken = x.b.proof.Load().key.AccessToken(m.options.LeagueID, matchID, attempt, referee.id)
	} else {
		id = referee.id
	}
	replies := ""
	if m.options.StrictReplies {
		replies = protocol.RepliesStrict
	}
	return protocol.StartMatch.Call(ctx, m.options.Caller, referee.peer(), &protocol.MatchAssignment{
		Envelope: m.stamp.Envelope(protocol.TypeMatchAssignment, protocol.MatchConversation(matchID, attempt)),
		LeagueID: m.options.LeagueID, RoundID: round, MatchID: matchID, Attempt: attempt,
		GameType: m.options.GameType, PlayerA: seatA, PlayerB: seatB,
		Timeouts: m.options.Timeouts, RetryPolicy: m.options.Retry, Scoring: scoringOf(m.options.Scoring), Replies: replies,
		RefereeID: id, Auth: m.options.auth(),
	})
}

// seat is what a referee is told of a player; m.mu is held.
func (m *Manager) seat(p *agent) protocol.AssignedPlayer {
	index, _ := m.state.PlayerIndex(p.id)
	row := m.state.Table.Row(index)
	points := row.Points
	return protocol.AssignedPlayer{
		PlayerID: p.id, Endpoint: p.address(), DisplayName: p.name,
		Standings: protocol.Record{Wins: row.Wins, Losses: row.Losses, Draws: row.Draws, Points: &points},
	}
}
