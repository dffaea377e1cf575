package bridge

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

// An awaitedReport is the report for which one request waits.
type awaitedReport struct {
	matchID string
	sent    chan struct{} // closed when report is set
	done    chan struct{} // closed when the manager has answered the report
	report  protocol.MatchResultReport
}

// longestRun is the longest wait for the end of a match. The server allows a little more for
// an answer.
const longestRun = 50 * time.Second

// serveRunMatch serves POST /run_match, with a message alone.
func (s *server) serveRunMatch(ctx context.Context, body []byte) (status int, response []byte) {
	params := protocol.ParseObject(body)
	if params == nil {
		return httpBadRequest, []byte(`{"error":"the body must be a JSON object"}`)
	}
	q := dialect.RunMatchRequest(params)
	response = s.runMatch(ctx, q)
	return q.HTTPStatus(), response
}

// runMatch plays a match, and answers with its result.
func (s *server) runMatch(ctx context.Context, q *dialect.Request) []byte {
	awaited, forget := s.awaitReport(q.Params.Text("match_id"))
	defer forget()
	answer := s.serveRequest(ctx, q, q.Body())
	if awaited == nil || q.HTTPStatus() != httpOK || protocol.ParseObject(answer).Text("status") != protocol.StatusAccepted {
		return answer
	}
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	select {
	case <-awaited.sent:
	case <-ctx.Done(): // the report comes later
		return answer
	}
	ctx, cancel = context.WithTimeout(ctx, soon)
	defer cancel()
	select {
	case <-awaited.done:
	case <-ctx.Done(): // the manager handles one request at a time, and waits for this answer
	}
	return dialect.RunMatchAnswer(&awaited.report)
}

// awaitReport waits for the report of a match, until forget. It returns nil if too many
// requests wait: each occupies one of the requests that the agent serves at once.
func (a *agent) awaitReport(matchID string) (awaited *awaitedReport, forget func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.awaited) >= maxWaiting {
		return nil, func() {}
	}
	awaited = &awaitedReport{matchID: matchID, sent: make(chan struct{}), done: make(chan struct{})}
	a.awaited = append(a.awaited, awaited)
	return awaited, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.awaited = slices.DeleteFunc(a.awaited, func(other *awaitedReport) bool { return other == awaited })
	}
}

// beforeReport gives a report to the requests that wait for it. The caller calls the
// result when the manager has answered.
func (a *agent) beforeReport(body []byte) (answered func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var call struct {
		Params protocol.MatchResultReport `json:"params"`
	}
	if len(a.awaited) == 0 || json.Unmarshal(body, &call) != nil {
		return func() {}
	}
	var given []*awaitedReport
	a.awaited = slices.DeleteFunc(a.awaited, func(awaited *awaitedReport) bool {
		if awaited.matchID != call.Params.MatchID {
			return false
		}
		awaited.report = call.Params
		close(awaited.sent)
		given = append(given, awaited)
		return true
	})
	return func() {
		for _, awaited := range given {
			close(awaited.done)
		}
	}
}
