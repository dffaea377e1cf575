package league

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// same tells whether two reports say the same of a match.
func same(a, b *journal.MatchReported) bool {
	for _, c := range a.Choices {
		other, _ := b.Choices.Get(c.Name)
		if textOf(c.Value) != textOf(other) {
			return false
		}
	}
	return a.Status == b.Status && textOf(a.WinnerPlayerID) == textOf(b.WinnerPlayerID) &&
		numberOf(a.DrawnNumber) == numberOf(b.DrawnNumber)
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func numberOf(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// reportMatchResult records a result (spec 003 §8.7.6). It is acknowledged when
// it is on disk. The same report again is acknowledged again; a different one of
// the same match is refused.
func (m *Manager) reportMatchResult(ctx context.Context, _ string, q *protocol.MatchResultReport) (*protocol.Ack, error) {
	m.awaitAcceptance(ctx, q)
	m.mu.Lock()
	x, r, err := m.take(q)
	m.mu.Unlock()
	if errors.Is(err, errPingFirst) {
		x, r, err = m.takeAfterPings(ctx, q, x)
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
	return &protocol.Ack{Status: protocol.StatusAccepted, MatchID: q.MatchID, RoundID: q.RoundID}, nil
}

// awaitAcceptance waits until the handing over of the match is recorded, for a
// report that is faster: what binds the referee to its draw stands in the
// journal before the result does. Nobody waits whose report is refused anyway.
func (m *Manager) awaitAcceptance(ctx context.Context, q *protocol.MatchResultReport) {
	handing := m.handing(q)
	if handing == nil {
		return
	}
	limited, stop := context.WithTimeout(ctx, 5*time.Second) // a referee that reports, and never says that it has the match
	defer stop()
	select {
	case <-handing:
	case <-limited.Done():
	}
}

// handing is closed when the match of a report has been handed over; nil when
// nothing of the kind goes on, or the report is not one of its referee. One of
// an attempt before, whose referee was not heard when it took the match, waits
// for nothing: what it brings spares the attempt that is being handed over.
func (m *Manager) handing(q *protocol.MatchResultReport) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, _ := protocol.ParseMatchID(q.MatchID)
	x := m.runningMatch(id)
	if x == nil || x.handing == nil || q.Attempt > 0 && q.Attempt < x.handed {
		return nil
	}
	referee := m.tokenless(q)
	if referee == nil {
		referee, _, _ = m.owner(q.AuthToken)
	}
	// One that was busy before, and takes the match now, does not hold it yet.
	if referee == nil || !x.fact.Holds(referee.id) && held(x.fact, referee, x.handed) == nil {
		return nil
	}
	if is := m.state.Agents[referee.id]; !is.Player && !is.Proves() {
		return nil // it has promised nothing, and may report before it says that it has the match
	}
	return x.handing
}

// recorded goes on from a result that is on disk. It writes the match file of a
// third-party referee, which keeps none here.
func (m *Manager) recorded(x *match, r *journal.MatchReported) {
	m.mu.Lock()
	round, thirdParty := m.state.Round, m.thirdParty(r.RefereeID)
	m.mu.Unlock()
	if thirdParty {
		m.writeMatch(round, r, x.a, x.b)
	}
	withReason(m.options.Log.Info(), r.Reason).Str("conversation_id", r.Conversation()).
		Stringer("match_id", r.MatchID).Str("status", r.Status).Str("event_type", protocol.EventResultRecorded).Msg("result recorded")
	if m.options.EveryMatch {
		m.mu.Lock()
		there := m.present(m.players)
		update := m.standingsUpdate(m.life, m.state.Round, len(there), decide.StandingRows(m.state, 0, protocol.MaxStandings))
		m.mu.Unlock()
		m.post(there, update)
	}
	close(x.done)
}

// thirdParty tells whether a referee is a third-party program: it shows players no access
// tokens. M.mu is held.
func (m *Manager) thirdParty(refereeID string) bool { return !m.state.Agents[refereeID].Proves() }

// take records the result of a report, and tells which match has it now; none
// when it was recorded before. With the error errPingFirst it returns the match
// whose players must be pinged before. M.mu is held.
func (m *Manager) take(q *protocol.MatchResultReport) (*match, *journal.MatchReported, error) {
	referee, err := m.reporter(q)
	if err != nil {
		return nil, nil, err
	}
	if q.LeagueID != m.options.LeagueID {
		return nil, nil, decide.OtherLeague(m.options.LeagueID, q.LeagueID)
	}
	id, _ := protocol.ParseMatchID(q.MatchID) // no match has the zero id
	fact, a, b, err := m.reported(q, id, referee)
	if err != nil || fact.Report != nil {
		err = cmp.Or(referee.throttle.allowAsk(), err) // nothing that the league waits for
	}
	if err != nil {
		return nil, nil, err
	}
	x := m.runningMatch(id) // nil if this manager has not taken up the round yet; it will find the result there
	r, fault := m.read(q, id, fact, referee, a, b)
	if known := fact.Report; known != nil {
		if known.RefereeID == referee.id && same(known, r) {
			return nil, nil, nil
		}
		m.dispute(q, fact, r)
		return nil, nil, protocol.Fault(protocol.ErrDuplicateReport, "match %s has a result already", q.MatchID).
			With("match_id", q.MatchID).With("previous_report_time", fact.ReportedAt)
	}
	doubleLoss := fault == nil && r.Status == protocol.StatusTechnicalLoss && r.WinnerPlayerID == nil && m.thirdParty(referee.id)
	switch {
	case fact.Doubted(r.Number):
		return nil, nil, protocol.Fault(protocol.ErrInvalidMatchState,
			"report rejected: %s has lost attempt %d at match %s by an earlier report that was rejected", referee.id, r.Number, r.MatchID)
	case x != nil && m.mustPing(x, doubleLoss):
		return x, nil, errPingFirst
	case fault != nil:
		if x != nil {
			m.reject(x, r, "it contradicts itself: "+fault.Detail, false)
		}
		return nil, nil, fault
	case doubleLoss:
		if err := m.checkDoubleLoss(x, r); err != nil {
			return nil, nil, err
		}
	}
	if err := m.record(r); err != nil {
		if errors.Is(err, errJournal) {
			return nil, nil, errJournal
		}
		return nil, nil, protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
	}
	m.checkScore(q, a, b, r)
	if r.Draw == nil && r.Status != protocol.StatusTechnicalLoss {
		m.options.Log.Warn().Str("conversation_id", q.ConversationID).Stringer("match_id", r.MatchID).Str("referee_id", r.RefereeID).
			Str("event_type", protocol.EventDrawMissing).Msg("the referee showed no draw: its result cannot be checked")
	}
	if m.options.Progress != nil {
		m.options.Progress(m.state.Recorded, m.state.TotalMatches())
	}
	return x, r, nil
}

// dispute records a second, different result of a match: once for a referee,
// because it may go on saying so.
func (m *Manager) dispute(q *protocol.MatchResultReport, fact *journal.Match, r *journal.MatchReported) {
	m.options.Log.Error().Str("conversation_id", q.ConversationID).Str("match_id", q.MatchID).
		Str("referee_id", r.RefereeID).Str("status", r.Status).Str("event_type", protocol.EventResultDisputed).Msg("disputed: a different result of a match that has one")
	if !slices.Contains(fact.Disputed, r.RefereeID) {
		_ = m.record(&journal.MatchDisputed{Attempt: r.Attempt, RefereeID: r.RefereeID, Outcome: r.Outcome}) // it changes nothing
	}
}

// reported finds the match of a report, and whether the referee may report it.
func (m *Manager) reported(q *protocol.MatchResultReport, id protocol.MatchID, referee *agent) (fact *journal.Match, a, b *agent, err error) {
	if m.state.Started == nil {
		return nil, nil, nil, protocol.Fault(protocol.ErrLeagueNotStarted, "the league has not started")
	}
	fact, idA, idB, ok := m.state.Find(id)
	if !ok || id.Round != q.RoundID || !fact.Holds(referee.id) {
		return nil, nil, nil, protocol.Fault(protocol.ErrMatchNotFound, "match %.40q is not assigned to %s", q.MatchID, referee.id)
	}
	return fact, m.agents[idA], m.agents[idB], nil
}

// read makes a result of a report, as far as it can be read, and judges it.
// Points are the manager's to compute, so only the status, the winner and the
// particulars count; a report without details, or with winner "DRAW", is
// understood.
func (m *Manager) read(q *protocol.MatchResultReport, id protocol.MatchID, fact *journal.Match, referee, a, b *agent) (*journal.MatchReported, *protocol.Error) {
	r := &journal.MatchReported{Attempt: protocol.Attempt{MatchID: id, Number: attemptOf(q, fact, referee)}, RefereeID: referee.id, Draw: q.Draw}
	r.Score = protocol.Both(a.id, 0, b.id, 0)
	drawn := q.Result.Winner != nil && *q.Result.Winner == "DRAW"
	var err error
	if w := q.Result.Winner; w != nil && !drawn {
		if *w == a.id || *w == b.id {
			r.WinnerPlayerID = w
		} else {
			err = fmt.Errorf("result.winner must be %s, %s or null", a.id, b.id)
		}
	}
	var choiceA, choiceB *string
	if d := q.Result.Details; d != nil {
		r.Status, r.DrawnNumber = d.Status, d.DrawnNumber
		r.Reason = string(protocol.HideTokens([]byte(d.Reason))) // the journal is for everybody to read
		choiceA, _ = d.Choices.Get(a.id)
		choiceB, _ = d.Choices.Get(b.id)
		r.Faults = faultsOf(d, a.id, b.id)
	}
	r.Choices = protocol.Both(a.id, choiceA, b.id, choiceB)
	switch {
	case r.Status != "":
	case drawn:
		r.Status = protocol.StatusDraw
	default:
		r.Status = inferStatus(q.Result.Details, r.WinnerPlayerID != nil)
	}
	technical, moves := r.Status == protocol.StatusTechnicalLoss, r.Moves([2]string{a.id, b.id})
	if numberOf(r.DrawnNumber) == 0 && (technical || moves[0] == "" || moves[1] == "") {
		r.DrawnNumber = nil // third-party referees report 0 when they drew nothing or name no choices
	}
	if err == nil {
		err = m.possible(r, fact, a, b)
	}
	if technical || numberOf(r.DrawnNumber) == 0 {
		r.DrawnNumber = nil // nothing was drawn that counts
	} else {
		r.NumberParity = parityOf(*r.DrawnNumber)
	}
	if err == nil {
		err = m.score(r, a.id, b.id)
	}
	var fault *protocol.Error
	if err != nil && !errors.As(err, &fault) {
		fault = protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
	}
	return r, fault
}

// score sets the points of a result by the league's scoring. The error is that of a
// result that cannot be counted. M.mu is held.
func (m *Manager) score(r *journal.MatchReported, a, b string) error {
	outcome, err := m.state.Outcome(r)
	if err != nil {
		return err
	}
	pointsA, pointsB := m.state.Table.Points(outcome)
	r.Score = protocol.Both(a, pointsA, b, pointsB)
	return nil
}

// faultsOf are the failures by which the players of a match lost, as far as they
// are known to the catalogue.
func faultsOf(d *protocol.ResultDetails, players ...string) (faults protocol.PerPlayer[string]) {
	for _, id := range players {
		if code, ok := d.Faults.Get(id); ok && protocol.Code(code).Name() != "" && d.Status == protocol.StatusTechnicalLoss {
			faults = append(faults, protocol.Member[string]{Name: id, Value: code})
		}
	}
	return faults
}

func parityOf(number int) *string {
	parity := "even"
	if number%2 != 0 {
		parity = "odd"
	}
	return &parity
}

// attemptOf is the attempt that a report is about: the one it names, if that is
// the referee's, else the referee's last.
func attemptOf(q *protocol.MatchResultReport, fact *journal.Match, referee *agent) int {
	last := 0
	for _, at := range fact.Attempts {
		if at.Referee == referee.id {
			last = at.Number
			if last == q.Attempt {
				break
			}
		}
	}
	return last
}

// inferStatus is the status of a report that names none (spec 003 §8.7.6).
func inferStatus(d *protocol.ResultDetails, won bool) string {
	switch {
	case won && (d == nil || d.DrawnNumber != nil):
		return protocol.StatusWin
	case d != nil && d.DrawnNumber == nil && d.Choices != nil:
		return protocol.StatusTechnicalLoss
	case won:
		return protocol.StatusWin
	}
	return protocol.StatusDraw
}

// checkScore warns when a referee counts points otherwise than the league.
func (m *Manager) checkScore(q *protocol.MatchResultReport, a, b *agent, r *journal.MatchReported) {
	countedA, _ := r.Score.Get(a.id)
	countedB, _ := r.Score.Get(b.id)
	gotA, _ := q.Result.Score.Get(a.id)
	gotB, _ := q.Result.Score.Get(b.id)
	if gotA != countedA || gotB != countedB {
		m.options.Log.Warn().Str("conversation_id", q.ConversationID).Str("match_id", q.MatchID).
			Int("reported_A", gotA).Int("reported_B", gotB).Int("counted_A", countedA).Int("counted_B", countedB).
			Str("event_type", protocol.EventScoreDiffers).Msg("the reported score differs from the league's scoring, which counts")
	}
}
