package bridge

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

// A start is a match that our referee must conduct, and for which it had no free slot.
type start struct {
	matchID string
	body    []byte // the assignment in the form of the specification
	serve   func(ctx context.Context, body []byte) []byte
}

// maxWaiting bounds the matches that wait for a free slot. A round has no more.
const maxWaiting = 100

// serveStart makes our referee start the matches of a request in a form that the
// specification does not have. Done is false for any other request.
func (s *server) serveStart(ctx context.Context, q *dialect.Request) (response []byte, done bool) {
	m := s.awaitMembership(ctx)
	announces := q.Kind == protocol.TypeRoundAnnouncement
	switch {
	case m.player, announces && !m.thirdParty:
		return nil, false
	case announces:
		return s.startRound(ctx, q, m)
	case q.TellsEverything():
		return nil, false
	}
	facts := s.facts(q.MatchID())
	q.AcceptAssignment(facts)
	return s.answer(q, s.startMatch(ctx, q.Params.Text("match_id"), q.Body(), m), facts), true
}

// startRound starts the matches of an announced round that this referee conducts.
func (s *server) startRound(ctx context.Context, q *dialect.Request, at membership) ([]byte, bool) {
	if q.Params.Get("matches").Kind() != '[' {
		return nil, false
	}
	failed, failure := 0, protocol.Object{}
	for _, m := range dialect.Announced(q.Params, maxMatches) {
		if forfeited := m.Get("forfeited_by"); !s.conducts(at, m) || forfeited != nil && string(forfeited) != "[]" {
			continue
		}
		for _, name := range []string{"league_id", "round_id", "game_type"} {
			dialect.Fill(&m, name, q.Params.Get(name))
		}
		matchID := m.Text("match_id")
		assignment := dialect.Assignment(m, s.facts(matchID))
		response := s.startMatch(ctx, matchID, dialect.CallBody(protocol.StartMatch.Name, assignment.Append(nil), jsontext.Value("1")), at)
		if f := protocol.ParseObject(response).Object("error"); f != nil {
			failed, failure = failed+1, f
		}
	}
	if failed > 0 { // one line for all: any caller may announce
		s.warn().Int("matches", failed).Str("error", failure.Text("message")).
			Str("event_type", protocol.EventAnnouncedMatchesNotStarted).Msg("matches of an announced round cannot be started")
	}
	if q.ID == nil {
		return nil, true
	}
	facts := s.facts("")
	q.Complete(facts)
	ack, _ := json.Marshal(protocol.Ack{ // always encodes
		Envelope: s.envelope(protocol.TypeRoundAnnouncementAck, protocol.RefereeSender(at.agentID), q.Params.Text("conversation_id")),
		Status:   protocol.StatusAcknowledged, RefereeID: at.agentID, RoundID: q.Params.Integer("round_id"),
	})
	return s.answer(q, dialect.ResultBody(q.ID, ack), facts), true
}

// conducts tells whether an announced match is one of this referee.
func (a *agent) conducts(at membership, match protocol.Object) bool {
	if id := match.Text("referee_id"); id != "" && strings.EqualFold(protocol.AgentOf(id), at.agentID) {
		return true
	}
	endpoint := match.Text("referee_endpoint")
	return endpoint != "" && sameEndpoint(endpoint, a.options.Endpoint)
}

// sameEndpoint tells whether two endpoints are the same.
func sameEndpoint(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	if errX != nil || errY != nil {
		return a == b
	}
	return x.Scheme == y.Scheme && x.Port() == y.Port() && x.Path == y.Path && hostOf(x) == hostOf(y)
}

// startMatch gives our referee a match, or lets the match wait for a free slot: a
// third-party manager does not know that a referee can be busy.
func (s *server) startMatch(ctx context.Context, matchID string, body []byte, at membership) []byte {
	response := s.next(ctx, body)
	o := protocol.ParseObject(response)
	result := o.Object("result")
	if result.Text("status") != protocol.StatusBusy || !at.thirdParty || !s.wait(start{matchID, body, s.next}) {
		return response
	}
	s.startWaiting(context.WithoutCancel(ctx)) // there may be a free slot by now
	result.Set("status", protocol.Quote(protocol.StatusAccepted))
	result.Drop("reason")
	o.Set("result", result.Append(nil))
	return o.Append(nil)
}

// wait lets a match wait for a free slot; false if too many wait.
func (a *agent) wait(s start) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.waiting, func(w start) bool { return w.matchID == s.matchID }) {
		return true
	}
	if len(a.waiting) >= maxWaiting {
		return false
	}
	a.waiting = append(a.waiting, s)
	return true
}

// startWaiting starts waiting matches as long as there are free slots.
func (a *agent) startWaiting(ctx context.Context) {
	a.starting.Lock()
	defer a.starting.Unlock()
	for {
		a.mu.Lock()
		waiting := a.waiting
		a.mu.Unlock()
		if len(waiting) == 0 {
			return
		}
		next := waiting[0]
		if protocol.ParseObject(next.serve(ctx, next.body)).Object("result").Text("status") == protocol.StatusBusy {
			return
		}
		a.mu.Lock()
		a.waiting = slices.DeleteFunc(a.waiting, func(w start) bool { return w.matchID == next.matchID })
		a.mu.Unlock()
	}
}
