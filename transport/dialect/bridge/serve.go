package bridge

import (
	"bytes"
	"context"
	"net/netip"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

// A server serves one request.
type server struct {
	*Bridge

	next func(ctx context.Context, body []byte) []byte // serves a request in the form of the specification
}

// serve answers a request in its own form. A request in the form of our agents costs one
// look at its head.
func (s *server) serve(ctx context.Context, from netip.Addr, body []byte) []byte {
	method := dialect.OurMethod(body)
	startsMatches := method == protocol.NotifyRound.Name && s.membership().thirdParty
	if method != "" && !startsMatches {
		response := s.serveSpecForm(ctx, method, body)
		switch {
		case dialect.RefusesField(response):
			return s.serveAgain(ctx, body, response)
		case method == protocol.NotifyRound.Name && dialect.Succeeded(response):
			call, _ := dialect.CutCall(body)
			s.learnGame(protocol.ParseObject(call.Message))
		}
		return response
	}
	q := dialect.ReadRequest(body)
	switch {
	case q != nil && q.PostsAnswer() && s.membership().referee:
		return s.servePostedAnswer(ctx, from, q)
	case q == nil || !q.Resolve():
		return s.next(ctx, body)
	}
	return s.serveRequest(ctx, q, body)
}

// serveSpecForm serves a request in the form of the specification.
func (s *server) serveSpecForm(ctx context.Context, method string, body []byte) []byte {
	switch method {
	case protocol.ReportMatchResult.Name:
		return s.serveReport(ctx, body, s.next)
	case protocol.StartMatch.Name:
		response := s.next(ctx, body)
		s.learnLenience(body, response)
		return response
	}
	return s.next(ctx, body)
}

// serveAgain serves a request in the form of our agents that was rejected for an invalid field,
// if there is a deviation to correct. A rejected request had no effect.
func (s *server) serveAgain(ctx context.Context, body, rejection []byte) []byte {
	q := dialect.ReadRequest(body)
	if q == nil || !q.Resolve() || q.Kind == protocol.TypeMatchAssignment {
		return rejection
	}
	facts := s.facts(q.MatchID())
	if !q.Complete(facts) {
		return rejection
	}
	return s.answer(q, s.serveSpecForm(ctx, q.Method, q.Body()), facts)
}

// serveRequest serves a request in any form.
func (s *server) serveRequest(ctx context.Context, q *dialect.Request, body []byte) []byte {
	if q.Kind == protocol.TypeMatchAssignment || q.Kind == protocol.TypeRoundAnnouncement {
		if response, done := s.serveStart(ctx, q); done {
			return response
		}
	}
	facts := s.facts(q.MatchID())
	if q.Complete(facts) {
		body = q.Body()
	}
	if q.Warning != "" {
		s.warn().Str("sender", dialect.Short(q.Params.Text("sender"))).
			Str("event_type", protocol.EventVersionAssumed).Msg(q.Warning)
	}
	return s.answer(q, s.serveSpecForm(ctx, q.Method, body), facts)
}

// answer translates a response into the form of the request, and learns from it.
func (s *server) answer(q *dialect.Request, response []byte, facts *dialect.Facts) []byte {
	if learn := q.Learn(response, facts); learn != nil {
		s.learnMatch(q.MatchID(), learn)
	}
	if q.Kind == protocol.TypeRoundAnnouncement && dialect.Succeeded(response) {
		s.learnGame(q.Params)
	}
	return q.Answer(response, facts)
}

// learnLenience learns that a match of a lenient league was accepted.
func (a *agent) learnLenience(assignment, response []byte) {
	if !dialect.FromLenientLeague(assignment) || !bytes.Contains(response, []byte(`"status":"`+protocol.StatusAccepted+`"`)) {
		return
	}
	call, _ := dialect.CutCall(assignment)
	if id := protocol.ParseObject(call.Message).Text("match_id"); id != "" {
		a.learnMatch(id, func(m *dialect.Match) { m.Lenient = true })
	}
}
