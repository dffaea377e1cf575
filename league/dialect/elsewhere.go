package dialect

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// serveElsewhere answers requests at the two other paths that third-party agents use:
// /run_match, with a message alone, and /create_schedule.
func (o *own) serveElsewhere(ctx context.Context, path string, body []byte, serve func(ctx context.Context, body []byte) []byte) (status int, answer []byte) {
	name := strings.TrimPrefix(path, "/")
	switch name {
	case "create_schedule":
		return o.schedule(ctx, serve)
	case "run_match":
	default:
		return httpNotFound, nil
	}
	params := objectOf(body)
	if params == nil {
		return httpBadRequest, object{{"error", quoted("the body must be a JSON object")}}.appendTo(nil)
	}
	q := &incoming{id: jsontext.Value("1"), named: name, params: params, wrapped: inNothing}
	q.resolve()
	answer = o.conduct(ctx, q, serve)
	return q.status(), answer
}

// status is what HTTP says to one whose message stood alone.
func (q *incoming) status() int {
	switch q.refused {
	case 0:
		return httpOK
	case -32601:
		return httpNotFound
	case 3001, 4001, 5001, noToken:
		return httpUnauthorized
	}
	return httpBadRequest
}

// An outcome is the report of a match that somebody waits for.
type outcome struct {
	waiting  int
	told     chan struct{} // closed when report is there
	answered chan struct{} // closed when the manager has had it
	report   protocol.MatchResultReport
}

// longest is how long somebody waits for the end of a match: somewhat less than
// the server has for an answer.
const longest = 50 * time.Second

// conduct has a match played, and answers with its result.
func (o *own) conduct(ctx context.Context, q *incoming, serve func(ctx context.Context, body []byte) []byte) []byte {
	matchID := q.params.text("match_id")
	awaited, forget := o.expect(matchID)
	defer forget()
	answer := o.answer(ctx, q, q.canonical(), serve)
	if said := objectOf(answer); awaited == nil || q.refused != 0 || said.text("status") != protocol.StatusAccepted {
		return answer
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	select {
	case <-awaited.told:
	case <-ctx.Done(): // the report tells it later
		return answer
	}
	ctx, cancel = context.WithTimeout(ctx, soon)
	defer cancel()
	select {
	case <-awaited.answered:
	case <-ctx.Done(): // the manager does one thing at a time, and waits for this answer
	}
	return resultFor(&awaited.report)
}

// expect waits for the report of a match, until forget. Nil when too many wait:
// each of them takes a place among the calls that the agent answers at once.
func (o *own) expect(matchID string) (awaited *outcome, forget func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.expecting >= maxWaiting {
		return nil, func() {}
	}
	o.expecting++
	awaited = o.results[matchID]
	if awaited == nil {
		awaited = &outcome{told: make(chan struct{}), answered: make(chan struct{})}
		o.results[matchID] = awaited
	}
	awaited.waiting++
	return awaited, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.expecting--
		if awaited.waiting--; awaited.waiting == 0 && o.results[matchID] == awaited {
			delete(o.results, matchID)
		}
	}
}

// reporting tells a result to those who wait for it, and, when what it returns is
// called, that it has been reported.
func (o *own) reporting(request []byte) (reported func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.results) == 0 {
		return func() {}
	}
	var call struct {
		Params protocol.MatchResultReport `json:"params"`
	}
	if json.Unmarshal(request, &call) != nil {
		return func() {}
	}
	awaited := o.results[call.Params.MatchID]
	if awaited == nil {
		return func() {}
	}
	delete(o.results, call.Params.MatchID)
	awaited.report = call.Params
	close(awaited.told)
	return func() { close(awaited.answered) }
}

// resultFor is the result of a match as those hear it who wait for it.
func resultFor(report *protocol.MatchResultReport) []byte {
	result := protocol.GameResult{WinnerPlayerID: report.Result.Winner}
	if d := report.Result.Details; d != nil {
		result.Status, result.Reason, result.Faults = d.Status, d.Reason, d.Faults
		result.DrawnNumber, result.Choices = d.DrawnNumber, d.Choices
		if n := d.DrawnNumber; n != nil {
			parity := [2]string{"even", "odd"}[*n%2]
			result.NumberParity = &parity
		}
	}
	return object{
		{"match_id", quoted(report.MatchID)}, {"winner", encoded(report.Result.Winner)}, {"result", encoded(result)},
	}.appendTo(nil)
}

// maxRounds is how many rounds a schedule is read of.
const maxRounds = 1000

// schedule answers with all rounds of the league that a manager runs, of one
// query each.
func (o *own) schedule(ctx context.Context, serve func(ctx context.Context, body []byte) []byte) (status int, answer []byte) {
	list, asker := []byte{'['}, nameless
	for round, rounds := 1, 1; round <= min(rounds, maxRounds); round++ {
		q := &incoming{id: jsontext.Value("1"), method: protocol.Query.Name, wrapped: inNothing, params: o.scheduleQuery(asker, round)}
		response := objectOf(serve(ctx, q.canonical()))
		result := objectOf(response.get("result"))
		if failure := response.object("error"); asker == nameless && failure.number("code") == noToken {
			asker = protocol.PlayerID(1) // a lenient league tells its players without a token
			round--
			continue
		}
		if result == nil {
			answer = q.refuse(response, nil)
			return q.status(), answer
		}
		if failure := objectOf(result.get("error")); failure != nil {
			failure.fill("error", failure.get("error_name"))
			return httpBadRequest, failure.appendTo(nil)
		}
		data := objectOf(result.get("data"))
		rounds = data.number("rounds")
		for _, m := range announced(data) {
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, object{
				{"match_id", m.get("match_id")}, {"round_id", m.get("round_id")},
				{"player_A_id", m.get("player_A_id")}, {"player_B_id", m.get("player_B_id")},
			}.appendTo(nil)...)
		}
	}
	return httpOK, object{{"schedule", append(list, ']')}}.appendTo(nil)
}

// noToken is the code of JSON-RPC for a query without a token, or with a wrong one
// (004 §7).
const noToken = 6001

// scheduleQuery asks for a round. A credential beside the message says who asks.
func (o *own) scheduleQuery(asker string, round int) object {
	query := protocol.LeagueQuery{
		Envelope: protocol.Envelope{
			Protocol: protocol.Name, MessageType: protocol.TypeLeagueQuery, Sender: protocol.PlayerSender(asker),
			Timestamp: o.options.Clock.Timestamp(), ConversationID: "conv-create-schedule",
		},
		LeagueID: o.options.League, QueryType: protocol.QuerySchedule,
		QueryParams: protocol.QueryParams{RoundID: protocol.QueryRound(round)},
	}
	if query.LeagueID == "" {
		query.LeagueID = usualLeague
	}
	params := objectOf(encoded(query))
	return params
}
