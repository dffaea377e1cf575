package manager

import (
	"context"
	"time"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// resumeAttempt takes over what earlier managers know of a match. A match that was handed to
// a referee goes to the same referee again, which resumes it or reports its result, unless
// that referee has failed with it.
func (m *Manager) resumeAttempt(c *conduct) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.referee = m.agents[decide.Holder(m.state, c.id)]
	for _, at := range c.fact.Current() {
		if c.fresh = at.Failed || c.fact.IsLost(at.Number); c.fresh {
			c.failures.add(m.agents[at.Referee])
		}
	}
}

// chooseReferee waits for a referee with a free slot, and takes the slot. It returns
// false if the match is over, or the manager stops.
func (m *Manager) chooseReferee(starting, running context.Context, c *conduct) bool {
	if c.over() || m.forfeits(running, c.match) {
		return false
	}
	if c.referee == nil {
		if m.nextReferee(c) == nil {
			if m.recordLostAttempt(c.match) {
				return false
			}
			m.awaitToken(starting, c)
		}
		if c.referee = m.awaitReferee(starting, c); c.referee == nil {
			return false
		}
	}
	m.announceOther(running, c)
	return starting.Err() == nil && m.takeSlot(starting, running, c)
}

// takeSlot waits for a free slot of the chosen referee; false as in chooseReferee.
func (m *Manager) takeSlot(starting, running context.Context, c *conduct) bool {
	for rejected := false; ; rejected = true {
		select {
		case c.referee.slots <- struct{}{}:
			if rejected {
				c.wake() // awaitReport looks at the report
			}
			return true
		case <-c.news:
			if c.over() || m.forfeits(running, c.match) {
				return false
			}
		case <-starting.Done():
			return false
		}
	}
}

// awaitReferee waits for a referee that may have the match. When there is none, it pings
// the others, after longer and longer pauses, until one answers. Nil when ctx ends.
func (m *Manager) awaitReferee(ctx context.Context, c *conduct) *agent {
	first := m.patience(c.offers)
	for rests := 0; ctx.Err() == nil; rests++ {
		if r := m.nextReferee(c); r != nil {
			return r
		}
		if rests == 0 {
			m.log.Warn().Stringer("match_id", c.id).Str("event_type", "NO_REFEREE_FOR_MATCH").Msg("no referee can take the " +
				"match now: all have failed with it, are suspended, or have no connection to NATS, where a player answers")
		}
		if m.rest(ctx, c, protocol.Backoff(rests, first, max(first, reviveEvery))) != nil {
			return nil
		}
		for _, r := range m.revive(ctx, m.referees, c.failures) {
			delete(c.failures, r)
		}
	}
	return nil
}

// pause waits before the referees are asked again that have all declined.
func (m *Manager) pause(ctx context.Context, c *conduct) error {
	if c.offers%len(m.referees) != 0 {
		return nil
	}
	return m.rest(ctx, c, m.patience(c.offers-1))
}

// rest pauses, but no longer than until the match has a result. News of other kinds stay for
// the conductor.
func (m *Manager) rest(ctx context.Context, c *conduct, pause time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	slept := make(chan error, 1)
	go m.guarded(func() { slept <- m.clock.Sleep(ctx, pause) })() // it ends with ctx
	for told := false; ; told = true {
		select {
		case <-c.news:
			if c.over() || m.forfeits(ctx, c.match) {
				return context.Canceled
			}
		case err := <-slept:
			if told {
				c.wake()
			}
			return err
		}
	}
}

// nextReferee is the referee that gets the next attempt now; nil for none.
func (m *Manager) nextReferee(c *conduct) *agent {
	m.mu.Lock()
	defer m.mu.Unlock()
	failed := func(id string) bool {
		return c.failures.has(m.agents[id]) || decide.CannotCall(m.state, id, c.a.id, c.b.id)
	}
	return m.agents[decide.NextReferee(m.state, c.announced.id, c.offers, failed)]
}

// patience is the pause before referees are asked again: after many rounds of questions
// longer and longer, up to a minute.
func (m *Manager) patience(offers int) time.Duration {
	const often = 5
	pause := max(protocol.Seconds(m.options.RetryPolicy.Delay), time.Second)
	return protocol.Backoff(offers/len(m.referees)-often+1, pause, max(time.Minute, pause))
}

// longestMatch is the most time that a match can take, with all retries and waits, and a
// margin for the report.
func (m *Manager) longestMatch() time.Duration {
	o := &m.options
	if o.LongestMatch > 0 {
		return protocol.Seconds(o.LongestMatch)
	}
	const margin = 30 * time.Second
	return o.Timeouts.LongestMatch(o.RetryPolicy, m.reports.Game.MaxTurns()) + margin
}

// announceOther tells the players of a match that another referee has it than the announced one, or that one
// again, if they would refuse it otherwise: it shows them no access tokens.
func (m *Manager) announceOther(ctx context.Context, c *conduct) {
	shows := locked(m, func() bool { return !m.thirdParty(c.referee.id) })
	if shows || c.referee == c.announced && !c.told {
		return
	}
	c.told = true
	m.announce(ctx, []*agent{c.a, c.b}, []*match{{id: c.id, a: c.a, b: c.b, announced: c.referee}}).wait()
}

// offerMatch sends start_match (MATCH_ASSIGNMENT) to the referee, and
// records the attempt before and the answer after it: above all the draw commitment. A report
// that is faster than the answer waits (see match.delays).
func (m *Manager) offerMatch(ctx context.Context, c *conduct) outcome {
	c.returned = *c.referee.returned.Load() // a return during the call counts
	m.mu.Lock()
	if c.fact.Report != nil { // the organiser has ruled it
		m.mu.Unlock()
		return matchOver
	}
	number, again := decide.AttemptFor(c.fact, c.referee.id, c.fresh)
	if !again && len(m.state.InactivePlayers(c.a.id, c.b.id)) > 0 { // by a decision since the referee was chosen
		m.mu.Unlock()
		if m.forfeits(ctx, c.match) {
			return matchOver
		}
		return offerDeclined // the referee that has accepted it may still report
	}
	at, err := c.attempt(number), error(nil)
	if !again {
		err = m.record(&journal.MatchAssigned{Attempt: at, RefereeID: c.referee.id})
	}
	c.mayHold = again
	c.offered, c.answered = number, make(chan struct{})
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		close(c.answered)
		c.answered = nil
	}()
	if err != nil || m.durable() != nil { // before the referee gets the offer, so that no attempt number is used twice
		return matchOver
	}
	ack, err := m.startMatch(ctx, c, at)
	if ctx.Err() != nil || c.over() {
		return matchOver
	}
	if err != nil {
		m.log.Warn().Func(c.about).Err(err).Str("event_type",
			"ASSIGNMENT_FAILED").Msg("the match could not be handed over")
		switch e := protocol.AsError(err); {
		case protocol.Local(err):
			return offerNotSent
		case e != nil && (e.Remote || !e.Code.Retryable()):
			return m.discarded(ctx, c, at, e)
		}
		return offerUnanswered
	}
	if ack.Status != protocol.StatusAccepted {
		if lost := m.discarded(ctx, c, at, nil); lost != offerDeclined {
			return lost
		}
	}
	return m.answerOf(c, at, ack)
}

// discarded asks the players of a match that its referee declines, or answers with an error (fault), whether they were
// invited, and takes the attempt from the referee if they were (see decide.Discarded): offerDiscarded, else
// offerDeclined.
func (m *Manager) discarded(ctx context.Context, c *conduct, at league.Attempt, fault *protocol.Error) outcome {
	if !locked(m, func() bool { return decide.AsksInvited(c.fact, at, c.referee.id, m.thirdParty) }) {
		return offerDeclined
	}
	var invited []string
	players := []*agent{c.a, c.b}
	for i, reached := range m.reached(ctx, players, at) {
		if reached != nil && *reached {
			invited = append(invited, players[i].id)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	lost, erred := decide.Discarded(m.state, at, c.referee.id, invited, fault)
	switch {
	case c.fact.Report != nil:
		return offerDeclined
	case lost != nil:
		m.loseAttempt(c.match, lost)
		return offerDiscarded
	case erred != nil:
		_ = m.record(erred) // an error ends the manager
	}
	return offerDeclined
}

// answerOf records the answer of a referee to an offer.
func (m *Manager) answerOf(c *conduct, at league.Attempt, ack *protocol.MatchAssignmentAck) outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ack.Status != protocol.StatusAccepted {
		withReason(m.log.Info().Func(c.about), ack.Reason).Str("status", ack.Status).Str("event_type",
			"ASSIGNMENT_DECLINED").
			Msg("the referee does not take the match")
		if event := decide.Decline(c.fact, at, c.referee.id, ack); event != nil {
			_ = m.record(event) // an error ends the manager
		}
		return offerDeclined
	}
	c.obliging = ack.Reason == protocol.AcknowledgesAll
	event, restarted := decide.Acceptance(c.fact, at, c.referee.id, ack)
	switch {
	case restarted:
		m.log.Warn().Func(c.about).Int("attempt", at.Number).Str("event_type", "COMMITMENT_CHANGED").
			Msg("the referee has begun this attempt again with another commitment: another attempt")
		return offerRestarted
	case event != nil && m.record(event) != nil:
		return matchOver
	}
	return offerAccepted
}

// startMatch sends start_match.
func (m *Manager) startMatch(ctx context.Context, c *conduct, at league.Attempt) (*protocol.MatchAssignmentAck, error) {
	o, referee := &m.options, c.referee
	q := &protocol.MatchAssignment{
		Envelope: m.stamp.Envelope(protocol.TypeMatchAssignment, protocol.ConversationOf(at)),
		LeagueID: o.LeagueID, RoundID: c.id.Round, MatchID: c.id.String(), Attempt: at.Number, GameType: o.GameType,
		Timeouts: o.Timeouts, RetryPolicy: o.RetryPolicy, Scoring: o.Scoring, Auth: o.Auth,
	}
	m.mu.Lock()
	q.PlayerA, q.PlayerB = m.assignedPlayer(c.a), m.assignedPlayer(c.b)
	is := m.state.Agents[referee.id]
	proves := is.ShowsAccessTokens()
	if last := len(c.fact.Annulled) - 1; last >= 0 && proves {
		q.AnnulledAttempts = c.fact.Annulled[last].Attempts
	}
	q.Members = o.Members
	if is.RelaysSignatures && o.Members == "" {
		q.Started = m.started
		q.PlayerA.PublicKey, q.PlayerB.PublicKey = m.state.Agents[c.a.id].PublicKey, m.state.Agents[c.b.id].PublicKey
	}
	m.mu.Unlock()
	if proves {
		q.AllowedEndpoints = o.AllowedEndpoints
		q.PlayerA.AccessToken = c.a.proof.Load().key.AccessToken(o.LeagueID, q.MatchID, at.Number, referee.id)
		q.PlayerB.AccessToken = c.b.proof.Load().key.AccessToken(o.LeagueID, q.MatchID, at.Number, referee.id)
	} else {
		q.RefereeID = referee.id
	}
	if o.Replies == protocol.RepliesStrict {
		q.Replies = protocol.RepliesStrict
	}
	return protocol.StartMatch.Call(ctx, o.Caller, referee.peer(), q)
}

// assignedPlayer is a player as an assignment describes it. M.mu is held.
func (m *Manager) assignedPlayer(p *agent) protocol.AssignedPlayer {
	index, _ := m.state.PlayerIndex(p.id)
	row := m.state.Table.Row(index)
	return protocol.AssignedPlayer{
		PlayerID: p.id, Endpoint: p.address(), DisplayName: p.name,
		Standings: protocol.Record{Wins: row.Wins, Losses: row.Losses, Draws: row.Draws, Points: &row.Points},
	}
}

// awaitReport waits for the result until c.end, but no longer if nothing answers at the referee's
// endpoint for a while. It returns refereeBack for a referee that needs the offer again.
func (m *Manager) awaitReport(ctx context.Context, c *conduct, reached bool) outcome {
	glance := m.options.Glance
	timer := time.NewTimer(glance)
	defer timer.Stop()
	var giveUp <-chan time.Time // when a better report must have come
	missed := 0                 // glances in a row at which nothing answered
	for {
		select {
		case <-ctx.Done():
			return matchOver
		case <-c.returned:
			if time.Now().Before(c.end) {
				return refereeBack
			}
		case <-c.news:
			if c.over() {
				return matchOver
			}
			switch lost, rejected := m.lostByReports(c, false); {
			case lost != matchOver:
				return lost
			case !rejected.IsZero():
				giveUp = time.After(time.Until(rejected.Add(betterReportWait)))
			}
			continue
		case <-giveUp:
			if lost, _ := m.lostByReports(c, true); lost != matchOver {
				return lost
			}
			continue
		case <-timer.C:
		}
		left := time.Until(c.end)
		if left <= 0 {
			m.log.Warn().Func(c.about).Str("event_type", "REPORT_TIMEOUT").
				Msg("no report in time: another attempt")
			return m.outOfTime(c)
		}
		_, err := m.ping(ctx, c.referee.address())
		switch missed++; {
		case !protocol.Unreachable(err) && !reached: // anything answers, even with an error
			return refereeBack
		case !protocol.Unreachable(err):
			missed = 0
		case missed >= 3:
			return refereeGone
		}
		timer.Reset(min(glance, left))
	}
}
