package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
)

// object is a JSON object as a third-party agent sees it.
type object = map[string]any

// A world has agents with a bridge each, and delivers their calls.
type world struct {
	t        testing.TB
	clock    *protocol.Clock
	log      zerolog.Logger // of the dialects
	mu       sync.Mutex
	agents   map[string]*agent // by host and port
	reports  []object          // params, as the manager got them
	onReport func()            // what the manager does inside a report, before it answers
	refuses  bool              // it refuses all reports
	strict   bool              // the manager says that it will prove itself

	onRegister       func()                                                   // what it does inside a registration of a referee
	folder           string                                                   // where referees keep what they keep; "" for nowhere
	thirdPartyAgents map[string]func(body []byte) (status int, answer string) // agents of no dialect, by host and port
	referees         []*referee.Referee
}

type agent struct {
	dialect *bridge.Bridge
	mux     *transport.Mux
}

const (
	managerURL = "http://localhost:8000/mcp"
	leagueID   = "league_of_others"
)

func newWorld(t testing.TB) *world {
	return &world{t: t, clock: protocol.SystemClock(), log: zerolog.Nop(), agents: map[string]*agent{}}
}

// post delivers a body as HTTP would.
func (w *world) post(bearer string) func(ctx context.Context, to string, header map[string]string, body []byte) (transport.Posted, error) {
	return func(ctx context.Context, to string, _ map[string]string, body []byte) (transport.Posted, error) {
		u, err := url.Parse(to)
		require.NoError(w.t, err)
		if to == managerURL {
			answer := w.manager(body)
			if w.refuses && bytes.Contains(body, []byte("MATCH_RESULT_REPORT")) {
				return transport.Posted{Status: 400, Body: []byte(`{"error":"no"}`)}, nil
			}
			return transport.Posted{Status: 200, Body: answer}, nil
		}
		if answers := w.thirdPartyAgents[u.Host]; answers != nil {
			status, answer := answers(body)
			return transport.Posted{Status: status, Body: []byte(answer)}, nil
		}
		w.mu.Lock()
		a := w.agents[u.Host]
		w.mu.Unlock()
		if a == nil {
			return transport.Posted{}, &transport.CallError{Kind: transport.Unreachable, Endpoint: to, Err: os.ErrNotExist}
		}
		status, answer := a.serve(ctx, bearer, u.Path, string(body))
		return transport.Posted{Status: status, Body: answer}, nil
	}
}

// serve serves a request as the server of an agent does.
func (a *agent) serve(ctx context.Context, bearer, path, body string) (int, []byte) {
	return a.serveFrom(ctx, netip.Addr{}, bearer, path, body)
}

// serveFrom is serve for a caller with an address.
func (a *agent) serveFrom(ctx context.Context, from netip.Addr, bearer, path, body string) (int, []byte) {
	status, answer := a.dialect.Serve(ctx, from, path, []byte(body), func(ctx context.Context, body []byte) transport.Answer {
		return a.mux.Serve(ctx, bearer, body)
	})
	return status, answer.Body
}

// manager is a third-party manager, which does not prove itself.
func (w *world) manager(body []byte) []byte {
	var q struct {
		Method string `json:"method"`
		Params object `json:"params"`
		ID     any    `json:"id"`
	}
	require.NoError(w.t, json.Unmarshal(body, &q))
	result := object{
		"protocol": "league.v2", "sender": "league_manager", "timestamp": "2026-11-20T17:02:30Z",
		"conversation_id": q.Params["conversation_id"], "status": "ACCEPTED", "league_id": leagueID, "auth_token": "tok-" + q.Method,
	}
	if w.strict {
		result["manager_auth"] = "bearer"
	}
	sender, _ := q.Params["sender"].(string)
	id, _ := strings.CutPrefix(sender, "player:")
	id, _ = strings.CutPrefix(id, "referee:")
	switch q.Method {
	case "register_player":
		result["message_type"], result["player_id"] = "LEAGUE_REGISTER_RESPONSE", id
	case "register_referee":
		if w.onRegister != nil {
			w.onRegister()
		}
		result["message_type"], result["referee_id"] = "REFEREE_REGISTER_RESPONSE", id
	case "report_match_result":
		if q.Params["match_id"] == nil { // another form of the report
			break
		}
		if w.onReport != nil {
			w.onReport()
		}
		w.mu.Lock()
		w.reports = append(w.reports, q.Params)
		w.mu.Unlock()
		result = object{"protocol": "league.v2", "message_type": "MATCH_RESULT_ACK", "sender": "league_manager",
			"timestamp": "2026-11-20T17:02:30Z", "conversation_id": "c", "match_id": q.Params["match_id"], "status": "ACKNOWLEDGED"}
	default:
		if !w.refuses { // or others forms are tried
			w.t.Errorf("the manager was asked for %s", q.Method)
		}
	}
	answer, err := json.Marshal(object{"jsonrpc": "2.0", "result": result, "id": q.ID})
	require.NoError(w.t, err)
	return answer
}

// reported are the ids of the matches that were reported, in order.
func (w *world) reported() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.reports {
		ids = append(ids, r["match_id"].(string))
	}
	return ids
}

// A caller makes the calls of one agent.
type caller struct {
	w       *world
	dialect *bridge.Bridge
}

func (c caller) Call(ctx context.Context, r transport.Request) (any, *transport.Timing, error) {
	body, err := transport.EncodeRequest(r.Method, r.Params, 1)
	if err != nil {
		return nil, nil, err
	}
	if r.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Limit)
		defer cancel()
	}
	answer, err := c.dialect.Call(ctx, &r, body, c.w.post(r.Bearer))
	if err != nil {
		return nil, nil, err
	}
	result, err := transport.DecodeResponse(answer.Body, r.Decode)
	return result, nil, err
}

// enter makes an agent reachable.
func (w *world) enter(endpoint string) (*agent, caller) {
	d := bridge.New(bridge.Options{Endpoint: endpoint, Clock: w.clock, Log: w.log})
	a := &agent{dialect: d, mux: transport.NewMux(zerolog.Nop())}
	u, err := url.Parse(endpoint)
	require.NoError(w.t, err)
	w.mu.Lock()
	w.agents[u.Host] = a
	w.mu.Unlock()
	return a, caller{w, d}
}

// player is our player, in the league.
func (w *world) player(endpoint, id string) (*agent, *player.Player) {
	a, calls := w.enter(endpoint)
	decide, err := strategy.New("even")
	require.NoError(w.t, err)
	p, err := player.New(player.Options{
		Options: membership.Options{
			Name: "Ours", ID: id, Endpoint: endpoint, Manager: managerURL, Caller: calls, Clock: w.clock, Log: zerolog.Nop(),
		},
		Games: []string{"even_odd"}, Strategy: decide,
	})
	require.NoError(w.t, err)
	p.Mount(a.mux)
	require.NoError(w.t, p.Register(w.t.Context()))
	return a, p
}

// referee is our referee, in the league.
func (w *world) referee(endpoint, id string, atOnce int) *agent {
	a, calls := w.enter(endpoint)
	r, err := referee.New(referee.Options{
		Options: membership.Options{
			Name: "Ours", ID: id, Endpoint: endpoint, Manager: managerURL, Caller: calls, Clock: w.clock, Log: zerolog.Nop(),
			Folder: store.In(w.folder),
		},
		MaxConcurrent: atOnce, Games: rules.NewRegistry(evenodd.Game{}),
	})
	require.NoError(w.t, err)
	w.referees = append(w.referees, r)
	r.Mount(a.mux)
	w.t.Cleanup(r.Close)
	require.NoError(w.t, r.Register(w.t.Context()))
	return a
}

// finish lets the referees finish what they do.
func (w *world) finish() {
	for _, r := range w.referees {
		r.Finish(w.t.Context())
	}
}

// text is a JSON text of a value.
func text(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// read reads a JSON object.
func read(t testing.TB, text []byte) object {
	t.Helper()
	var o object
	require.NoError(t, json.Unmarshal(text, &o), string(text))
	return o
}

// ask posts a body and reads the answer.
func ask(t testing.TB, a *agent, path, body string) object {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	status, answer := a.serve(ctx, "", path, body)
	require.Equal(t, 200, status, string(answer))
	return read(t, answer)
}
