package manager

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
)

// reportMatchResult records a result. It acknowledges the report when the result is on disk.
// Reporting is idempotent: the same report again gets the same acknowledgement; a different
// report of the same match is refused.
func (m *Manager) reportMatchResult(ctx context.Context, _ string, q *protocol.MatchResultReport) (*protocol.Ack,
	error) {
	m.awaitAnswer(ctx, q)
	claim, err := m.readReport(ctx, q)
	var x *match
	var r *journal.MatchReported
	if err == nil {
		x, r, err = m.judgeReport(q, claim, decide.NotPinged)
	}
	if errors.Is(err, errPingFirst) {
		x, r, err = m.judgeAfterPings(ctx, q, x)
	}
	if refusal := q.Refusal(); refusal != nil { // it says more than that, for example, the match is unknown
		return nil, refusal
	}
	if err != nil {
		return nil, err
	}
	if m.durable() != nil {
		return nil, errJournal
	}
	var ack *protocol.Ack
	if x != nil {
		m.completeMatch(x, r)
		ack = x.recordal.New()
	} else {
		ack = new(protocol.Ack)
	}
	ack.Status, ack.MatchID, ack.RoundID = protocol.StatusAccepted, q.MatchID, q.RoundID
	return ack, nil
}

// longestAnswer is how long a report waits for the answer to the offer of its match: the
// referee may report and never answer. So long it waits for a player as well (see askAboutLater).
const longestAnswer = 5 * time.Second

// awaitAnswer waits while the answer to the offer of a match is not recorded, if the report is one of a
// referee of the match: the journal holds the referee's draw commitment before its result.
func (m *Manager) awaitAnswer(ctx context.Context, q *protocol.MatchResultReport) {
	if answered := m.answerBefore(q); answered != nil {
		select {
		case <-answered:
		case <-time.After(longestAnswer):
		case <-ctx.Done():
		}
	}
}

// answerBefore is closed when a report may be judged; nil if it may be judged at once. A report of an earlier
// attempt does not wait, because it makes the offer unnecessary.
func (m *Manager) answerBefore(q *protocol.MatchResultReport) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.runningMatch(q)
	if x == nil || !x.asking {
		return nil
	}
	if named := q.Named(); named > 0 && named < x.offered {
		return nil
	}
	referee := m.tokenless(q)
	if referee == nil {
		referee, _, _ = m.owner(q.AuthToken)
	}
	// A referee that was busy before, and accepts the match now, does not hold it yet.
	if referee == nil || !x.recorded.IsAssignedTo(referee.id) && x.recorded.Attempt(x.offered, referee.id) == nil {
		return nil
	}
	// A third-party referee gives no commitment, and may report before it answers.
	if !referee.player && m.thirdParty(referee.id) {
		return nil
	}
	if x.answered == nil {
		x.answered = make(chan struct{})
	}
	return x.answered
}

// runningMatch is the match of a report in the current round, or the rematch; nil for any
// other. M.mu is held.
func (m *Manager) runningMatch(q *protocol.MatchResultReport) *match {
	id, _ := league.ParseMatchID(q.MatchID) // no match has the zero id
	return m.running(id)
}

// running is runningMatch for a match id. M.mu is held.
func (m *Manager) running(id league.MatchID) *match {
	switch {
	case m.rematch != nil && m.rematch.id == id:
		return m.rematch
	case id.Round < 1 || id.Round != m.state.Round || id.Number > len(m.matches):
		return nil
	}
	return m.matches[id.Number-1]
}

// thirdParty tells whether a referee is a third-party agent: it shows players no access
// tokens. M.mu is held.
func (m *Manager) thirdParty(refereeID string) bool {
	return !m.state.Agents[refereeID].ShowsAccessTokens()
}

// errPingFirst is no error of a report: the players of its match must be pinged before
// it can be judged.
var errPingFirst = errors.New("the players have not been pinged yet")

// readReport authenticates the sender of a report, reads the report and verifies its
// signatures.
func (m *Manager) readReport(ctx context.Context, q *protocol.MatchResultReport) (decide.Claim, error) {
	c, err := m.authenticReport(ctx, q)
	if err == nil && !c.Late {
		opening, err := m.openingOf(ctx, c.Match())
		c.Began(opening, err, &m.judge)
	}
	if err == nil {
		m.askAboutLater(ctx, &c)
		m.inquire(ctx, &c)
		m.judge.Prove(&c) // without the lock, because that is slow
	}
	return c, err
}

func (m *Manager) authenticReport(ctx context.Context, q *protocol.MatchResultReport) (c decide.Claim, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	referee, err := m.reporter(q)
	if e := protocol.AsError(err); e != nil && e.Code == protocol.ErrTokenMissing {
		m.reportedWithoutToken(ctx, q)
	}
	if err == nil && q.LeagueID != m.options.LeagueID && q.LeagueID != "" { // a malformed report may lack it
		err = decide.OtherLeague(m.options.LeagueID, q.LeagueID)
	}
	if err != nil {
		return c, err
	}
	c, err = m.judge.Read(m.state, q, referee.id, m.started)
	if err != nil || c.Late { // the league does not wait for it
		err = cmp.Or(referee.queries.allow(), err)
	}
	return c, err
}

// judgeReport judges a claim, and records its result. It returns the match that has the
// result now; nil if the result was recorded before. With errPingFirst it returns the match
// whose players must be pinged. Shown is what pings have shown that this report caused, or
// decide.NotPinged.
func (m *Manager) judgeReport(q *protocol.MatchResultReport, c decide.Claim, shown decide.Pings) (*match,
	*journal.MatchReported, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.runningMatch(q)
	pinged := decide.NotRunning
	if x != nil {
		pinged = decide.NotPinged
		if x.pings != nil {
			// under one lock with the judgement: no other report is judged between them
			x.pings.result = cmp.Or(shown, x.pings.result)
			pinged = x.pings.result
		}
	}
	v := m.judge.Judge(m.state, c, pinged)
	switch {
	case v.PingFirst:
		return x, nil, errPingFirst
	case v.Failed && x != nil:
		m.programFailed(x, "the manager", v.Err.Error())
	case v.Disputed:
		m.dispute(q, v.Result)
	case v.Rejected != "" && x != nil:
		before := x.rejected[v.Result.Number].count
		if x.rejected == nil {
			x.rejected = map[int]rejection{}
		}
		x.rejected[v.Result.Number] = rejection{v, before + 1, time.Now()}
		x.wake()
		if before+1 >= maxRejectedReports {
			m.loseAttempt(x, decide.LoseAttempt(v))
		}
	case v.Lost != nil:
		m.loseAttempt(x, v.Lost)
	}
	if !v.Accepted {
		return nil, nil, v.Err
	}
	if err := m.record(v.Result); errors.Is(err, errJournal) {
		return nil, nil, errJournal
	} else if err != nil {
		return nil, nil, protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
	}
	m.warnAbout(v.Result)
	m.progress()
	return x, v.Result, nil
}

// progress calls Options.Progress. M.mu is held.
func (m *Manager) progress() {
	if m.options.Progress != nil {
		m.options.Progress(m.state.Recorded, m.state.TotalMatches())
	}
}

// dispute records a second, different result of a match, once for a referee. M.mu is
// held.
func (m *Manager) dispute(q *protocol.MatchResultReport, r *journal.MatchReported) {
	m.log.Error().Str("conversation_id", q.ConversationID).Str("match_id", q.MatchID).
		Str("referee_id", r.RefereeID).Str("status", r.Status).Str("event_type", "RESULT_DISPUTED").
		Msg("disputed: a different result of a match that has one")
	if recorded, _, _, _ := m.state.Find(r.MatchID); !slices.Contains(recorded.Disputed, r.RefereeID) {
		// an error ends the manager
		_ = m.record(&journal.MatchDisputed{Attempt: r.Attempt, RefereeID: r.RefereeID, Result: r.Result})
	}
}

// warnAbout warns, once for a referee, when nothing but its word proves what it reports, and when it may not
// reach a player. M.mu is held.
func (m *Manager) warnAbout(r *journal.MatchReported) {
	if r.Grade != journal.GradeStated {
		return
	}
	for _, c := range r.Choices {
		if r.WinnerPlayerID == nil || c.Name == *r.WinnerPlayerID || protocol.ValueOf(c.Value) != "" {
			continue
		}
		silent := silence{r.RefereeID, c.Name}
		if m.silences[silent]++; m.silences[silent] == silentAfter {
			m.log.Warn().Stringer("match_id", r.MatchID).Str("referee_id", r.RefereeID).Str("player_id", c.Name).
				Str("reason", words.Clip(r.Reason, protocol.MaxReason)).Str("event_type", "PLAYER_OUT_OF_REACH").
				Msg("this referee names the same player as loser without a move for the third time: it may not reach it; its reason " +
					"and the log of the player tell more")
		}
	}
	if m.warned[r.RefereeID] {
		return
	}
	m.warned[r.RefereeID] = true
	m.log.Warn().Stringer("match_id", r.MatchID).Str("referee_id", r.RefereeID).
		Str("event_type", "RESULT_STATED").
		Msg("results rest on the word of this referee alone: it does not show all moves and the draw")
}

// A silence is a referee that reports no moves of a player that loses.
type silence struct{ refereeID, playerID string }

// silentAfter is the number of such results after which the log has a warning.
const silentAfter = 3

// completeMatch completes a match whose result is on disk. It writes the match file for a
// third-party referee, which writes none here.
func (m *Manager) completeMatch(x *match, r *journal.MatchReported) {
	if locked(m, func() bool { return m.thirdParty(r.RefereeID) }) {
		m.writeMatchFile(m.matchFileOf(r, x.a, x.b), store.WriteMatch)
	}
	if line := m.log.Info(); line != nil {
		withReason(line, r.Reason).Str("conversation_id", protocol.ConversationOf(r.Attempt)).
			Stringer("match_id", r.MatchID).Str("status", r.Status).
			Str("event_type", "RESULT_RECORDED").Msg("result recorded")
	}
	m.finished(x)
}

// judgeAfterPings is judgeReport for a report that must wait for the pings of its players.
// The first such report sends them. The others wait until it has been judged.
func (m *Manager) judgeAfterPings(ctx context.Context, q *protocol.MatchResultReport, x *match) (*match,
	*journal.MatchReported, error) {
	m.mu.Lock()
	first := x.pings == nil
	if first {
		x.pings = &pings{judged: make(chan struct{}), result: decide.PingsSent}
	}
	p, shown := x.pings, decide.NotPinged
	m.mu.Unlock()
	if first {
		defer close(p.judged)
		shown = decide.PlayerAway
		ping := func(p *agent) (*protocol.Pong, error) { // a referee that hangs up changes nothing
			return m.pingAbout(context.WithoutCancel(ctx), p, x.attempt(max(q.Named(), 1)), pingTimeout)
		}
		if !slices.Contains(m.answering([]*agent{x.a, x.b}, ping), false) {
			shown = decide.BothAnswer
		}
	} else {
		select {
		case <-p.judged:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	c, err := m.readReport(ctx, q) // again, because the first judgement may have changed it
	if err == nil {
		return m.judgeReport(q, c, shown)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p.result = cmp.Or(shown, p.result)
	return nil, nil, err
}

// lostByReports is the outcome of an attempt that its referee has lost, matchOver for none,
// and when its last report was rejected; zero for never. It loses the attempt now if it sent no
// better report in time.
func (m *Manager) lostByReports(h *handover, timeOver bool) (lost outcome, rejected time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	attempt := h.recorded.LastAttempt(h.referee.id)
	last := h.rejected[attempt]
	if timeOver {
		m.loseAttempt(h.match, decide.LoseAttempt(last.verdict))
	}
	switch h.recorded.LostBy(attempt) {
	case "":
		return matchOver, last.at
	case journal.CauseBothAnswer:
		return reportDoubted, last.at
	}
	return reportRejected, last.at
}

// loseAttempt records, once, that a referee has lost an attempt, unless the match has a result.
// M.mu is held.
func (m *Manager) loseAttempt(x *match, lost *journal.AttemptLost) {
	if x.recorded.Report != nil || x.recorded.IsLost(lost.Number) {
		return
	}
	event, text := "REPORT_REJECTED", "the report is not recorded; the match goes to another referee"
	if lost.Cause == journal.CauseDiscarded {
		event, text = "ATTEMPT_DISCARDED", "the referee may have discarded a result; the match goes to another referee"
	}
	m.log.Warn().Stringer("match_id", x.id).Str("referee_id", lost.RefereeID).Str("reason", lost.Reason).
		Str("event_type", event).Msg(text)
	_ = m.record(lost) // an error ends the manager
	x.wake()
}

// recordLostAttempt ends a match whose referee lost its attempt, because no other referee can
// conduct it. It tells whether it did.
func (m *Manager) recordLostAttempt(x *match) bool {
	m.mu.Lock()
	r, err := m.judge.ResultOfLostAttempt(m.state, x.id)
	if r != nil && err == nil {
		err = m.record(r)
	}
	if r == nil || err != nil {
		m.mu.Unlock()
		return false
	}
	m.progress()
	m.mu.Unlock()
	if m.durable() != nil {
		return false
	}
	m.log.Warn().Stringer("match_id", x.id).Str("referee_id", r.RefereeID).Str("status", r.Status).
		Str("event_type", "MATCH_WITHOUT_REPORT").
		Msg("no other referee available: the match ends without a report that counts")
	m.completeMatch(x, r)
	return true
}
