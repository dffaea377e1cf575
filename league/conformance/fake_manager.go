package conformance

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league/protocol"
)

// The league that the kit plays for an agent under examination.
const (
	checkLeague  = "league_check"
	checkReferee = "REF01"
	checkToken   = "opaque" // worth nothing: a player cannot know whether it is right
)

// A fakeManager registers the agent under examination, and answers its queries as before
// the first round. It does not prove itself to the agent, so that a player accepts a
// referee that has no access tokens.
type fakeManager struct {
	*fakeAgent

	examined string // URL of the agent
	referee  bool   // the agent is one
	token    string

	mu       sync.Mutex
	assigned string // id of the agent; "" before
}

// openManager opens the manager of the kit; nil without a listener. Other answers all
// calls but registrations and queries; nil rejects them.
func (x *exam) openManager(ctx context.Context, other func(*call) response) *fakeManager {
	g := &fakeManager{examined: x.options.URL, referee: x.options.Role == Referee, token: "tok-p01-" + rand.Text()}
	if g.referee {
		g.token = "tok-ref01-" + rand.Text()
	}
	if x.options.Listener != nil {
		g.fakeAgent = newFakes(ctx, x).openAt(x.options.Listener, x.dialect, func(c *call) response { return g.play(c, other) })
	}
	return g
}

// wait waits for the agent to register, and tells whether it did.
func (g *fakeManager) wait(ctx context.Context, most time.Duration) bool {
	return g.fakes.await(ctx, most, func() bool { return g.agentID() != "" })
}

// agentID returns the id of the agent; "" before it has registered.
func (g *fakeManager) agentID() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.assigned
}

// metaOf is what an agent says of itself in a registration.
func metaOf(m members) members {
	if meta := objectOf(m["player_meta"]); meta != nil {
		return meta
	}
	return objectOf(m["referee_meta"])
}

// endpointOf is the endpoint in a registration.
func endpointOf(m members) string {
	endpoint, _ := metaOf(m).text("contact_endpoint")
	return endpoint
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
	player := c.kind == protocol.TypeLeagueRegisterRequest
	m := c.reply(responseType(!player), protocol.ManagerSender)
	m["league_id"], m["reason"] = checkLeague, nil
	if player == g.referee || !sameEndpoint(endpointOf(c.params), g.examined) {
		m["status"], m[idName(!player)] = protocol.StatusRejected, nil
		m["reason"] = "another agent is examined here: " + g.examined
		return response{result: m}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.assigned == "" {
		g.assigned = g.grant(c)
		g.fakes.wake()
	}
	m["status"], m[idName(g.referee)], m["auth_token"] = protocol.StatusAccepted, g.assigned, g.token
	return response{result: m}
}

// grant is the id that the agent gets: the one that it asks for, if that is well formed.
func (g *fakeManager) grant(c *call) string {
	sender, _ := c.params.text("sender")
	id := protocol.AgentOf(sender)
	if g.referee {
		if _, ok := protocol.ParseRefereeID(id); !ok {
			id = ""
		}
		return cmp.Or(id, checkReferee)
	}
	if _, ok := protocol.ParsePlayerID(id); !ok {
		id = ""
	}
	return cmp.Or(id, protocol.PlayerID(1))
}

// query answers a LEAGUE_QUERY as before the first round.
func (g *fakeManager) query(c *call) response {
	kind, _ := c.params.text("query_type")
	id := g.agentID()
	rows := []any{}
	if id != "" && !g.referee {
		rows = append(rows, map[string]any{"rank": 1, "player_id": id, "display_name": id, "played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0})
	}
	data := map[string]map[string]any{
		protocol.QueryStandings: {"standings": rows},
		protocol.QuerySchedule:  {"rounds": 0, "matches": []any{}},
		protocol.QueryNextMatch: {"next_match": nil},
		protocol.QueryPlayerStats: {
			"player_id": id, "stats": map[string]any{"played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0},
		},
		protocol.QueryStatus: {"state": "WAITING_FOR_PLAYERS", "current_round": 0, "rounds": 0, "matches": 0, "recorded": 0, "players": 1, "referees": 1},
	}[kind]
	result := c.reply(protocol.TypeLeagueQueryResponse, protocol.ManagerSender)
	result["query_type"], result["success"], result["league_id"] = kind, data != nil, checkLeague
	if data != nil {
		result["data"] = data
		return response{result: result}
	}
	name := protocol.ErrInvalidQueryType.Name()
	result["error"] = map[string]any{"error_code": string(protocol.ErrInvalidQueryType), "error_name": name, "error_description": name}
	return response{result: result}
}

// applications returns the registrations of the agent under examination, and those of
// other agents in its role.
func (g *fakeManager) applications() (own, others []*call) {
	kind := protocol.TypeLeagueRegisterRequest
	if g.referee {
		kind = protocol.TypeRefereeRegisterRequest
	}
	for _, c := range g.fakes.received(func(c *call) bool { return c.kind == kind }) {
		if sameEndpoint(endpointOf(c.params), g.examined) {
			own = append(own, c)
		} else {
			others = append(others, c)
		}
	}
	return own, others
}

// recordApplication records the form of a registration, and its fields as a league
// reads them.
func (x *exam) recordApplication(c *call) {
	f := &fact{call: c}
	if c.form != "" {
		f.defect = formDefect
	}
	x.record("registration/form", f)
	x.record("registration/request", &fact{call: c, broken: x.acceptance.broken(c.kind, c.params)})
}

// registrationRules are those of the registration that players and referees share.
func (x *exam) registrationRules(letter, method, meta string, further ...rule) []rule {
	of := func(name string) func(*fact) string {
		return func(f *fact) string {
			return fieldsProblem(f.broken, func(field string) bool { return within(field, meta+"."+name) })
		}
	}
	id := func(n string) string { return letter + "-REG-" + n }
	number := map[string][4]string{"P": {"05", "06", "07", "08"}, "R": {"04", "05", "06", "07"}}[letter]
	rules := []rule{
		should(id("01"), "It registers by a JSON-RPC 2.0 request with jsonrpc, method, params and id.", "003 §1.4",
			`POST {"jsonrpc": "2.0", "method": "`+method+`", "params": {…}, "id": 1} to the manager with Content-Type: application/json.`,
			on("registration/form", jsonRPCRequest)),
		should(id("02"), "It registers by the method "+method+".", "003 §8.3",
			`Set "method" to "`+method+`"; the type of the message is in params.message_type.`, on("registration/form", func(f *fact) string {
				got, _ := f.call.came.text("method")
				return when(got != method, "method is %s", quoted(got))
			})),
	}
	rules = append(append(rules, further...),
		must(id(number[0]), "Its display_name has 1 to 50 characters.", "002 §3",
			"Put a short name for people into "+meta+".display_name.", on("registration/request", of("display_name"))),
		must(id(number[1]), "Its version has the form MAJOR.MINOR.PATCH.", "002 §3",
			`Put a string such as "1.0.0" into `+meta+".version.", on("registration/request", of("version"))),
		must(id(number[2]), "It plays the game of the league.", "002 §3",
			meta+`.game_types is an array of strings, such as ["even_odd"], with the game of the league among them.`, on("registration/request", func(f *fact) string {
				return firstOf(of("game_types")(f), x.gamesProblem(metaOf(f.call.params)))
			})),
		must(id(number[3]), "Its contact_endpoint is the URL at which it can be called.", "002 §3",
			meta+".contact_endpoint is an absolute URL with the port at which the agent listens and the path /mcp.", on("registration/request", func(f *fact) string {
				valid := protocol.ValidURL(endpointOf(f.call.params))
				return firstOf(of("contact_endpoint")(f), when(!valid, "contact_endpoint is %s", valueOf(metaOf(f.call.params), "contact_endpoint")))
			}), on("registration/endpoint", found)),
		should(id("09"), "It registers once if the answer is ACCEPTED.", "003 §2.5",
			"Store the id and auth_token of an ACCEPTED answer; retry only if no answer came.", on("registration/count", found)),
	)
	slices.SortFunc(rules, func(a, b rule) int { return strings.Compare(a.ID, b.ID) })
	return rules
}

// jsonRPCRequest returns why a call is no JSON-RPC request.
func jsonRPCRequest(f *fact) string {
	came := f.call.came
	switch {
	case came["jsonrpc"] == nil:
		return `"jsonrpc": "2.0" is missing`
	case came["id"] == nil:
		return "id is missing"
	}
	return firstOf(came.has("jsonrpc", "2.0"), came.filled("method"), when(came["params"].Kind() != '{', "params is %s", jsonKind(came["params"])))
}

// outsideOf judges the fields of a registration outside its meta member.
func outsideOf(meta string) func(*fact) string {
	return func(f *fact) string {
		return fieldsProblem(f.broken, func(field string) bool { return !strings.HasPrefix(field, meta+".") })
	}
}

// sameEndpoint tells whether two URLs lead to the same agent. An agent may know
// itself by another host name than its caller does: the port and the path decide.
func sameEndpoint(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	if errX != nil || errY != nil || x.Host == "" || y.Host == "" {
		return false
	}
	return portOf(x) == portOf(y) && strings.TrimSuffix(x.Path, "/") == strings.TrimSuffix(y.Path, "/")
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
