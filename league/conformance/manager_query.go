package conformance

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// question is a LEAGUE_QUERY of a member.
func (x *managerExam) question(m *member, kind string, params map[string]any) map[string]any {
	q := message(protocol.TypeLeagueQuery, m.sender(m.id), "conv-check-"+strings.ToLower(kind), m.token)
	q["league_id"], q["query_type"] = x.league, kind
	if params != nil {
		q["query_params"] = params
	}
	return q
}

// askQuery sends a LEAGUE_QUERY of a member.
func (x *managerExam) askQuery(ctx context.Context, m *member, kind string, params map[string]any) *reply {
	return x.ask(ctx, m.dialect, protocol.Query.Name, x.question(m, kind, params))
}

// notAnswered returns why a query was not answered.
func notAnswered(r *reply) string {
	success := r.result["success"].Kind() == 't'
	return firstOf(r.trouble(), when(!success, "success is %s", valueOf(r.result, "success")), inside("data")(&fact{reply: r}))
}

// query sends queries that the manager answers before the league begins, and queries that
// it must refuse.
func (x *managerExam) query(ctx context.Context) {
	p := x.players[0]
	q := x.question(p, protocol.QueryStandings, nil)
	r := x.ask(ctx, p.dialect, protocol.Query.Name, q)
	standings := objectOf(r.result["data"])["standings"]
	problem := firstOf(notAnswered(r), when(standings.Kind() != '[', "data.standings is %s", jsonKind(standings)))
	if r.fault == nil || !beforeStart(r) {
		x.record("query/standings", &fact{reply: r, problem: problem})
	}
	if problem == "" {
		x.recordReply(r, protocol.TypeLeagueQueryResponse, protocol.ManagerSender, "conv-check-get_standings")
	}
	x.record("query/tool", &fact{reply: x.ask(ctx, x.dialect, "get_standings", q)})
	x.record("query/message type", &fact{reply: x.ask(ctx, x.dialect, protocol.TypeLeagueQuery, q)})
	if r = x.askQuery(ctx, p, protocol.QueryPlayerStats, map[string]any{"player_id": p.id}); !beforeStart(r) {
		x.record("query/statistics", &fact{reply: r, problem: notAnswered(r)})
	}
	wrong := func(name string, q map[string]any, code protocol.Code, number int) {
		x.record(name, &fact{reply: x.send(ctx, p.dialect, protocol.Query.Name, q, variation{}), code: code, numbers: []int{number}})
	}
	wrong("query/unknown type", x.question(p, "GET_THE_MOON", nil), protocol.ErrInvalidQueryType, 6002)
	wrong("query/unknown player", x.question(p, protocol.QueryPlayerStats, map[string]any{"player_id": "P9999"}), protocol.ErrPlayerNotRegistered, 3002)
	q = x.question(p, protocol.QueryStandings, nil)
	q["league_id"] = "league_of_nobody"
	wrong("query/other league", q, protocol.ErrLeagueNotFound, 6003)
}

// beforeStart tells whether a query was refused because the league has not begun.
func beforeStart(r *reply) bool { return refusedWith(r, protocol.ErrLeagueNotStarted, 30) == "" }

// queryWithoutRight sends queries without a valid token.
func (x *managerExam) queryWithoutRight(ctx context.Context) {
	p := x.players[0]
	q := x.question(p, protocol.QueryStandings, nil)
	send := func(name string, code protocol.Code, numbers ...int) {
		x.record(name, &fact{reply: x.send(ctx, p.dialect, protocol.Query.Name, q, variation{}), code: code, numbers: numbers})
	}
	delete(q, "auth_token")
	send("token/missing", protocol.ErrTokenMissing, 3001, 6001)
	for _, wrong := range []string{"tok-p01-0000000000000000000000000000000000000000000", p.token + "x", "§ no token"} {
		q["auth_token"] = wrong
		send("token/wrong", protocol.ErrTokenInvalid, 3001, 6001)
	}
	if len(x.players) < 2 {
		x.record("token/of another", &fact{skip: "the league has one player alone before it begins"})
		return
	}
	q["auth_token"] = x.players[1].token
	send("token/of another", protocol.ErrNotAuthorized, 14, 3001, 6001)
}

// queryRunning sends queries that only a league in progress can answer, during the first
// match.
func (x *managerExam) queryRunning(ctx context.Context, m *assignedMatch) {
	p := x.member(func(p *member) bool { return p.id == m.players[0] })
	if p == nil {
		return
	}
	r := x.askQuery(ctx, p, protocol.QuerySchedule, map[string]any{"round_id": m.round})
	missing := !strings.Contains(string(r.result["data"]), m.id)
	x.record("query of the schedule", &fact{reply: r, problem: firstOf(notAnswered(r), when(missing, "match %s of round %d is not in data", m.id, m.round))})
	r = x.askQuery(ctx, p, protocol.QueryNextMatch, map[string]any{"player_id": p.id})
	next := objectOf(objectOf(r.result["data"])["next_match"])
	x.record("query of the next match", &fact{reply: r, problem: firstOf(notAnswered(r), next.filled("match_id"), next.has("opponent_id", m.players[1]),
		when(next["round_id"] == nil, "round_id is missing"))})
}

// queryAfter queries the standings when the league is over. A manager may end with its
// league.
func (x *managerExam) queryAfter(ctx context.Context) {
	if !x.over() || x.givenUp() != "" {
		return
	}
	ended := func(names ...string) {
		for _, name := range names {
			x.record(name, &fact{skip: "the manager has ended with its league"})
		}
	}
	p := x.players[0]
	r := x.send(ctx, p.dialect, protocol.Query.Name, x.question(p, protocol.QueryStandings, nil), variation{once: true})
	if r.Status == 0 {
		ended("query after the end", "standings in the answer", "start after the end")
		return
	}
	problem := notAnswered(r)
	x.record("query after the end", &fact{reply: r, problem: problem})
	if problem != "" {
		return
	}
	x.record("standings in the answer", &fact{reply: r, problem: when(r.result["standings"].Kind() != '[', "standings is %s", jsonKind(r.result["standings"]))})
	x.record("standings", &fact{reply: r, problem: x.standingsProblem(rowsOf(objectOf(r.result["data"])["standings"]), wholeLeague)})
	if r = x.askQuery(ctx, p, protocol.QueryPlayerStats, map[string]any{"player_id": p.id}); r.Status == 0 {
		ended("start after the end")
		return
	}
	x.record("query/statistics", &fact{reply: r, problem: notAnswered(r)})
	if x.options.Admin == "" {
		x.record("start after the end", &fact{skip: "the examination needs the admin token to try"})
		return
	}
	if r = x.start(ctx, "conv-check-start-again", x.options.Admin); r.Status == 0 {
		ended("start after the end")
		return
	}
	x.record("start after the end", &fact{reply: r, code: protocol.ErrLeagueComplete, numbers: []int{31}})
}

// rowsOf returns the objects of an array.
func rowsOf(raw jsontext.Value) []members {
	var rows []members
	if raw.Kind() != '[' || json.Unmarshal(raw, &rows, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return rows
}
