package bridge

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// A start is a match that our referee must conduct, and for which it had no free slot.
type start struct {
	matchID string
	body    []byte // the assignment in the form of the specification
	serve   serveFunc
}

// maxWaiting bounds the matches that wait for a free slot. A round has no more.
const maxWaiting = 100

// serveStart makes our referee start the matches of a request in a form that the
// specification does not have. Done is false for any other request.
func (s *server) serveStart(ctx context.Context, q *dialect.Request) (answer transport.Answer, done bool) {
	m := s.awaitMembership(ctx)
	announces := q.Kind == protocol.TypeRoundAnnouncement
	switch {
	case m.role == protocol.RolePlayer, announces && !m.thirdParty:
		return transport.Answer{}, false
	case announces:
		return s.startRound(ctx, q, m)
	case q.TellsEverything():
		return transport.Answer{}, false
	}
	facts := s.facts(q.MatchID())
	q.Params, q.ThirdParty, q.Method = dialect.Assignment(q.Params, facts), true, protocol.StartMatch.Name
	return s.translate(q, s.startMatch(ctx, q.Params, q.ID, m), facts), true
}

// startRound starts the matches of an announced round that this referee conducts.
func (s *server) startRound(ctx context.Context, q *dialect.Request, at membership) (
	answer transport.Answer, done bool,
) {
	if q.Params.Get("matches").Kind() != '[' {
		return answer, false
	}
	failed, failure := 0, error(nil)
	for _, m := range dialect.Announced(q.Params) {
		if forfeited := m.Get("forfeited_by"); !s.conducts(at, m) || forfeited != nil && string(forfeited) != "[]" {
			continue
		}
		for _, name := range []string{"league_id", "round_id", "game_type"} {
			m.Fill(name, q.Params.Get(name))
		}
		assignment := dialect.Assignment(m, s.facts(m.Text("match_id")))
		one := s.startMatch(ctx, assignment, jsontext.Value("1"), at)
		answer.Calls += one.Calls
		if one.Err != nil {
			failed, failure = failed+1, one.Err
		}
	}
	if failed > 0 { // one line for all: any caller may announce
		s.warn().Int("matches", failed).Err(failure).
			Str("event_type", "MATCHES_NOT_STARTED").Msg("matches of an announced round cannot be started")
	}
	if q.ID == nil {
		return answer, true
	}
	facts := s.facts("")
	q.Complete(facts)
	sender, conversation := protocol.RefereeSender(at.agentID), q.Params.Text("conversation_id")
	ack, _ := json.Marshal(protocol.Ack{ // always encodes
		Envelope: s.envelope(protocol.NotifyRound.Result, sender, conversation),
		Status:   protocol.StatusAcknowledged, RefereeID: at.agentID, RoundID: q.Params.Integer("round_id"),
	})
	answer.Body = transport.ResultBody(ack, q.ID)
	return s.translate(q, answer, facts), true
}

// conducts tells whether an announced match is one of this referee.
func (b *Bridge) conducts(at membership, match protocol.Object) bool {
	if id := match.Text("referee_id"); id != "" && strings.EqualFold(protocol.AgentOf(id), at.agentID) {
		return true
	}
	endpoint := match.Text("referee_endpoint")
	return endpoint != "" && protocol.SameEndpoint(endpoint, b.options.Endpoint)
}

// startMatch gives our referee a match, or lets the match wait for a free slot: a
// third-party manager does not know that a referee can be busy.
func (s *server) startMatch(
	ctx context.Context, assignment protocol.Object, id jsontext.Value, at membership,
) transport.Answer {
	body := dialect.CallBody(protocol.StartMatch.Name, assignment.Append(nil), id)
	answer := s.next(ctx, body)
	if statusOf(answer) != protocol.StatusBusy || !at.thirdParty ||
		!s.wait(start{assignment.Text("match_id"), body, s.next}) {
		return answer
	}
	s.startWaiting(context.WithoutCancel(ctx)) // there may be a free slot by now
	accepted := *answer.Result.(*protocol.MatchAssignmentAck)
	accepted.Status, accepted.Reason = protocol.StatusAccepted, ""
	text, _ := json.Marshal(accepted) // always encodes
	answer.Result, answer.Body = &accepted, transport.ResultBody(text, id)
	return answer
}

// statusOf is the status with which our referee answered an assignment; "" for another answer.
func statusOf(answer transport.Answer) string {
	if ack, _ := answer.Result.(*protocol.MatchAssignmentAck); ack != nil {
		return ack.Status
	}
	return ""
}

// wait lets a match wait for a free slot; false if too many wait.
func (b *Bridge) wait(s start) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.waiting, func(w start) bool { return w.matchID == s.matchID }) {
		return true
	}
	if len(b.waiting) >= maxWaiting {
		return false
	}
	b.waiting = append(b.waiting, s)
	return true
}

// startWaiting starts waiting matches as long as there are free slots.
func (b *Bridge) startWaiting(ctx context.Context) {
	b.starting.Lock()
	defer b.starting.Unlock()
	for {
		b.mu.Lock()
		waiting := b.waiting
		b.mu.Unlock()
		if len(waiting) == 0 {
			return
		}
		next := waiting[0]
		if statusOf(next.serve(ctx, next.body)) == protocol.StatusBusy {
			return
		}
		b.mu.Lock()
		b.waiting = slices.DeleteFunc(b.waiting, func(w start) bool { return w.matchID == next.matchID })
		b.mu.Unlock()
	}
}

// An awaitedReport receives the report for which one request waits.
type awaitedReport = chan *protocol.MatchResultReport // of one element

// longestRun is the longest wait for the end of a match. The server allows a little more for
// an answer.
const longestRun = 50 * time.Second

// serveRunMatch serves POST /run_match, with a message alone: it plays a match, and answers
// with its result.
func (s *server) serveRunMatch(ctx context.Context, body []byte) (status int, answer transport.Answer) {
	params := protocol.ParseObject(body)
	if params == nil {
		return dialect.StatusBadRequest, transport.Answer{Body: []byte(`{"error":"the body must be a JSON object"}`)}
	}
	q := dialect.RunMatchRequest(params)
	awaited, forget := s.awaitReport(params.Text("match_id"))
	defer forget()
	answer = s.serveRequest(ctx, q, q.Body())
	switch {
	case answer.Err != nil:
		return dialect.StatusBadRequest, answer
	case awaited == nil || statusOf(answer) != protocol.StatusAccepted:
		return dialect.StatusOK, answer
	}
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	select {
	case report := <-awaited:
		answer.Body = dialect.RunMatchAnswer(report)
	case <-ctx.Done(): // the report comes later
	}
	return dialect.StatusOK, answer
}

// awaitReport waits for the report of a match, until forget. It returns nil if too many
// requests wait: each occupies one of the requests that the agent serves at once.
func (b *Bridge) awaitReport(matchID string) (awaited awaitedReport, forget func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.awaited) >= maxWaiting {
		return nil, func() {}
	}
	awaited = make(awaitedReport, 1)
	b.awaited[awaited] = matchID
	return awaited, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.awaited, awaited)
	}
}

// beforeReport gives a report to the requests that wait for it. A manager that serves one
// request at a time accepts the report only afterwards.
func (b *Bridge) beforeReport(body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var call struct {
		Params protocol.MatchResultReport `json:"params"`
	}
	if len(b.awaited) == 0 || json.Unmarshal(body, &call) != nil {
		return
	}
	for awaited, matchID := range b.awaited {
		if matchID == call.Params.MatchID {
			awaited <- &call.Params
			delete(b.awaited, awaited)
		}
	}
}

// maxRounds is the largest number of rounds in a schedule.
const maxRounds = 1000

// A scheduledMatch is a match in the answer to /create_schedule.
type scheduledMatch struct {
	MatchID   string `json:"match_id"`
	RoundID   int    `json:"round_id"`
	PlayerAID string `json:"player_A_id"`
	PlayerBID string `json:"player_B_id"`
}

// serveSchedule serves POST /create_schedule: all rounds of the league of our manager, with
// one query each.
func (s *server) serveSchedule(ctx context.Context) (status int, answer transport.Answer) {
	schedule, player := []scheduledMatch{}, dialect.Unknown
	for round, rounds := 1, 1; round <= min(rounds, maxRounds); round++ {
		query, _ := json.Marshal(protocol.LeagueQuery{ // always encodes
			Envelope: s.envelope(protocol.TypeLeagueQuery, protocol.PlayerSender(player), "conv-create-schedule"),
			LeagueID: cmp.Or(s.options.League, dialect.UsualLeague), QueryType: protocol.QuerySchedule,
			QueryParams: protocol.QueryParams{RoundID: protocol.QueryRound(round)},
		})
		one := s.next(ctx, dialect.CallBody(protocol.Query.Name, query, jsontext.Value("1")))
		answer.Calls += one.Calls
		fault := protocol.AsError(one.Err)
		if fault != nil && fault.Code == protocol.ErrTokenMissing && player == dialect.Unknown {
			player = league.PlayerID(1) // a lenient league answers its players without a token
			round--
			continue
		}
		response, _ := one.Result.(*protocol.LeagueQueryResponse)
		switch {
		case response == nil:
			answer.Body = dialect.BareError(one.Body)
			return dialect.StatusBadRequest, answer
		case response.Error != nil:
			refusal := map[string]any{"error": response.Error.ErrorName, "error_code": response.Error.ErrorCode}
			answer.Body, _ = json.Marshal(refusal, json.Deterministic(true))
			return dialect.StatusBadRequest, answer
		}
		data, _ := response.Data.(protocol.ScheduleData)
		rounds = data.Rounds
		for _, m := range data.Matches {
			schedule = append(schedule, scheduledMatch{m.MatchID, m.RoundID, m.PlayerAID, m.PlayerBID})
		}
	}
	answer.Body, _ = json.Marshal(map[string]any{"schedule": schedule}) // always encodes
	return dialect.StatusOK, answer
}
