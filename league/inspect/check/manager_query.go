package check

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
	p, unauthorized := x.players[0], []int{3001, 6001}
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
	x.sendBroken(ctx, p, protocol.Query.Name, q,
		breach{"query/unknown type", protocol.ErrInvalidQueryType, []int{6002}, "query_type", "GET_THE_MOON"},
		breach{"query/other league", protocol.ErrLeagueNotFound, []int{6003}, "league_id", "league_of_nobody"},
		breach{"token/missing", protocol.ErrTokenMissing, unauthorized, "auth_token", nil},
		breach{"token/wrong", protocol.ErrTokenInvalid, unauthorized, "auth_token", "tok-p01-0000000000000000000000000000000000000000000"},
		breach{"token/wrong", protocol.ErrTokenInvalid, unauthorized, "auth_token", p.token + "x"},
		breach{"token/wrong", protocol.ErrTokenInvalid, unauthorized, "auth_token", "§ no token"})
	x.sendBroken(ctx, p, protocol.Query.Name, x.question(p, protocol.QueryPlayerStats, nil),
		breach{"query/unknown player", protocol.ErrPlayerNotRegistered, []int{3002}, "query_params", map[string]any{"player_id": "P9999"}})
	if len(x.players) < 2 {
		x.record("token/of another", &fact{skip: "the league has one player alone before it begins"})
		return
	}
	x.sendBroken(ctx, p, protocol.Query.Name, q,
		breach{"token/of another", protocol.ErrNotAuthorized, append(unauthorized, 14), "auth_token", x.players[1].token})
}

// beforeStart tells whether a query was refused because the league has not begun.
func beforeStart(r *reply) bool { return refusedWith(r, protocol.ErrLeagueNotStarted, 30) == "" }

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
	defer func() { // no skip replaces a finding
		for _, name := range []string{"query after the end", "standings in the answer", "start after the end"} {
			x.record(name, &fact{skip: "the manager has ended with its league, or answers no query after it"})
		}
	}()
	p := x.players[0]
	r := x.send(ctx, p.dialect, protocol.Query.Name, x.question(p, protocol.QueryStandings, nil), variation{once: true})
	if r.Status == 0 {
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
		return
	}
	x.record("query/statistics", &fact{reply: r, problem: notAnswered(r)})
	if x.options.Admin == "" {
		x.record("start after the end", &fact{skip: "the examination needs the admin token to try"})
		return
	}
	if r = x.start(ctx, "conv-check-start-again", x.options.Admin); r.Status != 0 {
		x.record("start after the end", &fact{reply: r, code: protocol.ErrLeagueComplete, numbers: []int{31}})
	}
}

// rowsOf returns the objects of an array.
func rowsOf(raw jsontext.Value) []members {
	var rows []members
	if raw.Kind() != '[' || json.Unmarshal(raw, &rows, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return rows
}
