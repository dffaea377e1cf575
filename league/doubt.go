package league

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// The manager rejects a report that contradicts itself. It also rejects a double
// technical loss that a third-party referee reports, if both players answer a ping:
// that referee may never have asked them. Another referee gets the match. Without
// another referee the match ends with the result that the rejected report claims, and
// the journal marks it as doubted.

// The bounds of contradictory reports of one attempt: after so many of them, or
// when so much time has passed since the last, the referee has lost the match.
const (
	maxRejectedReports = 3
	betterReportWait   = 10 * time.Second
)

// A claim is what the rejected reports of one attempt say.
type claim struct {
	report   *journal.MatchReported // the last one, as far as it could be read
	reason   string                 // why it was rejected
	rejected int                    // reports
	at       time.Time              // when the last one was rejected
}

// reject remembers a rejected report and wakes the conductor of the match. The
// referee has lost the attempt if the rejection is final, or after
// maxRejectedReports. M.mu is held.
func (m *Manager) reject(x *match, r *journal.MatchReported, reason string, final bool) {
	c := claim{report: r, reason: reason, rejected: x.claims[r.Number].rejected + 1, at: time.Now()}
	x.claims[r.Number] = c
	if final || c.rejected >= maxRejectedReports {
		m.doubt(x, r.Number)
	}
	select {
	case x.doubted <- struct{}{}:
	default: // the conductor will look anyway
	}
}

// lostBy tells whether a referee has lost its attempt at a match by rejected
// reports, and until when it may send a better one; zero if none was rejected.
func (m *Manager) lostBy(x *match, referee *agent) (lost bool, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	attempt := x.fact.LastAttempt(referee.id)
	if c, rejected := x.claims[attempt]; rejected {
		until = c.at.Add(betterReportWait)
	}
	return x.fact.Doubted(attempt), until
}

// loseBy ends the attempt of a referee that sent no better report in time. It
// returns false if the match has a result meanwhile.
func (m *Manager) loseBy(x *match, referee *agent) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.doubt(x, x.fact.LastAttempt(referee.id))
}

// doubt journals, once, that an attempt is lost by a rejected report, with the
// result that the match gets if no other referee conducts it. It returns false if
// the match has a result. M.mu is held.
func (m *Manager) doubt(x *match, attempt int) bool {
	if x.fact.Report != nil || x.fact.Doubted(attempt) {
		return x.fact.Report == nil
	}
	c := x.claims[attempt]
	m.options.Log.Warn().Stringer("match_id", x.id).Str("referee_id", c.report.RefereeID).Str("reason", c.reason).
		Str("event_type", protocol.EventReportRejected).Msg("report rejected; assigning the match to another referee")
	_ = m.record(&journal.MatchDoubted{ // if it cannot be, the journal fails, and with it the manager
		Attempt: x.attempt(attempt), RefereeID: c.report.RefereeID, Reason: c.reason,
		Result: m.bestOf(c.report, [2]string{x.a.id, x.b.id}),
	})
	return true
}

// settleByClaim ends a match with the result of the last doubt about it, when no
// other referee is left to conduct it. It tells whether it did.
func (m *Manager) settleByClaim(x *match) bool {
	m.mu.Lock()
	last := len(x.fact.Doubts) - 1
	if last < 0 || x.fact.Doubts[last].Result == nil || x.fact.Report != nil {
		m.mu.Unlock()
		return false
	}
	d := x.fact.Doubts[last]
	r := &journal.MatchReported{Attempt: d.Attempt, RefereeID: d.RefereeID, Outcome: *d.Result}
	err := m.score(r, x.a.id, x.b.id)
	if err == nil {
		err = m.record(r)
	}
	if err == nil && m.options.Progress != nil {
		m.options.Progress(m.state.Recorded, m.state.TotalMatches())
	}
	m.mu.Unlock()
	if err != nil || m.durable() != nil {
		return false // the journal fails, and with it the manager
	}
	m.options.Log.Warn().Stringer("match_id", x.id).Str("referee_id", r.RefereeID).Str("reason", d.Reason).
		Str("event_type", protocol.EventRejectedReportRecorded).Msg("no other referee available: recording the rejected report")
	m.recorded(x, r)
	return true
}

// bestOf is the result that is recorded of a rejected report: the one that follows
// from its choices and its number, else the one that it claims.
func (m *Manager) bestOf(claimed *journal.MatchReported, ids [2]string) *journal.Outcome {
	r := claimed.Outcome
	r.Choices = protocol.Both(ids[0], m.legal(claimed, ids[0]), ids[1], m.legal(claimed, ids[1]))
	if r.Status == protocol.StatusTechnicalLoss {
		return &r
	}
	if verdict, decided, _ := rules.Follows(m.game, r.Moves(ids), r.DrawnNumber); decided {
		r.WinnerPlayerID, r.Reason = nil, verdict.Reason(ids)
		if winner := verdict.WinnerOf(ids); winner != "" {
			r.WinnerPlayerID = &winner
		}
	}
	r.Status = protocol.StatusDraw
	if r.WinnerPlayerID != nil {
		r.Status = protocol.StatusWin
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

// pings are the pings of both players of a match, sent once a third-party referee
// has reported a double technical loss.
type pings struct {
	judged   chan struct{} // closed when the report that caused them has been judged
	finished bool          // guarded by the manager's lock
	answered bool          // both players answered; guarded by the manager's lock
}

// errPingFirst is no error of a report: the players of its match must be pinged
// before it can be judged.
var errPingFirst = errors.New("the players have not been pinged yet")

// mustPing tells whether a report must wait until the players of its match have
// been pinged: a double technical loss, and any report while pings are under way.
// M.mu is held.
func (m *Manager) mustPing(x *match, doubleLoss bool) bool {
	if x.pings == nil {
		return doubleLoss
	}
	return !x.pings.finished
}

// takeAfterPings is take for a report that must wait for the pings of its players.
// The first such report sends them. The others wait until it has been judged.
func (m *Manager) takeAfterPings(ctx context.Context, q *protocol.MatchResultReport, x *match) (*match, *journal.MatchReported, error) {
	m.mu.Lock()
	first := x.pings == nil
	if first {
		x.pings = &pings{judged: make(chan struct{})}
	}
	p := x.pings
	m.mu.Unlock()
	answered := false
	if first {
		defer close(p.judged)
		answered = m.bothAnswer(context.WithoutCancel(ctx), x) // a referee that hangs up changes nothing
	} else {
		select {
		case <-p.judged:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if first {
		p.finished, p.answered = true, answered
	}
	return m.take(q)
}

// bothAnswer pings both players of a match.
func (m *Manager) bothAnswer(ctx context.Context, x *match) bool {
	var there [2]bool
	var pinging sync.WaitGroup
	for i, p := range [...]*agent{x.a, x.b} {
		pinging.Go(func() { there[i] = m.answering(ctx, p)[0] })
	}
	pinging.Wait()
	return there[0] && there[1]
}

// checkDoubleLoss rejects a double technical loss of players that both answered a
// ping. M.mu is held.
func (m *Manager) checkDoubleLoss(x *match, r *journal.MatchReported) error {
	if x == nil {
		return protocol.Fault(protocol.ErrInvalidMatchState, "the manager has just restarted: report match %s again", r.MatchID)
	}
	if !x.pings.answered {
		return nil
	}
	m.reject(x, r, fmt.Sprintf("it says that %s and %s both failed, but both answer", x.a.id, x.b.id), true)
	return protocol.Fault(protocol.ErrInvalidMatchState, "report rejected: both players answer the manager's ping")
}

// runningMatch is a match of the current round; nil for any other. M.mu is held.
func (m *Manager) runningMatch(id protocol.MatchID) *match {
	if id.Round != m.state.Round || id.Number < 1 || id.Number > len(m.matches) {
		return nil
	}
	return m.matches[id.Number-1]
}
