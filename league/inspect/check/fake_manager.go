package check

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strings"

	"evenodd/league"
	"evenodd/league/protocol"
)

// The league that the kit plays for an agent under examination.
const (
	checkLeague  = "league_check"
	checkReferee = "REF01"
	checkToken   = "opaque" // worth nothing: a player cannot know whether it is right
)

// A membership describes registrations in a role.
type membership struct {
	protocol.MethodRow

	role     string
	meta, id string // the names of members
	nth      func(number int) (id string)
	parse    func(id string) (number int, ok bool)
}

func membershipOf(role string) membership {
	m := membership{protocol.RegisterPlayer.MethodRow, role, role + "_meta", role + "_id", league.PlayerID,
		league.ParsePlayerID}
	if role == Referee {
		m.MethodRow, m.nth, m.parse = protocol.RegisterReferee.MethodRow, league.RefereeID, league.ParseRefereeID
	}
	return m
}

// sender is the sender of the messages of an agent in the role.
func (m *membership) sender(id string) string { return m.role + ":" + id }

// awaitRegistration waits for the agent to register with the kit's manager, and tells whether it did.
func (x *exam) awaitRegistration() bool {
	return x.await(x.Wait, func() bool { return x.host.identity() != "" })
}

// answer answers a call to the kit's manager. The manager registers the agent under examination, and
// answers queries as before the first round. It does not prove itself to the agent, so that a player
// accepts a referee that has no access tokens.
func (x *exam) answer(c *call) response {
	switch c.kind {
	case protocol.TypeRefereeRegisterRequest, protocol.TypeLeagueRegisterRequest:
		return x.admit(c)
	case protocol.TypeLeagueQuery:
		return answerQuery(c)
	}
	return answerPing(c, "league_manager")
}

// admit registers the agent under examination, and no other. It gets the id that it asks for, if that is
// well formed.
func (x *exam) admit(c *call) response {
	if !x.isOwn(c) {
		return c.answer(protocol.ManagerSender, object{"league_id": checkLeague, "status": protocol.StatusRejected,
			"reason": "another agent is examined here: the " + x.as.role + " at " + x.URL})
	}
	id := protocol.AgentOf(c.params.text("sender"))
	if _, ok := x.as.parse(id); !ok {
		id = x.as.nth(1)
	}
	c.to.become(id)
	return c.answer(protocol.ManagerSender, object{
		"league_id": checkLeague, "status": protocol.StatusAccepted, "reason": nil, x.as.id: c.to.identity(),
		"auth_token": x.token,
	})
}

// answerQuery answers a LEAGUE_QUERY. The data answer any query.
func answerQuery(c *call) response {
	id := c.to.identity()
	return c.answer(protocol.ManagerSender, object{
		"query_type": c.params.text("query_type"), "success": true, "league_id": checkLeague, "data": object{
			"standings": []any{standingsRow(1, id, id, 0)}, "matches": []any{}, "next_match": nil,
			"stats": standingsRow(1, id, id, 0), "current_round": 0,
		}})
}

// standingsRow is a row of standings, of a player that has won this number of matches.
func standingsRow(rank int, player, name string, wins int) object {
	return object{
		"rank": rank, "player_id": player, "display_name": name, "played": wins, "wins": wins, "draws": 0, "losses": 0,
		"points": 3 * wins,
	}
}

// endpointIn is the endpoint in a registration.
func (x *exam) endpointIn(c *call) string {
	return objectOf(c.params[x.as.meta]).text("contact_endpoint")
}

// isOwn tells whether a call is a registration of the agent under examination.
func (x *exam) isOwn(c *call) bool {
	return c.kind == x.as.Request && sameEndpoint(x.endpointIn(c), x.URL)
}

// misdirected records the first call that the manager could not read as the form of a registration that did
// not arrive, and describes it; "" if there was none.
func (x *exam) misdirected() string {
	calls := x.unread()
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
func (x *exam) recordRegistration() {
	own := x.received(x.isOwn)
	first := cmp.Or(firstCall(own), firstCall(x.host.received(x.as.Request)))
	if first == nil {
		x.miss(fmt.Sprintf("it did not register with the manager of this examination within %s%s", x.Wait,
			x.misdirected()), "registration/form", "registration/request", "registration/count", "form of call")
		return
	}
	f := &fact{call: first, sender: x.as.role + ":", defect: when(first.form != "", formDefect)}
	x.record("registration/form", f)
	x.record("registration/request", f)
	if own == nil {
		x.record("registration/endpoint", &fact{call: first, problem: fmt.Sprintf(
			"contact_endpoint is %s, but %s is examined", quoted(x.endpointIn(first)), x.URL)})
		x.record("registration/count", &fact{call: first,
			problem: skipped("it registered with another contact_endpoint, and was REJECTED")})
		return
	}
	x.record("registration/count", &fact{call: own[len(own)-1],
		problem: when(len(own) > 1, "it was ACCEPTED, and registered %d times", len(own))})
}

// registrationRules are those of the registration of players and referees.
func (x *exam) registrationRules(role string) []rule {
	m := membershipOf(role)
	id := func(n int) string { return fmt.Sprintf("%.1s-REG-%02d", strings.ToUpper(role), n) }
	see := m.Request + ", 003 §2.4"
	rules := []rule{
		should(id(1), see, "It registers by a JSON-RPC 2.0 request with the method "+m.Name+".",
			mend(`POST {"jsonrpc": "2.0", "method": "`+m.Name+`", "params": {…}, "id": 1} to the manager at `+pathOfAgent+"."),
			on("registration/form", found, func(f *fact) string {
				came := f.call.came
				return cmp.Or(came.has("jsonrpc", "2.0"), when(came["id"] == nil, "id is missing"), came.has("method", m.Name),
					when(came["params"].Kind() != '{', "params is %s", jsonKind(came["params"])))
			})),
		should(id(3), see, "Its registration has the whole envelope.",
			mend("Add protocol, message_type, sender, timestamp and conversation_id to params."),
			on("registration/request", right("protocol", "message_type", "timestamp", "conversation_id"), hasSender)),
		should(id(9), m.Result+", 003 §2.5", "It registers once if the answer is ACCEPTED.",
			mend("Store the id and auth_token of an ACCEPTED answer; retry only if no answer came."), on("registration/count")),
	}
	further := map[string]clause{"contact_endpoint": on("registration/endpoint"),
		"game_types": on("registration/request", func(f *fact) string { return x.gamesProblem(objectOf(f.call.params[m.meta])) })}
	names := required(m.Request, m.meta)
	for i, name := range names {
		meaning, _ := schemaOf(m.Request, m.meta, name)["description"].(string)
		r := must(id(9-len(names)+i), m.Request+", 002 §3", "Its registration has "+name+": "+meaning+".",
			on("registration/request", accepted(func(field string) bool { return within(field, m.meta+"."+name) })))
		if add := further[name]; add != nil {
			add(&r)
		}
		rules = append(rules, r)
	}
	return rules
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
