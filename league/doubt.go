package league

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A report that contradicts itself is refused, and so is one in which a
// third-party referee blames both players although both answer: that referee
// may never have asked them. Another referee gets the match. Where there is
// none, the match ends by what the report says, and the journal names the doubt.

// The bounds of contradictory reports of one attempt: after so many of them, or
// when so much time has passed since the last, the referee has lost the match.
const (
	maxRefusedReports = 3
	refusedReportWait = 10 * time.Second
)

// A claim is a report that was not believed.
type claim struct {
	report  *journal.MatchReported // as far as it could be read
	reason  string
	refused int  // contradictory reports of this attempt
	final   bool // the referee gets no other chance
}

// refuse remembers a report that was not believed, and tells the conductor of
// the match. M.mu is held.
func (m *Manager) refuse(x *match, r *journal.MatchReported, reason string, final bool) {
	refused := 1
	if before := x.claim; before != nil && before.report.RefereeID == r.RefereeID && before.report.Attempt == r.Attempt {
		refused += before.refused
	}
	x.claim = &claim{report: r, reason: reason, refused: refused, final: final || refused >= maxRefusedReports}
	select {
	case x.doubted <- struct{}{}:
	default: // the conductor will look anyway
	}
}

// lostBy tells whether a referee has lost its attempt at a match by reports that
// were not believed, and until when it may still send a better one.
func (m *Manager) lostBy(x *match, referee *agent) (lost bool, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := x.claim
	last := 0
	for _, at := range x.fact.Attempts {
		if at.Referee == referee.id {
			last = at.Number
		}
	}
	if c == nil || c.report.RefereeID != referee.id || c.report.Attempt != last {
		return false, time.Time{}
	}
	return c.final, time.Now().Add(refusedReportWait)
}

// doubt journals that the claim of a referee about a match is not believed.
func (m *Manager) doubt(x *match, referee *agent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := x.claim
	if c == nil || c.report.RefereeID != referee.id || x.fact.Report != nil {
		return
	}
	if slices.ContainsFunc(x.fact.Doubts, func(d journal.MatchDoubted) bool {
		return d.RefereeID == c.report.RefereeID && d.Attempt == c.report.Attempt
	}) {
		return
	}
	m.options.Log.Warn().Str("match_id", x.id).Str("referee_id", referee.id).Str("reason", c.reason).Msg("a report is not believed")
	_ = m.record(&journal.MatchDoubted{ // if it cannot be, the journal fails, and with it the manager
		MatchID: x.id, Attempt: c.report.Attempt, RefereeID: c.report.RefereeID, Reason: c.reason,
	})
}

// settleByClaim ends a match by a claim that was not believed, when no other
// referee is left to conduct it: with the result that its choices and number
// make, or else as claimed. It tells whether it did.
func (m *Manager) settleByClaim(x *match) bool {
	m.mu.Lock()
	c := x.claim
	if c == nil || x.fact.Report != nil {
		m.mu.Unlock()
		return false
	}
	r := m.bestOf(c.report, [2]string{x.a.id, x.b.id})
	err := m.record(r)
	if err == nil && m.options.Progress != nil {
		m.options.Progress(m.state.Recorded, len(m.state.Matches))
	}
	m.mu.Unlock()
	if err != nil || m.durable() != nil {
		return false // the journal fails, and with it the manager
	}
	m.options.Log.Warn().Str("match_id", x.id).Str("referee_id", r.RefereeID).Str("reason", c.reason).
		Msg("no other referee is left: the match ends by a report that is not believed")
	m.recorded(x, r)
	return true
}

// bestOf is the result that is recorded of a claim. M.mu is held.
func (m *Manager) bestOf(claimed *journal.MatchReported, ids [2]string) *journal.MatchReported {
	r := *claimed
	r.Draw = nil // it proves nothing
	r.Choices = protocol.Both(ids[0], m.legal(claimed, ids[0]), ids[1], m.legal(claimed, ids[1]))
	if r.Status != protocol.StatusTechnicalLoss {
		if verdict, decided, _ := m.follows(&r, ids); decided {
			r.Status, r.WinnerPlayerID = protocol.StatusDraw, nil
			if winner := winnerOf(verdict, ids); winner != "" {
				r.Status, r.WinnerPlayerID = protocol.StatusWin, &winner
			}
			r.Reason = verdict.Reason(ids)
		} else if r.Status = protocol.StatusDraw; r.WinnerPlayerID != nil {
			r.Status = protocol.StatusWin
		}
	}
	outcome, err := m.state.Outcome(&r)
	if err == nil {
		pointsA, pointsB := m.state.Table.Points(outcome)
		r.Score = protocol.Both(ids[0], pointsA, ids[1], pointsB)
	}
	return &r
}

// legal is the choice of a player in a claim; nil where there is none, or none
// that the rules allow.
func (m *Manager) legal(r *journal.MatchReported, id string) *string {
	choice, _ := r.Choices.Get(id)
	if choice == nil || m.turns > 1 {
		return choice
	}
	position := m.game.Start()
	for _, seat := range position.ToMove() {
		if position.Check(seat, *choice) != nil {
			return nil
		}
	}
	return choice
}

// doubtDoubleLoss pings both players of a match that a third-party referee
// reports as lost by both, once for each match. The text is why the report is
// not believed, because both answered; "" where it is.
func (m *Manager) doubtDoubleLoss(ctx context.Context, q *protocol.MatchResultReport) string {
	d := q.Result.Details
	if d == nil || d.Status != protocol.StatusTechnicalLoss || q.Result.Winner != nil {
		return ""
	}
	m.mu.Lock()
	x := m.runningMatch(q.MatchID)
	ask := false
	var players []*agent
	if referee, err := m.reporter(q); err == nil && x != nil && !referee.player && x.fact.Report == nil && !x.pinged {
		ask = x.fact.Holds(referee.id) && !m.state.Agents[referee.id].Proves() && len(x.fact.Doubts) == 0
		x.pinged = x.pinged || ask
		players = []*agent{x.a, x.b}
	}
	m.mu.Unlock()
	if !ask {
		return ""
	}
	there := make([]bool, len(players))
	var pinging sync.WaitGroup
	for i, p := range players {
		pinging.Go(func() { there[i] = m.answers(ctx, p.address()) })
	}
	pinging.Wait()
	if !there[0] || !there[1] {
		return ""
	}
	return fmt.Sprintf("it says that %s and %s both failed, but both answer", players[0].id, players[1].id)
}

// disbelieved tells whether a report repeats one that was not believed because
// both players answered. M.mu is held.
func (m *Manager) disbelieved(x *match, r *journal.MatchReported) bool {
	if r.Status != protocol.StatusTechnicalLoss || r.WinnerPlayerID != nil || x == nil {
		return false
	}
	if c := x.claim; c != nil && c.final && c.report.RefereeID == r.RefereeID && c.report.Attempt == r.Attempt {
		return true
	}
	return slices.ContainsFunc(x.fact.Doubts, func(d journal.MatchDoubted) bool {
		return d.RefereeID == r.RefereeID && d.Attempt == r.Attempt
	})
}

// runningMatch is a match of the current round; nil for any other. M.mu is held.
func (m *Manager) runningMatch(id string) *match {
	round, number, ok := protocol.ParseMatchID(id)
	if !ok || round != m.state.Round || number > len(m.matches) {
		return nil
	}
	return m.matches[number-1]
}
