package conformance

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/url"
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

// A registrar is the part of the kit's manager that registers the agent under
// examination, and answers its queries as before the first round. It does not prove
// itself to the agent, as third-party managers do not, so that a player plays with a
// referee that has no access tokens.
type registrar struct {
	url     string // of the agent
	referee bool   // the agent is one
	token   string
	came    chan struct{} // closed when the agent has registered

	mu sync.Mutex
	id string // that the agent got; "" before
}

func newRegistrar(url string, referee bool) *registrar {
	var secret [24]byte
	_, _ = rand.Read(secret[:]) // never fails
	prefix := "tok-p01-"
	if referee {
		prefix = "tok-ref01-"
	}
	return &registrar{url: url, referee: referee, came: make(chan struct{}), token: prefix + base64.RawURLEncoding.EncodeToString(secret[:])}
}

// wait waits for the agent to register, and tells whether it did.
func (g *registrar) wait(ctx context.Context, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-g.came:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

// registered is the id that the agent got; "" before it registered.
func (g *registrar) registered() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.id
}

// request is the message type of the agent's registration.
func (g *registrar) request() string {
	if g.referee {
		return protocol.TypeRefereeRegisterRequest
	}
	return protocol.TypeLeagueRegisterRequest
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

// play answers registrations, queries and pings. Other says how anything else is answered.
func (g *registrar) play(c *call, other func(*call) performance) performance {
	switch c.kind {
	case protocol.TypeRefereeRegisterRequest, protocol.TypeLeagueRegisterRequest:
		return g.register(c)
	case protocol.TypeLeagueQuery:
		return g.query(c)
	}
	return other(c)
}

// register registers the agent under examination, and no other.
func (g *registrar) register(c *call) performance {
	player := c.kind == protocol.TypeLeagueRegisterRequest
	m := c.reply(responseType(!player), protocol.ManagerSender)
	m["league_id"], m["reason"] = checkLeague, nil
	if player == g.referee || !sameEndpoint(endpointOf(c.params), g.url) {
		m["status"], m[idName(!player)] = protocol.StatusRejected, nil
		m["reason"] = "another agent is examined here: " + g.url
		return performance{result: m}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id == "" {
		g.id = g.grant(c)
		close(g.came)
	}
	m["status"], m[idName(g.referee)], m["auth_token"] = protocol.StatusAccepted, g.id, g.token
	return performance{result: m}
}

// grant is the id that the agent gets: the one that it asks for, if that is well formed.
func (g *registrar) grant(c *call) string {
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
func (g *registrar) query(c *call) performance {
	result := c.reply(protocol.TypeLeagueQueryResponse, protocol.ManagerSender)
	kind, _ := c.params.text("query_type")
	result["query_type"], result["success"], result["league_id"] = kind, true, checkLeague
	id := g.registered()
	nothing := map[string]any{"played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0}
	switch kind {
	case protocol.QueryStandings:
		rows := []any{}
		if id != "" && !g.referee {
			rows = append(rows, map[string]any{
				"rank": 1, "player_id": id, "display_name": id, "played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0,
			})
		}
		result["data"] = map[string]any{"standings": rows}
	case protocol.QuerySchedule:
		result["data"] = map[string]any{"rounds": 0, "matches": []any{}}
	case protocol.QueryNextMatch:
		result["data"] = map[string]any{"next_match": nil}
	case protocol.QueryPlayerStats:
		result["data"] = map[string]any{"player_id": id, "stats": nothing}
	case protocol.QueryStatus:
		result["data"] = map[string]any{"state": "WAITING_FOR_PLAYERS", "current_round": 0, "rounds": 0, "matches": 0, "recorded": 0, "players": 1, "referees": 1}
	default:
		result["success"] = false
		result["error"] = map[string]any{
			"error_code": string(protocol.ErrInvalidQueryType), "error_name": protocol.ErrInvalidQueryType.Name(),
			"error_description": protocol.ErrInvalidQueryType.Name(),
		}
	}
	return performance{result: result}
}

// applications are the registrations at a stage: those of the agent under examination,
// and those of others in its role.
func (g *registrar) applications(s *stage) (mine, others []*call) {
	for _, c := range s.told(func(c *call) bool { return c.kind == g.request() }) {
		if sameEndpoint(endpointOf(c.params), g.url) {
			mine = append(mine, c)
		} else {
			others = append(others, c)
		}
	}
	return mine, others
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
