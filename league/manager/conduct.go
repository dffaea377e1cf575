package manager

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A dispatched match is on its way to a conductor. Stop and work are the contexts of
// conductMatch.
type dispatched struct {
	*match
	stop, work context.Context //nolint:containedctx // a call in a channel is a parameter list
	playing    *sync.WaitGroup // counts it
}

// A conduct is a match in the hands of a conductor: the goroutine that moves the match's
// handover until there is a result.
type conduct struct {
	*match
	referee  *agent // nil while none is chosen
	told     bool   // the players were told of another referee than the announced one
	slot     bool   // the conduct takes a slot of the referee
	failed   failures
	offers   int
	end      time.Time       // the referee must have reported before
	returned <-chan struct{} // closed when the referee registers again after the last offer
	glance   *time.Timer     // of awaitReport; the conductor reuses it
	news     chan struct{}   // tells that the match is over or a report was rejected; the conductor reuses it
}

// about adds the match and its referee to a log line.
func (c *conduct) about(line *zerolog.Event) {
	line.Stringer("match_id", c.id).Str("referee_id", c.referee.id)
}

// conductMatches is a conductor. It conducts one dispatched match after the other.
func (m *Manager) conductMatches() {
	c := &conduct{glance: time.NewTimer(m.options.Glance), news: make(chan struct{}, 1)}
	defer c.glance.Stop()
	for d := range m.dispatch {
		if d.stop.Err() == nil {
			m.conductMatch(d.stop, d.work, c, d.match)
		}
		d.playing.Done()
	}
}

// conductMatch gets a match played. The first accepted result counts. It returns when
// there is a result, when work ends, or when stop ends before a referee has the match.
func (m *Manager) conductMatch(stop, work context.Context, c *conduct, x *match) {
	m.takeUp(c, x)
	for event := matchOver; ; {
		switch x.handover.state {
		case choosing:
			event = m.choose(stop, work, c)
		case offering:
			event = m.offer(work, c)
		case awaiting:
			event = m.awaitReport(work, c, event == offerAccepted)
		case finished:
			m.askPlayers(work, x)
			return
		}
		m.advance(stop, c, event)
	}
}

// takeUp begins to conduct a match. A match that was handed to a referee before
// this manager started goes to the same referee again, which resumes it or reports its
// result, unless that referee has failed with it.
func (m *Manager) takeUp(c *conduct, x *match) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*c = conduct{match: x, referee: m.agents[decide.Holder(m.state, x.id)], glance: c.glance, news: c.news}
	x.news = c.news // may hold news of the match before, which changes nothing
	for _, at := range x.fact.Current() {
		failed := at.Failed || x.fact.IsLost(at.Number)
		if x.handover.fresh = failed; failed {
			c.failed.add(m.agents[at.Referee])
		}
	}
}

// advance moves the handover. It records the failure of a referee, and releases a
// referee that no longer has the match.
func (m *Manager) advance(stop context.Context, c *conduct, event handoverEvent) {
	if event == refereeBack && !time.Now().Before(c.end) {
		event = reportLate
	}
	failed := c.handover.on(event)
	if c.handover.state == offering || c.handover.state == awaiting {
		return
	}
	if c.slot {
		<-c.referee.slots
		c.slot = false
	}
	if event == reportLate {
		m.options.Log.Warn().Func(c.about).Str("event_type", protocol.EventReportMissing).Msg("no report in time: another attempt")
	}
	if failed || event == reportDoubted {
		c.failed.add(c.referee)
	}
	if failed {
		m.failed(c.id, c.referee, event.failure(c.id.String()))
	}
	if event == offerDeclined || event == offerNotSent {
		if stop.Err() != nil || (c.offers+1)%len(m.referees) == 0 && m.rest(stop, c, m.patience(c.offers)) != nil {
			c.handover.on(matchOver)
		}
	}
	c.offers++
	if event != offerRestarted || c.handover.restarts > 1 { // once may be a crash
		c.referee = nil
	}
}

// choose finds a referee with a free slot for the match.
func (m *Manager) choose(stop, work context.Context, c *conduct) handoverEvent {
	if c.over() || m.forfeits(work, c.match) {
		return matchOver
	}
	if c.referee == nil {
		if m.nextReferee(c) == nil {
			if m.recordLostAttempt(c.match) {
				return matchOver
			}
			m.awaitToken(stop, c)
		}
		if c.referee = m.awaitReferee(stop, c); c.referee == nil {
			return matchOver
		}
	}
	m.announceOther(work, c)
	if stop.Err() != nil {
		return matchOver
	}
	for rejected := false; ; rejected = true {
		select {
		case c.referee.slots <- struct{}{}:
			if rejected {
				c.wake() // awaitReport looks at the report
			}
			c.slot, c.end = true, time.Now().Add(m.longestMatch())
			return refereeChosen
		case <-c.news:
			if c.over() || m.forfeits(work, c.match) {
				return matchOver
			}
		case <-stop.Done():
			return matchOver
		}
	}
}

// awaitReferee waits for a referee that may have the match. When there is none, it pings
// the others, after longer and longer pauses, until one answers. Nil when ctx ends.
func (m *Manager) awaitReferee(ctx context.Context, c *conduct) *agent {
	for pause := m.patience(c.offers); ctx.Err() == nil; pause = max(pause, min(2*pause, reviveEvery)) {
		if r := m.nextReferee(c); r != nil {
			return r
		}
		if m.rest(ctx, c, pause) != nil {
			return nil
		}
		for _, r := range m.revive(ctx, m.referees, c.failed) {
			delete(c.failed, r)
		}
	}
	return nil
}

// rest pauses, but no longer than until the match has a result. News of other kinds stay for
// the conductor.
func (m *Manager) rest(ctx context.Context, c *conduct, pause time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() {
		for told := false; ; told = true {
			select {
			case <-c.news:
				if c.over() || m.forfeits(ctx, c.match) {
					stop()
					return
				}
			case <-ctx.Done():
				if told {
					c.wake()
				}
				return
			}
		}
	})
	return m.clock.Sleep(ctx, pause)
}

// nextReferee is the referee that gets the next attempt now; nil for none.
func (m *Manager) nextReferee(c *conduct) *agent {
	m.mu.Lock()
	defer m.mu.Unlock()
	failed := func(id string) bool { return c.failed.has(m.agents[id]) }
	return m.agents[decide.NextReferee(m.state, c.announced.id, c.offers, failed)]
}

// patience is the pause before referees are asked again: after many rounds of questions
// longer and longer, up to a minute.
func (m *Manager) patience(offers int) time.Duration {
	const often = 5
	pause := max(protocol.Seconds(m.options.Retry.Delay), time.Second)
	for n := offers / len(m.referees); n >= often && pause < time.Minute; n-- {
		pause *= 2
	}
	return min(pause, max(time.Minute, protocol.Seconds(m.options.Retry.Delay)))
}

// longestMatch is the most time that a match can take, with all retries and waits, and a
// margin for the report.
func (m *Manager) longestMatch() time.Duration {
	if limit := m.options.LongestMatch; limit > 0 {
		return limit
	}
	const margin = 30 * time.Second
	return m.options.Timeouts.LongestMatch(m.options.Retry, m.game.MaxTurns()) + margin
}

// announceOther tells the players of a match that another referee has it than the announced one, or that one
// again, if they would refuse it otherwise: it shows them no access tokens.
func (m *Manager) announceOther(ctx context.Context, c *conduct) {
	m.mu.Lock()
	if c.referee == c.announced && !c.told || !m.thirdParty(c.referee.id) {
		m.mu.Unlock()
		return
	}
	c.told = true
	players := m.present([]*agent{c.a, c.b})
	again := m.announcement(ctx, c.id.Round, len(players), []*match{{id: c.id, a: c.a, b: c.b, announced: c.referee}})
	m.mu.Unlock()
	post(players, again.deliver)
	again.wait()
}

// offer sends start_match (MATCH_ASSIGNMENT) to the referee, and records the attempt
// before and the answer after it: above all the draw commitment. A report that is faster
// than the answer waits (see handover.delays).
func (m *Manager) offer(ctx context.Context, c *conduct) handoverEvent {
	c.returned = *c.referee.returned.Load() // a return during the call counts
	m.mu.Lock()
	if c.fact.Report != nil { // the organiser has ruled it
		m.mu.Unlock()
		return matchOver
	}
	number, again := decide.AttemptFor(c.fact, c.referee.id, c.handover.fresh)
	if !again && len(m.state.InactivePlayers(c.a.id, c.b.id)) > 0 { // by a decision since the referee was chosen
		m.mu.Unlock()
		if m.forfeits(ctx, c.match) {
			return matchOver
		}
		return offerDeclined // the referee that has accepted it may still report
	}
	at, err := c.attempt(number), error(nil)
	if !again {
		event := m.assigned.New()
		event.Attempt, event.RefereeID = at, c.referee.id
		err = m.record(event)
	}
	c.handover.open(number, again)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		c.handover.close()
	}()
	if err != nil || m.durable() != nil { // before the referee gets the offer, so that no attempt number is used twice
		return matchOver
	}
	ack, err := m.startMatch(ctx, c, at)
	if ctx.Err() != nil || c.over() {
		return matchOver
	}
	if err != nil {
		m.options.Log.Warn().Func(c.about).Err(err).Str("event_type", protocol.EventAssignmentFailed).Msg("the match could not be handed over")
		switch e := protocol.AsError(err); {
		case protocol.Local(err):
			return offerNotSent
		case e != nil && (e.Remote || !e.Code.Retryable()):
			return offerDeclined
		}
		return offerUnanswered
	}
	return m.answerOf(c, at, ack)
}

// answerOf records the answer of a referee to an offer.
func (m *Manager) answerOf(c *conduct, at protocol.Attempt, ack *protocol.MatchAssignmentAck) handoverEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ack.Status != protocol.StatusAccepted {
		withReason(m.options.Log.Info().Func(c.about), ack.Reason).Str("status", ack.Status).Str("event_type", protocol.EventAssignmentRefused).
			Msg("the referee does not take the match")
		if event := decide.Decline(c.fact, at, c.referee.id, ack); event != nil {
			_ = m.record(event) // an error ends the manager
		}
		return offerDeclined
	}
	event, restarted := decide.Acceptance(c.fact, at, c.referee.id, ack)
	switch {
	case restarted:
		m.options.Log.Warn().Func(c.about).Int("attempt", at.Number).Str("event_type", protocol.EventCommitmentChanged).
			Msg("the referee has begun this attempt again with another commitment: another attempt")
		return offerRestarted
	case event != nil && m.record(event) != nil:
		return matchOver
	}
	return offerAccepted
}

// An assignment is a MATCH_ASSIGNMENT with the points of the players, which it points to.
type assignment struct {
	protocol.MatchAssignment

	points [2]int
}

// startMatch sends start_match.
func (m *Manager) startMatch(ctx context.Context, c *conduct, at protocol.Attempt) (*protocol.MatchAssignmentAck, error) {
	o, referee := &m.options, c.referee
	q := m.assignments.New()
	q.MatchAssignment = protocol.MatchAssignment{
		Envelope: m.stamp.Envelope(protocol.TypeMatchAssignment, at.Conversation()),
		LeagueID: o.LeagueID, RoundID: c.id.Round, MatchID: c.id.String(), Attempt: at.Number, GameType: o.GameType,
		Timeouts: o.Timeouts, RetryPolicy: o.Retry, Scoring: scoringOf(o.Scoring), Auth: o.auth(),
	}
	m.mu.Lock()
	q.PlayerA, q.PlayerB = m.assignedPlayer(c.a, &q.points[0]), m.assignedPlayer(c.b, &q.points[1])
	annulled := 0
	if last := len(c.fact.Annulled) - 1; last >= 0 {
		annulled = c.fact.Annulled[last].Attempts
	}
	is := m.state.Agents[referee.id]
	proves, relays := is.ShowsAccessTokens(), is.RelaysSignatures
	keyA, keyB := m.state.Agents[c.a.id].PublicKey, m.state.Agents[c.b.id].PublicKey
	m.mu.Unlock()
	if relays {
		q.Started = m.started
		q.PlayerA.PublicKey, q.PlayerB.PublicKey = keyA, keyB
	}
	if proves {
		q.AllowedEndpoints, q.AnnulledAttempts = o.AllowedEndpoints, annulled
		q.PlayerA.AccessToken = c.a.proof.Load().key.AccessToken(o.LeagueID, q.MatchID, at.Number, referee.id)
		q.PlayerB.AccessToken = c.b.proof.Load().key.AccessToken(o.LeagueID, q.MatchID, at.Number, referee.id)
	} else {
		q.RefereeID = referee.id
	}
	if o.StrictReplies {
		q.Replies = protocol.RepliesStrict
	}
	return protocol.StartMatch.Call(ctx, o.Caller, referee.peer(), &q.MatchAssignment)
}

// assignedPlayer is a player as an assignment describes it, which contains its points.
// M.mu is held.
func (m *Manager) assignedPlayer(p *agent, points *int) protocol.AssignedPlayer {
	index, _ := m.state.PlayerIndex(p.id)
	row := m.state.Table.Row(index)
	*points = row.Points
	return protocol.AssignedPlayer{
		PlayerID: p.id, Endpoint: p.address(), DisplayName: p.name,
		Standings: protocol.Record{Wins: row.Wins, Losses: row.Losses, Draws: row.Draws, Points: points},
	}
}

// lostBy is the event of an attempt that is lost by a cause.
func lostBy(cause string) handoverEvent {
	if cause == journal.CauseBothAnswer {
		return reportDoubted
	}
	return reportRejected
}

// awaitReport waits for the result of a match that a referee holds, as long as the
// longest match can take; no longer if nothing answers at the referee's endpoint for a
// while. A referee that was not reached with the offer gets it again as soon as it
// answers.
func (m *Manager) awaitReport(ctx context.Context, c *conduct, reached bool) handoverEvent {
	glance := m.options.Glance
	timer := c.glance
	timer.Reset(glance)
	defer timer.Stop()
	var giveUp <-chan time.Time // when a better report must have come
	missed := 0                 // glances in a row at which nothing answered
	for {
		select {
		case <-ctx.Done():
			return matchOver
		case <-c.returned:
			return refereeBack
		case <-c.news:
			if c.over() {
				return matchOver
			}
			cause, rejected := m.lostByReports(c, false)
			if cause != "" {
				return lostBy(cause)
			}
			if !rejected.IsZero() {
				giveUp = time.After(time.Until(rejected.Add(betterReportWait)))
			}
			continue
		case <-giveUp:
			if cause, _ := m.lostByReports(c, true); cause != "" {
				return lostBy(cause)
			}
			continue
		case <-timer.C:
		}
		left := time.Until(c.end)
		if left <= 0 {
			return reportLate
		}
		missed++
		if m.reachable(ctx, c.referee.address()) {
			if !reached {
				return refereeBack
			}
			missed = 0
		}
		if missed >= 3 {
			return refereeGone
		}
		timer.Reset(min(glance, left))
	}
}
