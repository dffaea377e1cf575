package bridge

import (
	"context"
	"sync"
	"sync/atomic"

	"evenodd/league/protocol"
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
	seq      int          // among all assignments
}

// assignments are the matches of third-party referees. Safe for concurrent use.
type assignments struct {
	any atomic.Bool // there are some: without a lock

	mu      sync.Mutex
	matches bounded[*assignedMatch] // by match id: the last assignment
	seq     int
}

// maxAssignments bounds the matches that are remembered.
const maxAssignments = 4096

// add adds an assignment. If the referee had the same match before, and no report followed,
// add returns the form in which it had it: that form may not start matches.
func (as *assignments) add(endpoint string, assignment protocol.Object) (m *assignedMatch, fruitless *dialect.Form) {
	m = &assignedMatch{Assigned: dialect.ReadAssignment(assignment), endpoint: endpoint}
	as.mu.Lock()
	defer as.mu.Unlock()
	as.any.Store(true)
	before := as.matches.values[m.MatchID]
	if before != nil && before.endpoint == endpoint && before.accepted && !before.closed {
		f := before.form
		fruitless = &f
	}
	as.seq++
	m.seq = as.seq
	as.matches.set(m.MatchID, m, maxAssignments)
	return m, fruitless
}

// answered remembers the form in which a referee accepted a match, or that it did not. Proven tells
// that it reported the match before it answered.
func (as *assignments) answered(m *assignedMatch, f dialect.Form, accepted bool) (proven bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	m.form, m.accepted, m.closed = f, accepted, m.closed || !accepted
	return accepted && m.reported
}

// report remembers that the manager accepted the report of a match. It returns the endpoint
// of the referee and the form of the assignment if that referee sent the report after it had
// accepted the match.
func (as *assignments) report(report protocol.Object) (endpoint string, f dialect.Form, ok bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	m := as.matches.values[report.Text("match_id")]
	if m == nil || m.closed {
		return "", dialect.Form{}, false
	}
	m.closed, m.reported = true, m.IsReportedBy(dialect.Reporter(report))
	return m.endpoint, m.form, m.accepted && m.reported
}

// of finds the match of a report: the match that it names, else the only one that it can be
// about; nil for none. A match that is closed counts only if no other is open: the
// report is sent again. A referee reports only its own matches.
func (as *assignments) of(report protocol.Object) *assignedMatch {
	reporter, id := dialect.Reporter(report), report.Text("match_id")
	as.mu.Lock()
	defer as.mu.Unlock()
	if id != "" {
		if m := as.matches.values[id]; m != nil && m.IsReportedBy(reporter) {
			return m
		}
		return nil
	}
	var open, closed *assignedMatch
	opens := 0
	for _, m := range as.matches.values {
		if !m.IsReportedBy(reporter) || !m.HasPlayers(report) {
			continue
		}
		switch {
		case !m.closed:
			open = m
			opens++
		case closed == nil || m.seq > closed.seq:
			closed = m
		}
	}
	switch opens {
	case 0:
		return closed
	case 1:
		return open
	}
	return nil // never guess
}

// serveReport serves a report, and completes it first if it is from a third-party referee.
func (b *Bridge) serveReport(ctx context.Context, body []byte, serve func(ctx context.Context, body []byte) []byte) []byte {
	if !b.assigned.any.Load() {
		return serve(ctx, body)
	}
	call, _ := dialect.CutCall(body)
	report := protocol.ParseObject(call.Message)
	if m := b.assigned.of(report); m != nil && report != nil && m.Complete(&report) {
		body = dialect.SpecForm(call.Method).Encode(report.Append(nil), call.ID)
	}
	response := serve(ctx, body)
	if dialect.Succeeded(response) {
		if endpoint, f, ok := b.assigned.report(report); ok {
			b.noteStart(endpoint, f, true)
		}
	}
	return response
}

// assignMatch assigns a match to a referee. A third-party referee gets it in one form
// after the other until it does not reject it; a referee that answers only when the match
// is over has accepted it.
func (c *call) assignMatch(ctx context.Context) (reply, error) {
	if dialect.IsForOurReferee(c.body) {
		r, err := c.postBody(ctx)
		if err != nil || r.Status == httpOK && c.method.IsPlain(r.Body) {
			return r, err
		}
		switch r.Reply = dialect.ReadStart(c.asked.ID, "", r.Status, r.Body); r.Verdict {
		case dialect.Understood:
			return r, nil
		case dialect.Refused, dialect.Unavailable:
			r.Body = withoutTokens(r.Body, tokensIn(c.asked.Message, c.bearer))
			return r, nil
		}
	}
	if c.assignment = protocol.ParseObject(c.asked.Message); c.assignment == nil {
		return c.postBody(ctx)
	}
	var fruitless *dialect.Form
	if c.match, fruitless = c.assigned.add(c.endpoint, c.assignment); fruitless != nil {
		c.noteStart(c.endpoint, *fruitless, false)
	}
	r, err := c.send(ctx)
	accepted := err == nil && r.Verdict == dialect.Understood && r.Message.Text("status") != protocol.StatusBusy
	if c.assigned.answered(c.match, r.form, accepted) {
		c.noteStart(c.endpoint, r.form, true)
	}
	return r, err
}
