package bridge

import (
	"context"
	"net/netip"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// A server serves one request.
type server struct {
	*Bridge

	next serveFunc
}

// serve answers a request in its own form. A request of one of our agents costs one look at
// its head. Any other request is put into the form of the specification before it is served.
func (s *server) serve(ctx context.Context, from netip.Addr, body []byte) transport.Answer {
	if method := dialect.OurMethod(body); method != "" {
		return s.serveSpecForm(ctx, method, body)
	}
	q := dialect.ReadRequest(body)
	switch {
	case q != nil && q.PostsAnswer() && s.membership().role == protocol.RoleReferee:
		return s.servePostedAnswer(ctx, from, q)
	case q == nil || !q.Resolve():
		return s.next(ctx, body)
	}
	return s.serveRequest(ctx, q, body)
}

// serveRegistration serves a body that was posted to dialect.RegisterPath. A refusal of a message alone has an HTTP
// status, as its caller has no other way to tell it from an answer.
func (s *server) serveRegistration(ctx context.Context, body []byte) (status int, answer transport.Answer) {
	q := dialect.RegisterRequest(body)
	if q == nil {
		return dialect.StatusOK, s.next(ctx, body)
	}
	answer = s.serveRequest(ctx, q, body)
	if answer.Err != nil && q.Alone() {
		return dialect.StatusBadRequest, answer
	}
	return dialect.StatusOK, answer
}

// serveSpecForm serves a request in the form of the specification.
func (s *server) serveSpecForm(ctx context.Context, method string, body []byte) transport.Answer {
	switch method {
	case protocol.ReportMatchResult.Name:
		return s.serveReport(ctx, body)
	case protocol.StartMatch.Name:
		answer := s.next(ctx, body)
		s.learnLenience(body, answer)
		return answer
	}
	return s.next(ctx, body)
}

// serveRequest serves a request in any form.
func (s *server) serveRequest(ctx context.Context, q *dialect.Request, body []byte) transport.Answer {
	if q.Kind == protocol.TypeMatchAssignment || q.Kind == protocol.TypeRoundAnnouncement {
		if answer, done := s.serveStart(ctx, q); done {
			return answer
		}
	}
	facts := s.facts(q.MatchID())
	if q.Complete(facts) {
		body = q.Body()
	}
	answer := s.serveSpecForm(ctx, q.Method, body)
	if q.Kind == protocol.TypeRoundAnnouncement && answer.Err == nil {
		s.learnGame(q.Params)
	}
	return s.translate(q, answer, facts)
}

// translate puts an answer into the form of the request, and learns from it.
func (s *server) translate(q *dialect.Request, answer transport.Answer, facts *dialect.Facts) transport.Answer {
	body, learn := q.Answer(answer.Body, facts)
	if learn != nil {
		s.learnMatch(q.MatchID(), learn)
	}
	answer.Body = body
	return answer
}

// learnLenience learns that a match of a lenient league was accepted.
func (b *Bridge) learnLenience(assignment []byte, answer transport.Answer) {
	if statusOf(answer) != protocol.StatusAccepted {
		return
	}
	call, _ := dialect.CutCall(assignment)
	match := protocol.ParseObject(call.Message)
	if id := match.Text("match_id"); id != "" && match.Text("auth") == protocol.AuthLenient {
		b.learnMatch(id, func(m *dialect.Match) { m.Lenient = true })
	}
}
