package check

import (
	"cmp"
	"context"
	"crypto/rand"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"evenodd/league/protocol"
)

// The league that the kit plays for an agent under examination.
const (
	checkLeague  = "league_check"
	checkReferee = "REF01"
	checkToken   = "opaque" // worth nothing: a player cannot know whether it is right
)

// A membership holds the names of registrations in a role.
type membership struct{ role, letter, meta, id, method, request, response string }

func membershipOf(role string) membership {
	if role == Referee {
		m := protocol.RegisterReferee
		return membership{role, "R", "referee_meta", "referee_id", m.Name, m.Request, m.Result}
	}
	m := protocol.RegisterPlayer
	return membership{role, "P", "player_meta", "player_id", m.Name, m.Request, m.Result}
}

// sender is the sender of the messages of an agent in the role.
func (m *membership) sender(id string) string { return m.role + ":" + id }

// endpoint is the endpoint in a registration.
func (m *membership) endpoint(registration members) string {
	return objectOf(registration[m.meta]).text("contact_endpoint")
}

// A fakeManager registers the agent under examination, and answers its queries as before
// the first round. It does not prove itself to the agent, so that a player accepts a
// referee that has no access tokens.
type fakeManager struct {
	*fakeAgent
	membership

	examined string // URL of the agent
	token    string
	assigned atomic.Value // the id of the agent, a string; nil before
	mistaken atomic.Value // the role in which the agent registers, a string; nil if it is the examined one
}

// openManager opens the manager of the kit; nil without a listener. Other answers all
// calls but registrations and queries; nil rejects them.
func (x *exam) openManager(ctx context.Context, other func(*call) response) *fakeManager {
	g := &fakeManager{examined: x.options.URL, membership: membershipOf(x.options.Role), token: "tok-p01-" + rand.Text()}
	if g.role == Referee {
		g.token = "tok-ref01-" + rand.Text()
	}
	if x.options.Listener != nil {
		ready := make(chan struct{}) // a call may arrive before open returns
		defer close(ready)
		g.fakeAgent = newFakes(ctx, x).open(x.options.Listener, func(c *call) response {
			<-ready
			return g.play(c, other)
		})
		x.dialect = g.dialect
	}
	return g
}

// wait waits for the agent to register, and tells whether it did in the examined role.
func (g *fakeManager) wait(ctx context.Context, most time.Duration) bool {
	return g.fakes.await(ctx, most, func() bool { return g.agentID() != "" || g.mistaken.Load() != nil }) && g.agentID() != ""
}

// mistake says that the agent registered in the other role; "" if it did not.
func (g *fakeManager) mistake() string {
	role, _ := g.mistaken.Load().(string)
	return when(role != "", "it registered as a %s, not as a %s: examine it with 'evenodd check %[1]s'", role, g.role)
}

// agentID returns the id of the agent; "" before it has registered.
func (g *fakeManager) agentID() string {
	id, _ := g.assigned.Load().(string)
	return id
}

// play answers registrations and queries, and passes all other calls on.
func (g *fakeManager) play(c *call, other func(*call) response) response {
	switch c.kind {
	case protocol.TypeRefereeRegisterRequest, protocol.TypeLeagueRegisterRequest:
		return g.register(c)
	case protocol.TypeLeagueQuery:
		return g.query(c)
	}
	return other(c)
}

// register registers the agent under examination, and no other.
func (g *fakeManager) register(c *call) response {
	reason := ""
	if c.kind != g.request {
		other := membershipOf(Player)
		if g.role == Player {
			other = membershipOf(Referee)
		}
		if sameEndpoint(other.endpoint(c.params), g.examined) {
			g.mistaken.Store(other.role)
			g.fakes.wake()
		}
		reason = "a " + g.role + " is examined here, and this agent registers as a " + other.role
	} else if !sameEndpoint(g.endpoint(c.params), g.examined) {
		reason = "another agent is examined here: " + g.examined
	}
	if reason != "" {
		return c.answer(protocol.ManagerSender, map[string]any{
			"league_id": checkLeague, "status": protocol.StatusRejected, "reason": reason,
		})
	}
	if g.assigned.CompareAndSwap(nil, g.grant(c)) {
		g.fakes.wake()
	}
	return c.answer(protocol.ManagerSender, map[string]any{
		"league_id": checkLeague, "status": protocol.StatusAccepted, "reason": nil, g.membership.id: g.agentID(), "auth_token": g.token,
	})
}

// grant is the id that the agent gets: the one that it asks for, if that is well formed.
func (g *fakeManager) grant(c *call) string {
	id, first, parse := protocol.AgentOf(c.params.text("sender")), protocol.PlayerID(1), protocol.ParsePlayerID
	if g.role == Referee {
		first, parse = checkReferee, protocol.ParseRefereeID
	}
	if _, ok := parse(id); ok {
		return id
	}
	return first
}

// query answers a LEAGUE_QUERY as before the first round.
func (g *fakeManager) query(c *call) response {
	kind := c.params.text("query_type")
	id := g.agentID()
	rows := []any{}
	if id != "" && g.role == Player {
		rows = append(rows, standingsRow(1, id, id, 0))
	}
	data, known := map[string]any{
		protocol.QueryStandings:   map[string]any{"standings": rows},
		protocol.QuerySchedule:    map[string]any{"rounds": 0, "matches": []any{}},
		protocol.QueryNextMatch:   map[string]any{"next_match": nil},
		protocol.QueryPlayerStats: map[string]any{"player_id": id, "stats": map[string]any{"played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0}},
		protocol.QueryStatus: map[string]any{
			"state": "WAITING_FOR_PLAYERS", "current_round": 0, "rounds": 0, "matches": 0, "recorded": 0, "players": 1, "referees": 1,
		},
	}[kind]
	result := map[string]any{"query_type": kind, "success": known, "league_id": checkLeague, "data": data}
	if !known {
		delete(result, "data")
		name := protocol.ErrInvalidQueryType.Name()
		result["error"] = map[string]any{"error_code": string(protocol.ErrInvalidQueryType), "error_name": name, "error_description": name}
	}
	return c.answer(protocol.ManagerSender, result)
}

// standingsRow is a row of standings, of a player that has won this number of matches.
func standingsRow(rank int, player, name string, wins int) map[string]any {
	return map[string]any{
		"rank": rank, "player_id": player, "display_name": name, "played": wins, "wins": wins, "draws": 0, "losses": 0, "points": 3 * wins,
	}
}

// applications returns the registrations of the agent under examination, and those of
// other agents in its role.
func (g *fakeManager) applications() (own, others []*call) {
	for _, c := range g.fakes.received(func(c *call) bool { return c.kind == g.request }) {
		if sameEndpoint(g.endpoint(c.params), g.examined) {
			own = append(own, c)
		} else {
			others = append(others, c)
		}
	}
	return own, others
}

// misdirected records the first call that the manager could not read as the form of a registration that did
// not arrive, and describes it; "" if there was none.
func (x *exam) misdirected(g *fakeManager) string {
	calls := g.fakes.unread()
	if c := firstCall(calls); c != nil {
		x.record("registration/form", &fact{call: c, problem: c.form, defect: formDefect})
	}
	return called(calls)
}

// called describes the last of some calls that the kit's manager could not read; "" for none.
func called(calls []*call) string {
	if len(calls) == 0 {
		return ""
	}
	return "; it calls " + calls[len(calls)-1].form
}

// recordApplication records the form of a registration, and its fields as a league
// reads them.
func (x *exam) recordApplication(c *call) {
	f := &fact{call: c}
	if c.form != "" {
		f.defect = formDefect
	}
	x.record("registration/form", f)
	x.record("registration/request", &fact{call: c, sender: x.options.Role + ":", broken: broken(c.kind, c.params)})
}

// registrationRules are those of the registration that players and referees share.
func (x *exam) registrationRules(m membership, further ...rule) []rule {
	of := func(name string) func(*fact) string {
		return func(f *fact) string {
			return fieldsProblem(f.broken, func(field string) bool { return within(field, m.meta+"."+name) })
		}
	}
	number := map[string][4]string{"P": {"05", "06", "07", "08"}, "R": {"04", "05", "06", "07"}}[m.letter]
	id := func(n string) string { return m.letter + "-REG-" + n }
	rules := slices.Concat(further, []rule{
		should(id("01"), "It registers by a JSON-RPC 2.0 request with jsonrpc, method, params and id.", "003 §1.4",
			`POST {"jsonrpc": "2.0", "method": "`+m.method+`", "params": {…}, "id": 1} to the manager at `+pathOfAgent+
				` with Content-Type: application/json.`,
			on("registration/form", func(f *fact) string { return cmp.Or(f.problem, jsonRPCRequest(f)) })),
		should(id("02"), "It registers by the method "+m.method+".", "003 §8.3",
			`Set "method" to "`+m.method+`"; the type of the message is in params.message_type.`, on("registration/form", func(f *fact) string {
				return when(f.call.came.text("method") != m.method, "method is %s", quoted(f.call.came.text("method")))
			})),
		must(id(number[0]), "Its display_name has 1 to 50 characters.", "002 §3",
			"Put a short name for people into "+m.meta+".display_name.", on("registration/request", of("display_name"))),
		must(id(number[1]), "Its version has the form MAJOR.MINOR.PATCH.", "002 §3",
			`Put a string such as "1.0.0" into `+m.meta+".version.", on("registration/request", of("version"))),
		must(id(number[2]), "It plays the game of the league.", "002 §3",
			m.meta+`.game_types is an array of strings, such as ["even_odd"], with the game of the league among them.`, on("registration/request", func(f *fact) string {
				return firstOf(of("game_types")(f), x.gamesProblem(objectOf(f.call.params[m.meta])))
			})),
		must(id(number[3]), "Its contact_endpoint is the URL at which it can be called.", "002 §3",
			m.meta+".contact_endpoint is an absolute URL with the port at which the agent listens and the path /mcp.", on("registration/request", func(f *fact) string {
				valid := protocol.ValidURL(m.endpoint(f.call.params))
				return firstOf(of("contact_endpoint")(f), when(!valid, "contact_endpoint is %s", valueOf(objectOf(f.call.params[m.meta]), "contact_endpoint")))
			}), on("registration/endpoint", found)),
		should(id("09"), "It registers once if the answer is ACCEPTED.", "003 §2.5",
			"Store the id and auth_token of an ACCEPTED answer; retry only if no answer came.", on("registration/count", found)),
	})
	slices.SortFunc(rules, func(a, b rule) int { return strings.Compare(a.ID, b.ID) })
	return rules
}

// jsonRPCRequest returns why a call is no JSON-RPC request.
func jsonRPCRequest(f *fact) string {
	came := f.call.came
	return firstOf(came.has("jsonrpc", "2.0"), when(came["id"] == nil, "id is missing"), came.filled("method"),
		when(came["params"].Kind() != '{', "params is %s", jsonKind(came["params"])))
}

// outsideOf judges the fields of a registration outside its meta member.
func outsideOf(meta string) func(*fact) string {
	return func(f *fact) string {
		return fieldsProblem(f.broken, func(field string) bool { return !strings.HasPrefix(field, meta+".") })
	}
}

// sameEndpoint tells whether two URLs lead to the same agent. An agent may know
// itself by another host name than its caller does: the port and the path decide.
func sameEndpoint(a, b string) bool { return portAndPath(a) != "" && portAndPath(a) == portAndPath(b) }

// portAndPath returns "" for a text that is no URL with a host.
func portAndPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	_, port, _ := net.SplitHostPort(protocol.HostPort(u)) // just joined
	return port + strings.TrimSuffix(u.Path, "/")
}
