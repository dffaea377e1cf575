package bridge

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/dialect"
	"evenodd/league/protocol"
)

// An awaitedReport is the report of a match for which a request waits.
type awaitedReport struct {
	waiters int
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
	if a.waiters >= maxWaiting {
		return nil, func() {}
	}
	a.waiters++
	awaited = a.awaited[matchID]
	if awaited == nil {
		awaited = &awaitedReport{sent: make(chan struct{}), done: make(chan struct{})}
		a.awaited[matchID] = awaited
	}
	awaited.waiters++
	return awaited, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.waiters--
		if awaited.waiters--; awaited.waiters == 0 && a.awaited[matchID] == awaited {
			delete(a.awaited, matchID)
		}
	}
}

// beforeReport gives a report to the requests that wait for it. The caller calls the
// result when the manager has answered.
func (a *agent) beforeReport(body []byte) (answered func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.awaited) == 0 {
		return func() {}
	}
	var call struct {
		Params protocol.MatchResultReport `json:"params"`
	}
	if json.Unmarshal(body, &call) != nil {
		return func() {}
	}
	id := call.Params.MatchID
	awaited := a.awaited[id]
	if awaited == nil {
		return func() {}
	}
	delete(a.awaited, id)
	awaited.report = call.Params
	close(awaited.sent)
	return func() { close(awaited.done) }
}
