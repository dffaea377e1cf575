package check

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"evenodd/league"
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

// wait waits for the agent to register, and tells whether it did.
func (g *fakeManager) wait(ctx context.Context, most time.Duration) bool {
	return g.fakes.await(ctx, most, func() bool { return g.identity() != "" })
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
	if c.kind != g.request || !sameEndpoint(g.endpoint(c.params), g.examined) {
		return c.answer(protocol.ManagerSender, map[string]any{"league_id": checkLeague, "status": protocol.StatusRejected,
			"reason": "another agent is examined here: the " + g.role + " at " + g.examined})
	}
	g.become(g.grant(c))
	return c.answer(protocol.ManagerSender, map[string]any{
		"league_id": checkLeague, "status": protocol.StatusAccepted, "reason": nil, g.membership.id: g.identity(),
		"auth_token": g.token,
	})
}

// grant is the id that the agent gets: the one that it asks for, if that is well formed.
func (g *fakeManager) grant(c *call) string {
	id, first, parse := protocol.AgentOf(c.params.text("sender")), league.PlayerID(1), league.ParsePlayerID
	if g.role == Referee {
		first, parse = checkReferee, league.ParseRefereeID
	}
	if _, ok := parse(id); ok {
		return id
	}
	return first
}

// query answers a LEAGUE_QUERY as before the first round. The data answer any query.
func (g *fakeManager) query(c *call) response {
	id := g.identity()
	return c.answer(protocol.ManagerSender, map[string]any{
		"query_type": c.params.text("query_type"), "success": true, "league_id": checkLeague, "data": map[string]any{
			"standings": []any{standingsRow(1, id, id, 0)}, "matches": []any{}, "next_match": nil,
			"stats": standingsRow(1, id, id, 0), "current_round": 0,
		}})
}

// standingsRow is a row of standings, of a player that has won this number of matches.
func standingsRow(rank int, player, name string, wins int) map[string]any {
	return map[string]any{
		"rank": rank, "player_id": player, "display_name": name, "played": wins, "wins": wins, "draws": 0, "losses": 0,
		"points": 3 * wins,
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

// recordRegistration records how the agent registered.
func (x *exam) recordRegistration(g *fakeManager) {
	why := "no manager was there to register with"
	if g.fakeAgent != nil {
		own, others := g.applications()
		for _, c := range append(own, others...)[:min(1, len(own)+len(others))] {
			f := &fact{call: c, sender: g.role + ":"}
			if c.form != "" {
				f.defect = formDefect
			}
			x.record("registration/form", f)
			x.record("registration/request", f)
		}
		switch {
		case len(own) > 0:
			x.record("registration/count", &fact{call: own[len(own)-1],
				problem: when(len(own) > 1, "it was ACCEPTED, and registered %d times", len(own))})
		case len(others) > 0:
			c := others[0]
			x.record("registration/endpoint", &fact{call: c, problem: fmt.Sprintf("contact_endpoint is %s, but %s is examined",
				quoted(g.endpoint(c.params)), g.examined)})
			x.record("registration/count", &fact{call: c, skip: "it registered with another contact_endpoint, and was REJECTED"})
		default:
			why = fmt.Sprintf("it did not register with the manager of this examination within %s%s", x.options.Wait,
				x.misdirected(g))
		}
	}
	x.miss(why, "registration/form", "registration/request", "registration/count", "form of call")
}

// registrationRules are those of the registration of players and referees.
func (x *exam) registrationRules(m membership) []rule {
	id := func(n int) string { return fmt.Sprintf("%s-REG-%02d", m.letter, n) }
	see := m.request + ", 003 §2.4"
	rules := []rule{
		should(id(1), see, "It registers by a JSON-RPC 2.0 request with the method "+m.method+".",
			mend(`POST {"jsonrpc": "2.0", "method": "`+m.method+`", "params": {…}, "id": 1} to the manager at `+pathOfAgent+"."),
			on("registration/form", found, func(f *fact) string {
				came := f.call.came
				return firstOf(came.has("jsonrpc", "2.0"), when(came["id"] == nil, "id is missing"), came.has("method", m.method),
					when(came["params"].Kind() != '{', "params is %s", jsonKind(came["params"])))
			})),
		should(id(3), see, "Its registration has the whole envelope.",
			mend("Add protocol, message_type, sender, timestamp and conversation_id to params."),
			on("registration/request", asSent(every(
				has("protocol", protocol.Name), has("message_type", m.request), hasSender, timestamps("timestamp"),
				filled("conversation_id"))))),
		should(id(9), m.response+", 003 §2.5", "It registers once if the answer is ACCEPTED.",
			mend("Store the id and auth_token of an ACCEPTED answer; retry only if no answer came."), on("registration/count")),
	}
	first, names := 5, []string{"display_name", "version", "game_types", "contact_endpoint"}
	if m.role == Referee {
		first, names = 4, append(names, "max_concurrent_matches")
	}
	further := map[string]clause{"contact_endpoint": on("registration/endpoint"),
		"game_types": on("registration/request", func(f *fact) string { return x.gamesProblem(objectOf(f.call.params[m.meta])) })}
	for i, name := range names {
		r := must(id(first+i), m.request+", 002 §3", "Its registration has "+name+": "+meaningOf(m.request, m.meta, name)+".",
			on("registration/request", accepted(func(field string) bool { return within(field, m.meta+"."+name) })))
		if add := further[name]; add != nil {
			add(&r)
		}
		rules = append(rules, r)
	}
	return rules
}

// meaningOf returns what the protocol says about a member of an object in a message.
func meaningOf(messageType, object, name string) string {
	schema, _ := protocol.Schema(messageType)
	for _, step := range []string{"properties", object, "properties", name} {
		schema, _ = schema[step].(map[string]any)
	}
	meaning, _ := schema["description"].(string)
	return meaning
}

// outsideOf wants the fields of a registration outside its meta member.
func outsideOf(meta string) test {
	return accepted(func(field string) bool { return !strings.HasPrefix(field, meta+".") })
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
