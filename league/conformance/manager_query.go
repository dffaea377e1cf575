package conformance

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// question is a LEAGUE_QUERY of a member.
func (x *hearing) question(m *member, kind string, params map[string]any) map[string]any {
	q := message(protocol.TypeLeagueQuery, m.sender(), "conv-check-"+strings.ToLower(kind), m.token)
	q["league_id"], q["query_type"] = x.league, kind
	if params != nil {
		q["query_params"] = params
	}
	return q
}

// answered says why a query was not answered; "" when it was.
func answered(r *reply) string {
	switch {
	case r.trouble() != "":
		return r.trouble()
	case r.result["success"].Kind() != 't':
		return "success is " + valueOf(r.result, "success")
	case objectOf(r.result["data"]) == nil:
		return "data is " + jsonKind(r.result["data"])
	}
	return ""
}

// query asks what can be asked before the league begins, and what cannot be
// answered.
func (x *hearing) query(ctx context.Context) {
	p := x.players[0]
	about := map[string]any{"player_id": p.id}
	const method = "league_query"
	q := x.question(p, protocol.QueryStandings, nil)
	r := x.askOf(ctx, p, method, q)
	problem := answered(r)
	if problem == "" && objectOf(r.result["data"])["standings"].Kind() != '[' {
		problem = "data.standings is " + jsonKind(objectOf(r.result["data"])["standings"])
	}
	if r.fault == nil || !beforeStart(r) {
		x.judge("M-QRY-01", problem, &r.Exchange)
	}
	if problem == "" {
		x.envelope(r.result, protocol.TypeLeagueQueryResponse, protocol.ManagerSender, "conv-check-get_standings", r.at, &r.Exchange)
	}
	r = x.ask(ctx, "get_standings", q)
	x.judge("M-QRY-09", r.trouble(), &r.Exchange)
	r = x.ask(ctx, protocol.TypeLeagueQuery, q)
	x.judge("M-QRY-10", r.trouble(), &r.Exchange)
	r = x.askOf(ctx, p, method, x.question(p, protocol.QueryPlayerStats, about))
	if !beforeStart(r) {
		x.judge("M-QRY-05", answered(r), &r.Exchange)
	}

	r = x.sendOf(ctx, p, method, x.question(p, "GET_THE_MOON", nil))
	x.judge("M-QRY-06", notRefused(r), &r.Exchange)
	x.judge("M-QRY-08", refusedWith(r, protocol.ErrInvalidQueryType, 6002), &r.Exchange)
	r = x.sendOf(ctx, p, method, x.question(p, protocol.QueryPlayerStats, map[string]any{"player_id": "P9999"}))
	x.judge("M-QRY-07", notRefused(r), &r.Exchange)
	x.judge("M-QRY-08", refusedWith(r, protocol.ErrPlayerNotRegistered, 3002), &r.Exchange)
	q = x.question(p, protocol.QueryStandings, nil)
	q["league_id"] = "league_of_nobody"
	r = x.sendOf(ctx, p, method, q)
	x.judge("M-QRY-11", notRefused(r), &r.Exchange)
	x.judge("M-QRY-08", refusedWith(r, protocol.ErrLeagueNotFound, 6003), &r.Exchange)
	x.queryUnproved(ctx)
}

// beforeStart tells whether a query was refused because the league has not begun.
func beforeStart(r *reply) bool {
	return refusedWith(r, protocol.ErrLeagueNotStarted, 30) == ""
}

// queryUnproved asks without the right to.
func (x *hearing) queryUnproved(ctx context.Context) {
	p := x.players[0]
	q := x.question(p, protocol.QueryStandings, nil)
	delete(q, "auth_token")
	r := x.sendOf(ctx, p, "league_query", q)
	x.judge("M-AUT-01", notRefused(r), &r.Exchange)
	x.judge("M-AUT-03", firstOf(refusedBy(r, protocol.ErrTokenMissing, 3001, 6001)), &r.Exchange)
	for _, wrong := range []string{"tok-p01-0000000000000000000000000000000000000000000", p.token + "x", "§ no token"} {
		q["auth_token"] = wrong
		r = x.sendOf(ctx, p, "league_query", q)
		x.judge("M-AUT-02", notRefused(r), &r.Exchange)
		x.judge("M-AUT-03", refusedBy(r, protocol.ErrTokenInvalid, 3001, 6001), &r.Exchange)
	}
	if len(x.players) < 2 {
		x.skip("M-AUT-04", "the league has one player alone before it begins")
		x.skip("M-AUT-05", "the league has one player alone before it begins")
		return
	}
	q["auth_token"] = x.players[1].token
	r = x.sendOf(ctx, p, "league_query", q)
	x.judge("M-AUT-04", notRefused(r), &r.Exchange)
	x.judge("M-AUT-05", refusedBy(r, protocol.ErrNotAuthorized, 14, 3001, 6001), &r.Exchange)
}

// refusedBy is refusedWith for one of several numbers.
func refusedBy(r *reply, code protocol.Code, numbers ...int) string {
	problem := ""
	for _, n := range numbers {
		if problem = refusedWith(r, code, n); problem == "" {
			return ""
		}
	}
	return problem
}

// comeLate registers a player when the league has begun.
func (x *hearing) comeLate(ctx context.Context) {
	method, q := x.registration(false, "Check Latecomer", x.spare.url)
	r := x.sendOf(ctx, x.players[0], method, q)
	x.judge("M-RUN-02", notRefused(r), &r.Exchange)
	problem := refusedWith(r, protocol.ErrLateRegistration, 19)
	if refusedWith(r, protocol.ErrLeagueFull, 2001) == "" {
		problem = ""
	}
	x.judge("M-RUN-03", problem, &r.Exchange)
}

// queryRunning asks what only a league that runs can answer. It is called while
// the first match is being played.
func (x *hearing) queryRunning(ctx context.Context, f *fixture) {
	p := x.member(f.a)
	if p == nil {
		return
	}
	about := map[string]any{"player_id": p.id}
	r := x.askOf(ctx, p, "league_query", x.question(p, protocol.QuerySchedule, map[string]any{"round_id": f.round}))
	problem := answered(r)
	if problem == "" && !strings.Contains(string(r.result["data"]), f.match) {
		problem = fmt.Sprintf("match %s of round %d is not in data", f.match, f.round)
	}
	x.judge("M-QRY-03", problem, &r.Exchange)
	r = x.askOf(ctx, p, "league_query", x.question(p, protocol.QueryNextMatch, about))
	problem = answered(r)
	next := objectOf(objectOf(r.result["data"])["next_match"])
	if problem == "" {
		problem = firstOf(next.filled("match_id"), next.has("opponent_id", f.b), when(next["round_id"] == nil, "round_id is missing"))
	}
	x.judge("M-QRY-04", problem, &r.Exchange)
}

// queryAfter asks for the table when the league is over. A manager may end with
// its league.
func (x *hearing) queryAfter(ctx context.Context) {
	if !x.over() || x.givenUp() != "" {
		return
	}
	p := x.players[0]
	url, body := x.inForm(ctx, p.dialect, protocol.Query.Name, x.encode(x.nextID(), protocol.Query.Name, x.question(p, protocol.QueryStandings, nil)))
	r := read(x.exchange(ctx, http.MethodPost, url, body, nil, x.patience(otherLimit)))
	understoodBy(ctx, protocol.Query.Name, x.encode(jsontext.Value("1"), protocol.Query.Name, map[string]any{}), r)
	if r.Status == 0 {
		x.skip("M-END-05", "the manager has ended with its league")
		x.skip("M-QRY-02", "the manager has ended with its league")
		x.skip("M-END-06", "the manager has ended with its league")
		return
	}
	x.inspect(r, objectOf(body)["id"])
	problem := answered(r)
	x.judge("M-END-05", problem, &r.Exchange)
	if problem != "" {
		return
	}
	x.judge("M-QRY-02", when(r.result["standings"].Kind() != '[', "standings is %s", jsonKind(r.result["standings"])), &r.Exchange)
	x.judge("M-STA-01", x.tableProblem(rowsOf(objectOf(r.result["data"])["standings"]), true), &r.Exchange)
	r = x.askOf(ctx, p, "league_query", x.question(p, protocol.QueryPlayerStats, map[string]any{"player_id": p.id}))
	if r.Status == 0 { // it has ended meanwhile
		x.skip("M-END-06", "the manager has ended with its league")
		return
	}
	x.judge("M-QRY-05", answered(r), &r.Exchange)
	x.startAgain(ctx)
}

// startAgain begins a league that is over.
func (x *hearing) startAgain(ctx context.Context) {
	if x.options.Admin == "" {
		x.skip("M-END-06", "it takes the admin token to try")
		return
	}
	r := x.ask(ctx, "start_league", message("START_LEAGUE", protocol.ManagerSender, "conv-check-start-again", x.options.Admin))
	if r.Status == 0 {
		x.skip("M-END-06", "the manager has ended with its league")
		return
	}
	x.judge("M-END-06", refusedWith(r, protocol.ErrLeagueComplete, 31), &r.Exchange)
}

// rowsOf are the objects of an array.
func rowsOf(raw jsontext.Value) []members {
	var rows []members
	if raw.Kind() != '[' || json.Unmarshal(raw, &rows, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return rows
}
