package bridge

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// An awaitedReport is the report for which one request waits.
type awaitedReport struct {
	matchID string
	report  chan *protocol.MatchResultReport // of one element
}

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
	case report := <-awaited.report:
		answer.Body = dialect.RunMatchAnswer(report)
	case <-ctx.Done(): // the report comes later
	}
	return dialect.StatusOK, answer
}

// awaitReport waits for the report of a match, until forget. It returns nil if too many
// requests wait: each occupies one of the requests that the agent serves at once.
func (b *Bridge) awaitReport(matchID string) (awaited *awaitedReport, forget func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.awaited) >= maxWaiting {
		return nil, func() {}
	}
	awaited = &awaitedReport{matchID, make(chan *protocol.MatchResultReport, 1)}
	b.awaited = append(b.awaited, awaited)
	return awaited, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.awaited = slices.DeleteFunc(b.awaited, func(other *awaitedReport) bool { return other == awaited })
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
	b.awaited = slices.DeleteFunc(b.awaited, func(awaited *awaitedReport) bool {
		if awaited.matchID != call.Params.MatchID {
			return false
		}
		awaited.report <- &call.Params
		return true
	})
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
