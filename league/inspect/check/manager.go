package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/lists"
	"evenodd/league/protocol"
)

// A managerExam is the examination of a manager. The kit is all agents of a league, from
// the first registration to the end.
type managerExam struct {
	*exam

	spare *fakeAgent // the endpoint of applicants that the manager must refuse

	players    []*member
	referees   []*member
	applicants int
	league     string
	stopped    string // why the rest of the league is unknown; "" if it is not

	playing  atomic.Int64  // matches in progress
	complete chan struct{} // closed after the last registration: a match may come before the answer to it

	mu      sync.Mutex
	matches []*assignedMatch // in the order of assignment
}

// A member is an agent of the kit that the manager has registered.
type member struct {
	*fakeAgent
	membership
	id, token    string
	registration object // the message; nil if it must not be repeated
	// redirected tells that the manager took a registration whose endpoint is not that of the kit's agent: messages to
	// this member may not arrive.
	redirected bool
	late       bool // it registered after the start: it may be in the table, or not
}

// scenarios send requests that the manager must refuse before the last registration, which
// begins the league.
func (x *managerExam) scenarios() []scenario {
	return []scenario{
		{[]string{"wire"}, x.examineServer},
		{[]string{"register", "refusal", "token", "query", "begin", play}, x.register},
		{[]string{"wire", "misuse"}, x.misuse}, {[]string{"query", "begin", play}, x.run},
	}
}

// register registers the agents of the kit, all but the last, and sends registrations and
// queries that the manager must refuse.
func (x *managerExam) register() {
	if !x.registerFirst() {
		x.absent = "the manager registers no agents: examine it with a fresh league, that waits for players and referees"
		return
	}
	if x.needs("refusal") {
		x.applyWrongly()
	}
	x.registerFurther()
	x.query()
}

// run runs the league from its start to its end.
func (x *managerExam) run() {
	if !x.begin() {
		return
	}
	x.registerLate()
	x.follow()
	if x.life.Err() != nil && !x.over() {
		return // the rest of the league is unknown
	}
	// The answers to the last reports may come after the end of the league.
	x.await(otherLimit, func() bool { return x.playing.Load() == 0 })
	x.recordLeague()
}

func answerPlayer(c *call) response { return acknowledge(c, Player, c.to.identity()) }

// answer answers the calls to a referee, which conducts the assigned matches.
func (x *managerExam) answer(c *call) response {
	if c.kind == protocol.TypeMatchAssignment {
		return x.assigned(c)
	}
	return acknowledge(c, Referee, c.to.identity())
}

// begin begins the league, and tells whether it began.
func (x *managerExam) begin() bool {
	x.reportEarly()
	x.startWithoutRight()
	complete := len(x.players) >= x.Players || x.announced() || x.registerPlayer()
	close(x.complete)
	if !complete {
		return false
	}
	if x.Admin != "" {
		x.awaitPings()
		r := x.start(x.Admin)
		if problem := r.trouble(); problem != "" && !x.announced() {
			x.record("begin/league", &fact{reply: r, about: "start_league", problem: problem})
			x.giveUp("the league did not begin: " + problem)
			return false
		}
	}
	if x.await(x.Wait, x.announced) {
		x.show("begin/league", nil)
		return true
	}
	if x.life.Err() == nil {
		x.giveUp(fmt.Sprintf("the league did not begin: no round and no match within %s of %d players and %d referees "+
			"registering; say how many it waits for, or give the examination the admin token", x.Wait, len(x.players),
			len(x.referees)))
	}
	return false
}

// start calls start_league with a token; "" is none.
func (x *managerExam) start(token string) *reply {
	return x.host.ask(message("START_LEAGUE", protocol.ManagerSender, "conv-check-start", token))
}

// maxPinging is the time to wait for the manager to ping its agents before the kit starts
// the league. A manager that pings may leave out agents that have not answered yet; most
// managers do not ping.
const maxPinging = 2 * time.Second

// awaitPings waits until the manager awaits no agent any more by GET_STATUS.
func (x *managerExam) awaitPings() {
	end := time.Now().Add(maxPinging)
	for p := x.players[0]; time.Now().Before(end) && rest(x.life, 20*time.Millisecond); {
		awaited := objectOf(p.ask(x.question(p, protocol.QueryStatus, nil)).result["data"])["awaited"]
		if awaited.Kind() != '[' || len(awaited) == len("[]") {
			return
		}
	}
}

// members returns the players and the referees.
func (x *managerExam) members() []*member { return slices.Concat(x.players, x.referees) }

// present are the players that get the messages of the whole league.
func (x *managerExam) present() []*member {
	return lists.Filter(x.players, func(p *member) bool { return !p.redirected && !p.late })
}

// announced tells whether the manager has sent a message of a league that has begun.
func (x *managerExam) announced() bool {
	return len(x.of(protocol.TypeRoundAnnouncement))+len(x.of(protocol.TypeMatchAssignment)) > 0
}

// startWithoutRight tries to begin the league without the admin token.
func (x *managerExam) startWithoutRight() {
	for token, code := range map[string]protocol.Code{
		"": protocol.ErrTokenMissing, strings.Repeat("0", 43): protocol.ErrTokenInvalid,
		x.players[0].token: protocol.ErrTokenInvalid,
	} {
		r := x.start(token)
		x.record("begin/without right", &fact{reply: r, code: code,
			problem: when(r.hasCode(codeUnknownMethod), "%s", skipped("it has no start_league"))})
	}
}

// maxStill is the time without a message after which the kit leaves the league.
const maxStill = 30 * time.Second

// follow waits for the league to end.
func (x *managerExam) follow() {
	calls := func() int { return len(x.received(func(*call) bool { return true })) }
	for moving := true; moving && !x.over(); {
		seen := calls()
		moving = x.await(maxStill, func() bool { return x.over() || calls() > seen })
	}
	if !x.over() && x.life.Err() == nil {
		x.stopped = fmt.Sprintf("the league stopped: no message came within %s", maxStill)
	}
}

// over tells whether all players know that the league is over.
func (x *managerExam) over() bool {
	return !slices.ContainsFunc(x.present(), func(p *member) bool {
		return !slices.ContainsFunc(p.received(protocol.TypeLeagueCompleted), func(c *call) bool { return c.answered })
	})
}

// question is a LEAGUE_QUERY of a member.
func (x *managerExam) question(m *member, kind string, params object) object {
	q := message(protocol.TypeLeagueQuery, m.sender(m.id), "conv-check-"+strings.ToLower(kind), m.token)
	q["league_id"], q["query_type"] = x.league, kind
	if params != nil {
		q["query_params"] = params
	}
	return q
}

// notAnswered returns why a query was not answered.
func notAnswered(r *reply) string {
	success, data := r.result["success"].Kind() == 't', r.result["data"]
	return cmp.Or(r.trouble(), when(!success, "success is %s", valueOf(r.result, "success")),
		when(data.Kind() != '{', "data is %s", jsonKind(data)))
}

// query sends queries that the manager answers before the league begins, and queries that
// it must refuse.
func (x *managerExam) query() {
	p := x.players[0]
	q := x.question(p, protocol.QueryStandings, nil)
	r := p.ask(q)
	standings := objectOf(r.result["data"])["standings"]
	problem := cmp.Or(notAnswered(r), when(standings.Kind() != '[', "data.standings is %s", jsonKind(standings)))
	if refusedWith(r, protocol.ErrLeagueNotStarted) != "" {
		x.show("query/standings", r, problem)
	}
	if problem == "" {
		x.recordReply(r)
	}
	p.sendBroken(q,
		breach{"query/refusal", "query_type", "GET_THE_MOON", protocol.ErrInvalidQueryType},
		breach{"query/refusal", "league_id", "league_of_nobody", protocol.ErrLeagueNotFound},
		breach{"token/missing", "auth_token", nil, protocol.ErrTokenMissing},
		breach{"token/wrong", "auth_token", p.token + "x", protocol.ErrTokenInvalid},
		breach{"token/wrong", "auth_token", "§ no token", protocol.ErrTokenInvalid})
	p.sendBroken(x.question(p, protocol.QueryPlayerStats, nil), breach{"query/refusal", "query_params",
		object{"player_id": "P9999"}, protocol.ErrPlayerNotRegistered})
	if len(x.players) < 2 {
		x.miss("the league has one player alone before it begins", "token/of another")
		return
	}
	p.sendBroken(q, breach{"token/of another", "auth_token", x.players[1].token, protocol.ErrNotAuthorized})
}

// queryRunning sends queries that only a league in progress can answer, during the first
// match.
func (x *managerExam) queryRunning(m *assignedMatch) {
	p := x.member(m.players[0])
	if p == nil {
		return
	}
	r := p.ask(x.question(p, protocol.QuerySchedule, object{"round_id": m.round}))
	missing := !strings.Contains(string(r.result["data"]), m.id)
	x.show("query/schedule", r, notAnswered(r), when(missing, "match %s of round %d is not in data", m.id, m.round))
	r = p.ask(x.question(p, protocol.QueryNextMatch, object{"player_id": p.id}))
	next := objectOf(objectOf(r.result["data"])["next_match"])
	x.show("query/next match", r, notAnswered(r), next.filled("match_id"), next.has("opponent_id", m.players[1]),
		when(next["round_id"] == nil, "round_id is missing"))
	r = p.ask(x.question(p, protocol.QueryPlayerStats, object{"player_id": p.id}))
	x.show("query/statistics", r, notAnswered(r))
}
