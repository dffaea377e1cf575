package cmd_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// object is a JSON object of any caller.
type object = map[string]any

// example is a request of the specification, from the golden files, with its
// words replaced: example(t, "003-8.4.1-…", "old", "new").
func example(t *testing.T, name string, oldnew ...string) string {
	t.Helper()
	text := readPage(t, "testdata/messages/"+name+".json")
	for i := 0; i < len(oldnew); i += 2 {
		require.Contains(t, text, oldnew[i], "nothing to replace in %s", name)
	}
	return strings.NewReplacer(oldnew...).Replace(text)
}

const (
	registerReferee  = "003-8.3.1-referee_register_request"
	registeredAnswer = "003-8.3.2-referee_register_response"
	registerPlayer   = "003-8.4.1-league_register_request"
	acceptedAnswer   = "003-8.4.2-league_register_response"
	queryStandings   = "003-8.11.1-league_query"

	exampleReferee = "http://localhost:8001/mcp"
	examplePlayer  = "http://localhost:8101/mcp"
	exampleToken   = "tok-p01-xyz789"
)

// post makes a POST as curl does, and returns the status and the body.
func post(t *testing.T, url, body string) (int, []byte) {
	t.Helper()
	return fetch(t, http.MethodPost, url, strings.NewReader(body))
}

// fetch makes a request whose answer, if it has a body, is JSON.
func fetch(t *testing.T, method, url string, body io.Reader) (int, []byte) {
	t.Helper()
	response, answer := ask(t, method, url, "", body)
	missing := response.StatusCode == http.StatusMethodNotAllowed || response.StatusCode == http.StatusNotFound
	if len(answer) > 0 && !missing {
		assert.Equal(t, "application/json", response.Header.Get("Content-Type"))
	}
	return response.StatusCode, answer
}

// ask makes a request. Host "" is that of the URL.
func ask(t *testing.T, method, url, host string, body io.Reader) (*http.Response, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	require.NoError(t, err)
	request.Host = host
	if method != http.MethodGet {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	return response, answer
}

// call posts a call, which is answered, and returns the JSON-RPC response.
func call(t *testing.T, url, body string) object {
	t.Helper()
	status, answer := post(t, url, body)
	require.Equal(t, http.StatusOK, status, string(answer))
	var response object
	require.NoError(t, json.Unmarshal(answer, &response), string(answer))
	assert.Equal(t, "2.0", response["jsonrpc"])
	var request object
	if json.Unmarshal([]byte(body), &request) == nil {
		assert.Equal(t, request["id"], response["id"], "the id as it was sent")
	}
	_, failed := response["error"]
	_, done := response["result"]
	assert.NotEqual(t, failed, done, "either a result or an error: %s", answer)
	return response
}

// resultOf returns the result of a successful call.
func resultOf(t *testing.T, url, body string) object {
	t.Helper()
	response := call(t, url, body)
	require.Contains(t, response, "result", "%v", response)
	return response["result"].(object)
}

// An answer has every member of the example of the specification, with the same value unless it is a time or
// a token.
func TestRegistrationsAreAnsweredAsTheSpecificationShows(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "4")
	here := serveAgent(t, acknowledge)
	tokens := map[string]string{}
	for _, role := range []struct{ id, request, endpoint, answer string }{
		{"ref01", registerReferee, exampleReferee, registeredAnswer}, {"p01", registerPlayer, examplePlayer, acceptedAnswer},
	} {
		answer := resultOf(t, m.url, example(t, role.request, role.endpoint, here))
		var wanted struct{ Result object }
		require.NoError(t, json.Unmarshal([]byte(example(t, role.answer)), &wanted))
		for field, value := range wanted.Result {
			switch field {
			case "timestamp":
				assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, answer[field])
			case "auth_token":
				tokens[role.id] = answer[field].(string)
				assert.Regexp(t, `^tok-`+role.id+`-[\w-]{20,}$`, answer[field])
			default:
				assert.Equal(t, value, answer[field], field)
			}
		}
	}
	answer := resultOf(t, m.url, example(t, queryStandings, exampleToken, tokens["p01"], `1501`, `"a string"`))
	assert.Equal(t, "LEAGUE_QUERY_RESPONSE", answer["message_type"])
	want := []any{object{"rank": 1.0, "player_id": "P01", "display_name": "Agent Alpha", "played": 0.0, "wins": 0.0, "draws": 0.0, "losses": 0.0, "points": 0.0}}
	assert.Equal(t, want, answer["standings"])
	assert.Equal(t, want, answer["data"].(object)["standings"])

	m.awaitPings(t, 2)
	status, body := fetch(t, http.MethodGet, strings.TrimSuffix(m.url, "/mcp")+"/healthz", nil)
	assert.Equal(t, http.StatusOK, status)
	assert.JSONEq(t, `{"status": "ok", "role": "league_manager", "display_name": "League Manager", "league_id": "league_2025_even_odd", "state": "WAITING_FOR_REGISTRATIONS",
		"round": 0, "rounds": 0, "matches": 0, "recorded": 0, "players": 1, "referees": 1,
		"awaited": [], "agent_states": {"REGISTERED": 2, "ACTIVE": 0, "SUSPENDED": 0, "SHUTDOWN": 0}}`, string(body))
}

// leagueError checks a JSON-RPC error whose data is a whole LEAGUE_ERROR.
func leagueError(t *testing.T, response object, rpc int, code, name string) {
	t.Helper()
	require.Contains(t, response, "error", "%v", response)
	e := response["error"].(object)
	data := e["data"].(object)
	assert.Equal(t, []any{float64(rpc), name, "LEAGUE_ERROR", code, name}, []any{e["code"], e["message"], data["message_type"], data["error_code"], data["error_name"]})
}

// The manager's server refuses what is no call of a method, for one of its hosts and of its size, with one WARN that
// says what to do. A page that a browser asks for is none.
func TestRequestsThatAreNoCallsAreRefused(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--allowed-host", "league.example", "--allowed-host", "other.example")
	manager, err := url.Parse(m.url)
	require.NoError(t, err)
	const ping = `{"jsonrpc":"2.0","method":"ping","id":7}`
	for _, tt := range []struct {
		method, path, host, body string
		status                   int
		answer, logged           string // "" for anything, and for no line
	}{
		{"POST", "/mcp", manager.Host, ping, 200, `"PONG"`, ""},
		{"POST", "/mcp", manager.Host, `{"jsonrpc":"2.0", `, 200, "-32700", "Parse error"},
		{"POST", "/mcp", manager.Host, `[` + ping + `,{"jsonrpc":"2.0","method":"ping"}]`, 200, `^\[[^\]]*"id":7\}\]$`, ""},
		{"POST", "/mcp", manager.Host, `{"jsonrpc":"2.0","method":"ping"}`, 204, "^$", ""},
		{"POST", "/mcp", manager.Host, `{"jsonrpc":"2.0","method":"register_player","params":{"x":"` + strings.Repeat("x", 11<<10) + `"},"id":1}`, 413, "E023.*10240 bytes",
			`"address":"127.0.0.1","error_code":"E023","error_name":"MESSAGE_TOO_LARGE","defect":"a request has at most 10240 bytes"`},
		{"POST", "/mcp", manager.Host, `{"jsonrpc":"2.0","method":"register_player","params":5,"id":1}`, 200, "-32600",
			`"method":"register_player".*"defect":"JSON-RPC error -32600: .*params must be an object or an array"`},
		{"POST", "/mcp", manager.Host, `{"jsonrpc":"2.0","method":"register","params":{},"id":1}`, 200, "-32601",
			`"method":"register","sender":"","address":"127.0.0.1","defect":"JSON-RPC error -32601: Method not found: call register_player, register_referee, report_match_result, league_query"`},
		{"POST", "/join", manager.Host, `{"display_name":"Alpha"}`, 404, "",
			`"method":"POST /join","sender":"","address":"127.0.0.1","defect":"send JSON-RPC 2.0 by POST to http://[^"]*/mcp"`},
		{"GET", "/mcp", manager.Host, "", 405, "", ""},
		{"GET", "/favicon.ico", manager.Host, "", 405, "", ""},
		{"GET", "/healthz", "[::1]:8000", "", 200, "", ""},
		{"GET", "/healthz", "OTHER.example:443", "", 200, "", ""},
		{"GET", "/healthz", "192.0.2.1:8000", "", 200, "", ""}, // behind a port that is passed on
		{"GET", "/healthz", "evil.example", "", 421, "", ""},
	} {
		response, text := ask(t, tt.method, "http://"+manager.Host+tt.path, tt.host, strings.NewReader(tt.body))
		assert.Equal(t, tt.status, response.StatusCode, "%v", tt)
		assert.Regexp(t, tt.answer, string(text))
		if tt.logged != "" {
			m.await(t, `"level":"WARN".*`+tt.logged+`.*"event_type":"REQUEST_REFUSED"`)
		}
	}
	assert.Equal(t, 5, strings.Count(m.stderr.String(), "REQUEST_REFUSED"))
}

func TestSchemaListsAllMethods(t *testing.T) {
	table, document := mustRun(t, "schema", "--methods"), mustRun(t, "schema", "--methods", "--format", "json")
	var listed struct {
		Methods []struct {
			Method, Request, Result, Caller, Receiver string
			Timeout                                   float64 `json:"timeout_sec"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(document), &listed))
	require.Len(t, listed.Methods, len(protocol.Methods()))
	for i, m := range protocol.Methods() {
		row := listed.Methods[i]
		assert.Equal(t, []any{m.Name, m.Request, m.Result, m.From, m.To, m.Timeout.Seconds()},
			[]any{row.Method, row.Request, row.Result, row.Caller, row.Receiver, row.Timeout})
		assert.Regexp(t, `\b`+m.Name+`\b.*\b`+m.Result+`\b`, table)
	}
}

// serveAgent serves an agent of a test, and returns its endpoint. answer returns the result of a call; without one the
// agent knows no such method.
func serveAgent(t *testing.T, answer func(ctx context.Context, method string, params object) object) (endpoint string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     any
			Method string
			Params object
		}
		if r.URL.Path != "/mcp" || json.NewDecoder(r.Body).Decode(&call) != nil {
			http.NotFound(w, r)
			return
		}
		response := object{"jsonrpc": "2.0", "id": call.ID}
		if result := answer(r.Context(), call.Method, call.Params); result != nil {
			response["result"] = result
		} else {
			response["error"] = object{"code": -32601, "message": "Method not found"}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(response)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL + "/mcp"
}

// acknowledge answers every call.
func acknowledge(context.Context, string, object) object { return object{"status": "ok"} }

// answerOf is the answer of a player to a question of its referee, and nil to anything else.
func answerOf(id, choice, method string, params object) object {
	now := time.Now().UTC().Format(time.RFC3339)
	answer := object{
		"protocol": "league.v2", "sender": "player:" + id, "timestamp": now, "conversation_id": params["conversation_id"],
		"auth_token": params["auth_token"], "match_id": params["match_id"], "player_id": id,
	}
	switch method {
	case "handle_game_invitation":
		answer["message_type"], answer["arrival_timestamp"], answer["accept"] = "GAME_JOIN_ACK", now, true
	case "choose_parity":
		answer["message_type"], answer["parity_choice"] = "CHOOSE_PARITY_RESPONSE", choice
	default:
		return nil
	}
	return answer
}
