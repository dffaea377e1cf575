package bridge

import (
	"context"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// An assignedMatch is a match that the manager assigned to a third-party referee.
type assignedMatch struct {
	dialect.Assigned
	endpoint string // of the referee

	form     dialect.Form // of the last assignment
	accepted bool         // in that form
	closed   bool         // it has a result, or the referee did not accept it
	reported bool         // by the referee
}

// assign adds an assignment. If the referee had the same match before, and no report
// followed, the form in which it had it may not start matches.
func (b *Bridge) assign(endpoint string, assignment protocol.Object) *assignedMatch {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &assignedMatch{Assigned: dialect.ReadAssignment(assignment), endpoint: endpoint}
	before := b.assigned.values[m.MatchID]
	if before != nil && before.endpoint == endpoint && before.accepted && !before.closed {
		b.noteStart(endpoint, before.form, false)
	}
	b.assigned.set(m.MatchID, m)
	return m
}

// answered remembers the form in which a referee accepted a match, or that it did not. The
// referee may have reported the match before it answered.
func (b *Bridge) answered(m *assignedMatch, f dialect.Form, accepted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m.form, m.accepted, m.closed = f, accepted, m.closed || !accepted
	if accepted && m.reported {
		b.noteStart(m.endpoint, f, true)
	}
}

// reported remembers that the manager accepted the report of a match. If its referee sent
// the report after it had accepted the match, the form of the assignment starts matches.
func (b *Bridge) reported(report protocol.Object) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.assigned.values[report.Text("match_id")]
	if m == nil || m.closed {
		return
	}
	m.closed, m.reported = true, m.IsReportedBy(dialect.Reporter(report))
	if m.accepted && m.reported {
		b.noteStart(m.endpoint, m.form, true)
	}
}

// matchOf finds the match of a report: the match that it names, else the only one that it can
// be about; nil for none. A match that is closed counts only if no other is open: the
// report is sent again. A referee reports only its own matches.
func (b *Bridge) matchOf(report protocol.Object) *assignedMatch {
	reporter, id := dialect.Reporter(report), report.Text("match_id")
	b.mu.Lock()
	defer b.mu.Unlock()
	if id != "" {
		if m := b.assigned.values[id]; m != nil && m.IsReportedBy(reporter) {
			return m
		}
		return nil
	}
	var found *assignedMatch
	opens := 0
	for _, id := range b.assigned.keys { // in the order of the assignments
		switch m := b.assigned.values[id]; {
		case !m.IsReportedBy(reporter) || !m.HasPlayers(report):
		case !m.closed:
			found = m
			opens++
		case opens == 0:
			found = m
		}
	}
	if opens > 1 {
		return nil // never guess
	}
	return found
}

// serveReport serves a report, and completes it first if it is from a third-party referee.
func (s *server) serveReport(ctx context.Context, body []byte) transport.Answer {
	call, _ := dialect.CutCall(body)
	report := protocol.ParseObject(call.Message)
	if m := s.matchOf(report); m != nil && report != nil && m.Complete(&report) {
		body = dialect.SpecForm(call.Method).Encode(report.Append(nil), call.ID)
	}
	answer := s.next(ctx, body)
	if answer.Err == nil {
		s.reported(report)
	}
	return answer
}

// assignMatch assigns a match to a referee. A third-party referee gets it in one form
// after the other until it does not reject it; a referee that answers only when the match
// is over has accepted it.
func (c *call) assignMatch(ctx context.Context) (reply, error) {
	if dialect.IsForOurReferee(c.body) {
		r, err := c.attempt(ctx, dialect.SpecForm(c.method.Name))
		if err != nil || r.Verdict != dialect.Rejected {
			return r, err
		}
	}
	c.assignment = protocol.ParseObject(c.asked.Message)
	c.match = c.assign(c.Endpoint, c.assignment)
	r, err := c.send(ctx)
	accepted := err == nil && r.Verdict == dialect.Understood && r.Message.Text("status") != protocol.StatusBusy
	c.answered(c.match, r.form, accepted)
	return r, err
}
