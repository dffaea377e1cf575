package manager

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// reportMatchResult records a result (spec 003 §8.7.6). It acknowledges the report when
// the result is on disk. Reporting is idempotent: the same report again gets the same
// acknowledgement; a different report of the same match is refused.
func (m *Manager) reportMatchResult(ctx context.Context, _ string, q *protocol.MatchResultReport) (*protocol.Ack, error) {
	m.awaitOffer(ctx, q)
	m.mu.Lock()
	x, r, err := m.takeClaim(q)
	m.mu.Unlock()
	if errors.Is(err, errPingFirst) {
		x, r, err = m.takeAfterPings(ctx, q, x)
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
	if x != nil {
		m.recorded(x, r)
	}
	ack := m.acks.New()
	ack.Status, ack.MatchID, ack.RoundID = protocol.StatusAccepted, q.MatchID, q.RoundID
	return ack, nil
}

// longestOffer is how long a report waits for the answer to the offer of its match: the
// referee may report and never answer.
const longestOffer = 5 * time.Second

// awaitOffer waits while the answer to the offer of a match is not recorded, if the
// report is one of a referee of the match (see handover.delays).
func (m *Manager) awaitOffer(ctx context.Context, q *protocol.MatchResultReport) {
	if answered := m.openOffer(q); answered != nil {
		select {
		case <-answered:
		case <-time.After(longestOffer):
		case <-ctx.Done():
		}
	}
}

// openOffer is closed when a report may be taken; nil if it may be taken at once.
func (m *Manager) openOffer(q *protocol.MatchResultReport) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.runningMatch(q)
	if x == nil || x.handover.delays(q.Attempt) == nil {
		return nil
	}
	referee := m.tokenless(q)
	if referee == nil {
		referee, _, _ = m.owner(q.AuthToken)
	}
	// A referee that was busy before, and accepts the match now, does not hold it yet.
	if referee == nil || !x.fact.IsAssignedTo(referee.id) && x.fact.Attempt(x.handover.attempt, referee.id) == nil {
		return nil
	}
	// A third-party referee gives no commitment, and may report before it answers.
	if !referee.player && m.thirdParty(referee.id) {
		return nil
	}
	return x.handover.delays(q.Attempt)
}

// runningMatch is the match of a report in the current round, or the rematch; nil for any
// other. M.mu is held.
func (m *Manager) runningMatch(q *protocol.MatchResultReport) *match {
	id, ok := protocol.ParseMatchID(q.MatchID)
	if !ok {
		return nil
	}
	return m.running(id)
}

// running is runningMatch for a match id. M.mu is held.
func (m *Manager) running(id protocol.MatchID) *match {
	switch {
	case m.rematch != nil && m.rematch.id == id:
		return m.rematch
	case id.Round != m.state.Round || id.Number > len(m.matches):
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

// claim authenticates the sender of a report, reads the report and verifies its
// signatures. M.mu is held, but not during the verification, because that is slow.
func (m *Manager) claim(q *protocol.MatchResultReport) (c decide.Claim, err error) {
	referee, err := m.reporter(q)
	if e := protocol.AsError(err); e != nil && e.Code == protocol.ErrTokenMissing {
		m.reportedWithoutToken(q)
	}
	if err == nil && q.LeagueID != m.options.LeagueID && q.LeagueID != "" { // a malformed report may lack it
		err = decide.OtherLeague(m.options.LeagueID, q.LeagueID)
	}
	if err != nil {
		return c, err
	}
	c, err = m.reports.Read(m.state, q, referee.id, m.started)
	if err != nil || c.Late { // the league does not wait for it
		err = cmp.Or(referee.queries.allow(), err)
	}
	if err == nil && c.NeedsProof() {
		m.mu.Unlock()
		defer m.mu.Lock()
		m.reports.Prove(&c)
	}
	return c, err
}

// takeClaim is claim, then take. M.mu is held.
func (m *Manager) takeClaim(q *protocol.MatchResultReport) (*match, *journal.MatchReported, error) {
	c, err := m.claim(q)
	if err != nil {
		return nil, nil, err
	}
	return m.take(q, c)
}

// take judges a claim, and records its result. It returns the match that has the result
// now; nil if the result was recorded before. With errPingFirst it returns the match
// whose players must be pinged. M.mu is held.
func (m *Manager) take(q *protocol.MatchResultReport, c decide.Claim) (*match, *journal.MatchReported, error) {
	x := m.runningMatch(q)
	v := m.reports.Judge(m.state, c, x.pinged())
	switch {
	case v.PingFirst:
		return x, nil, errPingFirst
	case v.Disputed:
		m.dispute(q, v.Result)
	case v.Rejected != "" && x != nil:
		if x.reject(v.Result, v.Rejected) {
			m.loseAttempt(x, decide.LoseAttempt(v.Result, v.Rejected))
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
	m.warnAbout(q, v.Result)
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
	m.options.Log.Error().Str("conversation_id", q.ConversationID).Str("match_id", q.MatchID).
		Str("referee_id", r.RefereeID).Str("status", r.Status).Str("event_type", protocol.EventResultDisputed).
		Msg("disputed: a different result of a match that has one")
	if fact, _, _, _ := m.state.Find(r.MatchID); !slices.Contains(fact.Disputed, r.RefereeID) {
		_ = m.record(&journal.MatchDisputed{Attempt: r.Attempt, RefereeID: r.RefereeID, GameResult: r.GameResult}) // an error ends the manager
	}
}

// warnAbout warns, once for a referee, when it counts points otherwise than the league, and when
// nothing but its word proves what it reports.
func (m *Manager) warnAbout(q *protocol.MatchResultReport, r *journal.MatchReported) {
	var got [2]int
	differs := false
	for i, counted := range r.Score {
		got[i], _ = q.Result.Score.Get(counted.Name)
		differs = differs || got[i] != counted.Value
	}
	if key := protocol.EventScoreDiffers + r.RefereeID; differs && !m.warned[key] {
		m.warned[key] = true
		m.options.Log.Warn().Str("conversation_id", q.ConversationID).Str("match_id", q.MatchID).
			Int("reported_A", got[0]).Int("reported_B", got[1]).Int("counted_A", r.Score[0].Value).Int("counted_B", r.Score[1].Value).
			Str("event_type", protocol.EventScoreDiffers).Msg("the reported score differs from the league's scoring, which counts")
	}
	event, what := "", ""
	ids := decide.Unsigned(m.state, r)
	switch {
	case r.Grade == journal.GradeStated:
		event, what = protocol.EventResultStated, "results rest on the word of this referee alone: it does not show all moves and the draw"
	case len(ids) > 0:
		event, what = protocol.EventResultUnsigned, "the referee relays no signatures: nothing else proves these players' choices"
	case r.Draw == nil && r.DrawnNumber != nil:
		event, what = protocol.EventDrawMissing, "the referee commits to no draw: it could choose the numbers"
	}
	if key := event + r.RefereeID; event != "" && !m.warned[key] {
		m.warned[key] = true
		m.options.Log.Warn().Str("conversation_id", q.ConversationID).Stringer("match_id", r.MatchID).Str("referee_id", r.RefereeID).
			Func(func(line *zerolog.Event) {
				if len(ids) > 0 {
					line.Strs("players", ids)
				}
			}).Str("event_type", event).Msg(what)
	}
}

// recorded completes a match whose result is on disk. It writes the match file for a
// third-party referee, which writes none here.
func (m *Manager) recorded(x *match, r *journal.MatchReported) {
	m.mu.Lock()
	thirdParty := m.thirdParty(r.RefereeID)
	m.mu.Unlock()
	if thirdParty {
		write := store.Add
		if r.Number > 1 { // the file may have an annulled result
			write = store.WriteDerived
		}
		m.writeMatchFile(r.MatchID.String(), write, m.matchFileOf(r, x.a, x.b))
	}
	about := func(line *zerolog.Event) {
		line.Str("conversation_id", r.Conversation()).Stringer("match_id", r.MatchID).Str("status", r.Status)
	}
	withReason(m.options.Log.Info(), r.Reason).Func(about).Str("event_type", protocol.EventResultRecorded).Msg("result recorded")
	if m.options.EveryMatch {
		m.mu.Lock()
		there := m.present(m.players)
		update := m.standingsUpdate(m.life, m.state.Round, len(there))
		m.mu.Unlock()
		post(there, update)
	}
	x.done.Store(true)
	m.mu.Lock()
	x.wake()
	m.mu.Unlock()
}

// takeAfterPings is take for a report that must wait for the pings of its players. The
// first such report sends them. The others wait until it has been judged.
func (m *Manager) takeAfterPings(ctx context.Context, q *protocol.MatchResultReport, x *match) (*match, *journal.MatchReported, error) {
	m.mu.Lock()
	first := x.pings == nil
	if first {
		x.pings = &pings{judged: make(chan struct{}), result: decide.PingsSent}
	}
	p := x.pings
	m.mu.Unlock()
	result := decide.PlayerAway
	if first {
		defer close(p.judged)
		if m.bothAnswer(context.WithoutCancel(ctx), x, x.attempt(max(q.Attempt, 1))) { // a referee that hangs up changes nothing
			result = decide.BothAnswer
		}
	} else {
		select {
		case <-p.judged:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.claim(q) // again, because the first judgement may have changed it
	if first {
		p.result = result // under one lock with take: no other report is judged before this one
	}
	if err != nil {
		return nil, nil, err
	}
	return m.take(q, c)
}

// lostByReports is the cause for which the referee of a match has lost its attempt, "" for none,
// and when its last report was rejected; zero for never. It loses the attempt now if it sent no
// better report in time.
func (m *Manager) lostByReports(c *conduct, timeOver bool) (cause string, rejected time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	attempt := c.fact.LastAttempt(c.referee.id)
	last := c.rejected[attempt]
	if timeOver {
		m.loseAttempt(c.match, decide.LoseAttempt(last.report, last.reason))
	}
	return c.fact.LostBy(attempt), last.at
}

// loseAttempt records, once, that a referee has lost an attempt, unless the match has a result.
// M.mu is held.
func (m *Manager) loseAttempt(x *match, lost *journal.AttemptLost) {
	if x.fact.Report != nil || x.fact.IsLost(lost.Number) {
		return
	}
	m.options.Log.Warn().Stringer("match_id", x.id).Str("referee_id", lost.RefereeID).Str("reason", lost.Reason).
		Str("event_type", protocol.EventReportRejected).Msg("the report is not recorded; the match goes to another referee")
	_ = m.record(lost) // an error ends the manager
	x.wake()
}

// recordLostAttempt ends a match whose referee lost its attempt, because no other referee can
// conduct it. It tells whether it did.
func (m *Manager) recordLostAttempt(x *match) bool {
	m.mu.Lock()
	r, err := decide.ResultOfLostAttempt(m.state, x.id)
	if r != nil && err == nil {
		err = m.record(r)
	}
	if r == nil || err != nil {
		m.mu.Unlock()
		return false
	}
	m.progress()
	lost := slices.IndexFunc(x.fact.LostAttempts, func(l journal.AttemptLost) bool { return l.Number == r.Number })
	reason := x.fact.LostAttempts[lost].Reason
	m.mu.Unlock()
	if m.durable() != nil {
		return false
	}
	m.options.Log.Warn().Stringer("match_id", x.id).Str("referee_id", r.RefereeID).Str("status", r.Status).Str("reason", reason).
		Str("event_type", protocol.EventLostAttemptRecorded).Msg("no other referee available: the match ends without a report that counts")
	m.recorded(x, r)
	return true
}
