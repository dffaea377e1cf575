package manager

import (
	"context"
	"errors"
	"time"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// resumeAttempt takes over what earlier managers know of a match. A match that was handed to
// a referee goes to the same referee again, which resumes it or reports its result, unless
// that referee has failed with it.
func (m *Manager) resumeAttempt(h *handover) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h.referee = m.agents[decide.Holder(m.state, h.id)]
	for _, attempt := range h.recorded.Current() {
		if h.fresh = attempt.Failed || h.recorded.IsLost(attempt.Number); h.fresh {
			h.failed.add(m.agents[attempt.Referee])
		}
	}
}

// chooseReferee waits for a referee with a free slot, and takes the slot. It returns
// false if the match is over, or the manager stops.
func (m *Manager) chooseReferee(starting, running context.Context, h *handover) bool {
	if h.over() || m.forfeits(running, h.match) {
		return false
	}
	if h.referee == nil {
		if m.nextReferee(h) == nil {
			if m.recordLostAttempt(h.match) {
				return false
			}
			m.awaitToken(starting, h)
		}
		if h.referee = m.awaitReferee(starting, h); h.referee == nil {
			return false
		}
	}
	m.announceOther(running, h)
	return starting.Err() == nil && m.takeSlot(starting, running, h)
}

// takeSlot waits for a free slot of the chosen referee; false as in chooseReferee.
func (m *Manager) takeSlot(starting, running context.Context, h *handover) bool {
	for rejected := false; ; rejected = true {
		select {
		case h.referee.slots <- struct{}{}:
			if rejected {
				h.wake() // awaitReport looks at the report
			}
			return true
		case <-h.news:
			if h.over() || m.forfeits(running, h.match) {
				return false
			}
		case <-starting.Done():
			return false
		}
	}
}

// awaitReferee waits for a referee that may have the match. When there is none, it pings
// the others, after longer and longer pauses, until one answers. Nil when ctx ends.
func (m *Manager) awaitReferee(ctx context.Context, h *handover) *agent {
	first := m.patience(h.offers)
	for rests := 0; ctx.Err() == nil; rests++ {
		if r := m.nextReferee(h); r != nil {
			return r
		}
		if rests == 0 {
			m.log.Warn().Stringer("match_id", h.id).Str("event_type", "NO_REFEREE_FOR_MATCH").Msg("no referee can take the " +
				"match now: all have failed with it, are suspended, or have no connection to NATS, where a player answers")
		}
		if m.rest(ctx, h, protocol.Backoff(rests, first, max(first, reviveEvery))) != nil {
			return nil
		}
		for _, r := range m.revive(ctx, m.referees, h.failed) {
			delete(h.failed, r)
		}
	}
	return nil
}

// pause waits before the referees are asked again that have all declined.
func (m *Manager) pause(ctx context.Context, h *handover) error {
	if h.offers%len(m.referees) != 0 {
		return nil
	}
	return m.rest(ctx, h, m.patience(h.offers-1))
}

// rest pauses, but no longer than until the match has a result. News of other kinds stay for
// the hand-over.
func (m *Manager) rest(ctx context.Context, h *handover, pause time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	slept := make(chan error, 1)
	go m.guarded(func() { slept <- m.clock.Sleep(ctx, pause) })() // it ends with ctx
	for told := false; ; told = true {
		select {
		case <-h.news:
			if h.over() || m.forfeits(ctx, h.match) {
				return context.Canceled
			}
		case err := <-slept:
			if told {
				h.wake()
			}
			return err
		}
	}
}

// nextReferee is the referee that gets the next attempt now; nil for none.
func (m *Manager) nextReferee(h *handover) *agent {
	m.mu.Lock()
	defer m.mu.Unlock()
	failed := func(id string) bool {
		return h.failed.has(m.agents[id]) || decide.CannotCall(m.state, id, h.a.id, h.b.id)
	}
	return m.agents[decide.NextReferee(m.state, h.announced.id, h.offers, failed)]
}

// patience is the pause before referees are asked again: after many rounds of questions
// longer and longer, up to a minute.
func (m *Manager) patience(offers int) time.Duration {
	const usualRounds = 5 // with the same pause
	pause := max(protocol.Seconds(m.options.RetryPolicy.Delay), time.Second)
	return protocol.Backoff(offers/len(m.referees)-usualRounds+1, pause, max(time.Minute, pause))
}

// longestMatch is the most time that a match can take, with all retries and waits, and a
// margin for the report.
func (m *Manager) longestMatch() time.Duration {
	o := &m.options
	if o.LongestMatch > 0 {
		return protocol.Seconds(o.LongestMatch)
	}
	const margin = 30 * time.Second
	return o.Timeouts.LongestMatch(o.RetryPolicy, rules.MaxTurns(m.judge.Game), o.TimeBank) + margin
}

// announceOther tells the players of a match that another referee has it than the announced one, or that one
// again, if they would refuse it otherwise: it shows them no access tokens.
func (m *Manager) announceOther(ctx context.Context, h *handover) {
	shows := locked(m, func() bool { return !m.thirdParty(h.referee.id) })
	if shows || h.referee == h.announced && !h.told {
		return
	}
	h.told = true
	m.announce(ctx, []*agent{h.a, h.b}, []*match{{id: h.id, name: h.name, a: h.a, b: h.b, announced: h.referee}}).wait()
}

// offerMatch sends start_match (MATCH_ASSIGNMENT) to the referee, and
// records the attempt before and the answer after it: above all the draw commitment. A report
// that is faster than the answer waits (see match.delays).
func (m *Manager) offerMatch(ctx context.Context, h *handover) outcome {
	h.returned = *h.referee.returned.Load() // a return during the call counts
	m.mu.Lock()
	if h.recorded.Report != nil { // the organiser has ruled it, or an earlier attempt was reported
		m.mu.Unlock()
		return awaitDisk(ctx, h)
	}
	number, again := decide.AttemptFor(h.recorded, h.referee.id, h.fresh)
	if !again && len(m.state.InactivePlayers(h.a.id, h.b.id)) > 0 { // by a decision since the referee was chosen
		m.mu.Unlock()
		if m.forfeits(ctx, h.match) {
			return matchOver
		}
		return offerDeclined // the referee that has accepted it may still report
	}
	attempt, err := h.attempt(number), error(nil)
	if !again {
		err = m.record(&journal.MatchAssigned{Attempt: attempt, RefereeID: h.referee.id})
	}
	h.mayHold = again
	h.offered, h.asking = number, true
	m.mu.Unlock()
	defer m.offered(h)
	defer m.options.Guard.Tell()
	if err != nil || m.durable() != nil { // before the referee gets the offer, so that no attempt number is used twice
		return matchOver
	}
	opening, err := m.openingOf(ctx, h.id)
	if err != nil {
		locked(m, func() struct{} { m.programFailed(h.match, "the manager", protocol.CauseOf(err)); return struct{}{} })
		return offerNotSent
	}
	ack, err := m.startMatch(ctx, h, attempt, opening)
	if ctx.Err() != nil || h.over() || errors.Is(err, errHasResult) {
		return awaitDisk(ctx, h)
	}
	if err != nil {
		m.log.Warn().Func(h.about).Err(err).Str("event_type",
			"ASSIGNMENT_FAILED").Msg("the match could not be handed over")
		switch e := protocol.AsError(err); {
		case protocol.Local(err):
			return offerNotSent
		case e != nil && (e.Remote || !e.Code.Retryable()):
			return m.discarded(ctx, h, attempt, e)
		}
		return offerUnanswered
	}
	if m.checkProgram(h, ack) {
		h.failed.add(h.referee)
	}
	if ack.Status != protocol.StatusAccepted {
		if lost := m.discarded(ctx, h, attempt, nil); lost != offerDeclined {
			return lost
		}
	}
	return m.answerOf(h, attempt, ack)
}

// offered ends the wait of reports for the answer to an offer.
func (m *Manager) offered(h *handover) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.answered != nil {
		close(h.answered)
	}
	h.asking, h.answered = false, nil
}

// discarded asks the players of a match that its referee declines, or answers with an error (fault), whether they were
// invited, and takes the attempt from the referee if they were (see decide.Discarded): offerDiscarded, else
// offerDeclined.
func (m *Manager) discarded(ctx context.Context, h *handover, attempt league.Attempt, fault *protocol.Error) outcome {
	if !locked(m, func() bool { return decide.AsksInvited(h.recorded, attempt, h.referee.id, m.thirdParty) }) {
		return offerDeclined
	}
	var invited []string
	players := []*agent{h.a, h.b}
	for i, reached := range m.reached(ctx, players, attempt, pingTimeout) {
		if reached != nil && *reached {
			invited = append(invited, players[i].id)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	lost, erred := decide.Discarded(m.state, attempt, h.referee.id, invited, fault)
	switch {
	case h.recorded.Report != nil:
		return offerDeclined
	case lost != nil:
		m.loseAttempt(h.match, lost)
		return offerDiscarded
	case erred != nil:
		_ = m.record(erred) // an error ends the manager
	}
	return offerDeclined
}

// answerOf records the answer of a referee to an offer.
func (m *Manager) answerOf(h *handover, attempt league.Attempt, ack *protocol.MatchAssignmentAck) outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ack.Status != protocol.StatusAccepted {
		withReason(m.log.Info().Func(h.about), ack.Reason).Str("status", ack.Status).Str("event_type",
			"ASSIGNMENT_DECLINED").
			Msg("the referee does not take the match")
		if event := decide.Decline(h.recorded, attempt, h.referee.id, ack); event != nil {
			_ = m.record(event) // an error ends the manager
		}
		return offerDeclined
	}
	h.obliging = ack.Reason == protocol.AcknowledgesAll
	if m.options.Digest != "" && ack.Reason != "" && !h.obliging { // it gave the attempt up before
		m.programFailed(h.match, h.referee.id, ack.Reason)
	}
	event, restarted := decide.Acceptance(h.recorded, attempt, h.referee.id, ack)
	switch {
	case restarted:
		m.log.Warn().Func(h.about).Int("attempt", attempt.Number).Str("event_type", "COMMITMENT_CHANGED").
			Msg("the referee has begun this attempt again with another commitment: another attempt")
		return offerRestarted
	case event != nil && m.record(event) != nil:
		return matchOver
	}
	return offerAccepted
}

// awaitDisk waits until the result of a match that has one is on disk.
func awaitDisk(ctx context.Context, h *handover) outcome {
	for !h.over() && ctx.Err() == nil {
		select {
		case <-h.news:
		case <-ctx.Done():
		}
	}
	return matchOver
}

// errHasResult is no error of a referee: the result of an earlier attempt came since the offer was recorded, and the
// table shows it already.
var errHasResult = errors.New("the match has a result")

// startMatch sends start_match.
func (m *Manager) startMatch(ctx context.Context, h *handover, attempt league.Attempt,
	opening []string) (*protocol.MatchAssignmentAck, error) {
	o, referee := &m.options, h.referee
	all := h.offer.New()
	q := &all.MatchAssignment
	*q = protocol.MatchAssignment{
		Envelope: m.stamp.Envelope(protocol.TypeMatchAssignment, protocol.MatchConversation(h.name, attempt.Number)),
		LeagueID: o.LeagueID, RoundID: h.id.Round, MatchID: h.name, Attempt: attempt.Number, GameType: o.GameType,
		GameID:   o.GameID,
		Timeouts: o.Timeouts, RetryPolicy: o.RetryPolicy, Scoring: o.Scoring, Auth: o.Auth,
		Opening: opening, TimeBank: o.TimeBank,
	}
	m.mu.Lock()
	if h.recorded.Report != nil {
		m.mu.Unlock()
		return nil, errHasResult
	}
	q.PlayerA, q.PlayerB = m.assignedPlayer(h.a, &all.points[0]), m.assignedPlayer(h.b, &all.points[1])
	is := m.state.Agents[referee.id]
	proves := is.ShowsAccessTokens()
	if last := len(h.recorded.Annulled) - 1; last >= 0 && proves {
		q.AnnulledAttempts = h.recorded.Annulled[last].Attempts
	}
	q.Members = o.Members
	if is.RelaysSignatures && o.Members == "" {
		q.Started = m.started
		q.PlayerA.PublicKey, q.PlayerB.PublicKey = m.state.Agents[h.a.id].PublicKey, m.state.Agents[h.b.id].PublicKey
	}
	m.mu.Unlock()
	if proves {
		q.AllowedEndpoints = o.AllowedEndpoints
		q.PlayerA.AccessToken = h.a.proof.Load().key.AccessToken(o.LeagueID, q.MatchID, attempt.Number, referee.id)
		q.PlayerB.AccessToken = h.b.proof.Load().key.AccessToken(o.LeagueID, q.MatchID, attempt.Number, referee.id)
	} else {
		q.RefereeID = referee.id
	}
	if o.Replies == protocol.RepliesStrict {
		q.Replies = protocol.RepliesStrict
	}
	return protocol.StartMatch.Call(ctx, o.Caller, referee.peer(), q)
}

// assignedPlayer is a player as an assignment describes it, which keeps points. M.mu is held.
func (m *Manager) assignedPlayer(p *agent, points *int) protocol.AssignedPlayer {
	index, _ := m.state.PlayerIndex(p.id)
	row := m.state.Table.Row(index)
	*points = row.Points
	return protocol.AssignedPlayer{
		PlayerID: p.id, Endpoint: p.address(), DisplayName: p.name,
		Standings: protocol.Record{Wins: row.Wins, Losses: row.Losses, Draws: row.Draws, Points: points},
	}
}

// glanceAfter sets the timer of the hand-over, which serves all matches of a goroutine.
func (h *handover) glanceAfter(glance time.Duration) *time.Timer {
	if h.glances == nil {
		h.glances = time.NewTimer(glance)
	} else {
		h.glances.Reset(glance)
	}
	return h.glances
}

// awaitReport waits for the result until c.end, but no longer if nothing answers at the referee's
// endpoint for a while. It returns refereeBack for a referee that needs the offer again.
func (m *Manager) awaitReport(ctx context.Context, h *handover, reached bool) outcome {
	glance := m.options.Glance
	timer := h.glanceAfter(glance)
	defer timer.Stop()
	var giveUp <-chan time.Time // when a better report must have come
	missed := 0                 // glances in a row at which nothing answered
	for {
		select {
		case <-ctx.Done():
			return matchOver
		case <-h.returned:
			if time.Now().Before(h.end) {
				return refereeBack
			}
		case <-h.news:
			if h.over() {
				return matchOver
			}
			m.giveTimeToStuck(h)
			switch lost, rejected := m.lostByReports(h, false); {
			case lost != matchOver:
				return lost
			case !rejected.IsZero():
				giveUp = time.After(time.Until(rejected.Add(betterReportWait)))
			}
			continue
		case <-giveUp:
			if lost, _ := m.lostByReports(h, true); lost != matchOver {
				return lost
			}
			continue
		case <-timer.C:
		}
		m.watchTurn(ctx, h)
		left := time.Until(h.end)
		if left <= 0 {
			m.log.Warn().Func(h.about).Str("event_type", "REPORT_TIMEOUT").
				Msg("no report in time: another attempt")
			return m.outOfTime(h)
		}
		_, err := m.ping(ctx, h.referee.address())
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
