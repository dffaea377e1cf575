package conformance

import (
	"context"
	crand "crypto/rand"
	"encoding/base64"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// The bounds of what a registry takes.
const (
	maxRegistering = 64 << 10 // bytes of a request
	maxKept        = 16       // registrations that are kept
)

// An application is one request to be registered, as it came.
type application struct {
	Exchange

	object   members // the JSON-RPC request, or the bare message
	params   members // the message
	meta     members // its player_meta
	endpoint string
}

// A registry is the kit's own manager, as far as a player needs one: it
// registers players, and answers their queries as one does before the league has
// begun. It is of another make than ours and proves itself to nobody, so that
// the player plays with a referee that has no access tokens.
type registry struct {
	url    string // of the player that is waited for
	player string // the id it gets, unless it asks for another
	token  string

	server *http.Server
	serves sync.WaitGroup
	came   chan struct{} // closed when the player has registered

	mu     sync.Mutex
	id     string // the id it got; "" before it registered
	mine   []application
	others []application // of players that are not examined
}

// openRegistry serves a registry on l until it is closed.
func openRegistry(l net.Listener, player string) *registry {
	var secret [24]byte
	_, _ = crand.Read(secret[:]) // never fails
	g := &registry{
		url: player, player: protocol.PlayerID(1), came: make(chan struct{}),
		token: "tok-p01-" + base64.RawURLEncoding.EncodeToString(secret[:]),
	}
	g.server = &http.Server{
		Handler: http.HandlerFunc(g.serve), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	g.serves.Go(func() { _ = g.server.Serve(l) }) // it ends with close
	return g
}

// close ends it, and breaks off whoever still talks to it.
func (g *registry) close() {
	_ = g.server.Close() // nothing to lose
	g.serves.Wait()
}

// wait waits for the player to register, and tells whether it did.
func (g *registry) wait(ctx context.Context, most time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	select {
	case <-g.came:
		return true
	case <-ctx.Done():
		return false
	}
}

// registrations are those of the player, and those of others.
func (g *registry) registrations() (id string, mine, others []application) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.id, append([]application(nil), g.mine...), append([]application(nil), g.others...)
}

func (g *registry) serve(w http.ResponseWriter, r *http.Request) {
	body, ok := posted(w, r, maxRegistering)
	if !ok {
		return
	}
	answer := g.answer(r, body)
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) //nolint:gosec // JSON, and said to be JSON; a caller that has gone is its own loss
}

// answer answers a request in whatever form it came: as JSON-RPC by any name, as
// an MCP tool, or as a bare message.
func (g *registry) answer(r *http.Request, body []byte) []byte {
	object := objectOf(body)
	if object == nil {
		return encoded(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32700, "message": "Parse error"}})
	}
	method, _ := object.text("method")
	params, tool := objectOf(object["params"]), false
	if method == "tools/call" {
		method, _ = params.text("name")
		params, tool = objectOf(params["arguments"]), true
	}
	bare := params == nil && object["message_type"] != nil
	if bare {
		params = object
	}
	messageType, _ := params.text("message_type")
	conversation, _ := params.text("conversation_id")
	var result map[string]any
	switch {
	case method == protocol.RegisterPlayer.Name, method == protocol.TypeLeagueRegisterRequest, messageType == protocol.TypeLeagueRegisterRequest:
		result = g.register(r, body, object, params)
	case method == protocol.Query.Name, messageType == protocol.TypeLeagueQuery:
		result = g.query(params)
	case method == protocol.Ping.Name:
		result = g.message("PONG")
		result["status"] = "ok"
	default:
		return encoded(map[string]any{"jsonrpc": "2.0", "id": idOf(object), "error": map[string]any{"code": -32601, "message": "Method not found"}})
	}
	if conversation != "" {
		result["conversation_id"] = conversation
	}
	switch {
	case bare:
		return encoded(result)
	case object["id"] == nil:
		return nil
	case tool:
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": string(encoded(result))}}}
	}
	return encoded(map[string]any{"jsonrpc": "2.0", "id": idOf(object), "result": result})
}

func idOf(object members) jsontext.Value {
	if id := object["id"]; id.IsValid() && (id.Kind() == '"' || id.Kind() == '0') {
		return id
	}
	return jsontext.Value("null")
}

// message is the envelope of what the registry says.
func (g *registry) message(messageType string) map[string]any {
	return map[string]any{
		"protocol": protocol.Name, "message_type": messageType, "sender": protocol.ManagerSender,
		"timestamp": protocol.FormatTimestamp(time.Now()), "conversation_id": "conv-check-registry",
	}
}

// register takes a player in. Only the one that is waited for is told the token
// that the examination uses.
func (g *registry) register(r *http.Request, body []byte, object, params members) map[string]any {
	a := application{
		Exchange: Exchange{To: "http://" + r.Host + r.URL.Path, Request: shown(body), Status: http.StatusOK},
		object:   object, params: params, meta: objectOf(params["player_meta"]),
	}
	a.endpoint, _ = a.meta.text("contact_endpoint")
	result := g.message(protocol.TypeLeagueRegisterResponse)
	result["status"], result["league_id"], result["reason"] = protocol.StatusAccepted, checkLeague, nil
	g.mu.Lock()
	defer g.mu.Unlock()
	if !sameEndpoint(a.endpoint, g.url) {
		if len(g.others) < maxKept {
			g.others = append(g.others, a)
		}
		result["status"], result["player_id"] = protocol.StatusRejected, nil
		result["reason"] = "another player is examined here: " + g.url
		return result
	}
	if g.id == "" {
		g.id = g.player
		sender, _ := params.text("sender")
		if id := protocol.AgentOf(sender); sender != id {
			if _, wellFormed := protocol.ParsePlayerID(id); wellFormed {
				g.id = id
			}
		}
		close(g.came)
	}
	result["player_id"], result["auth_token"] = g.id, g.token
	a.Response = shown(encoded(result))
	if len(g.mine) < maxKept {
		g.mine = append(g.mine, a)
	}
	return result
}

// query answers a LEAGUE_QUERY as before the first round.
func (g *registry) query(params members) map[string]any {
	result := g.message(protocol.TypeLeagueQueryResponse)
	kind, _ := params.text("query_type")
	result["query_type"], result["success"], result["league_id"] = kind, true, checkLeague
	g.mu.Lock()
	id := g.id
	g.mu.Unlock()
	switch kind {
	case "GET_STANDINGS":
		rows := []any{}
		if id != "" {
			rows = append(rows, map[string]any{
				"rank": 1, "player_id": id, "display_name": id, "played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0,
			})
		}
		result["data"] = map[string]any{"standings": rows}
	case "GET_SCHEDULE":
		result["data"] = map[string]any{"rounds": 0, "matches": []any{}}
	case "GET_NEXT_MATCH":
		result["data"] = map[string]any{"next_match": nil}
	case "GET_PLAYER_STATS":
		result["data"] = map[string]any{"player_id": id, "stats": map[string]any{"played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0}}
	default:
		result["success"] = false
		result["error"] = map[string]any{
			"error_code": string(protocol.ErrInvalidQueryType), "error_name": protocol.ErrInvalidQueryType.Name(),
			"error_description": protocol.ErrInvalidQueryType.Name(),
		}
	}
	return result
}

// encoded is the JSON of what the kit says, with the members in order, so that
// two reports can be compared.
func encoded(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // a slip of ours, that every test of the kit finds
	}
	return b
}

// sameEndpoint tells whether two URLs lead to the same agent. An agent may know
// itself by another name than its caller does, so that the host says little; the
// port says all.
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
