package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// object is a JSON object of any caller.
type object = map[string]any

// example is a request of the specification, from the golden files, with its
// words replaced: example(t, "003-8.4.1-…", "old", "new").
func example(t *testing.T, name string, oldnew ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "messages", name+".json"))
	require.NoError(t, err)
	for i := 0; i < len(oldnew); i += 2 {
		require.Contains(t, string(text), oldnew[i], "nothing to replace in %s", name)
	}
	return strings.NewReplacer(oldnew...).Replace(string(text))
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

func fetch(t *testing.T, method, url string, body io.Reader) (int, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if len(answer) > 0 && response.StatusCode != http.StatusMethodNotAllowed && response.StatusCode != http.StatusNotFound {
		assert.Equal(t, "application/json", response.Header.Get("Content-Type"))
	}
	return response.StatusCode, answer
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

// startAnswering starts an agent with the same answer to every call.
func startAnswering(t *testing.T, answer string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

const anything = `{"jsonrpc":"2.0","result":{"status":"ok"},"id":1}`

// requireLikeExample compares an answer with the example of the specification: it has
// every field, with the same value unless except names the field.
func requireLikeExample(t *testing.T, name string, answer object, except ...string) {
	t.Helper()
	var wanted struct {
		Result object `json:"result"`
	}
	require.NoError(t, json.Unmarshal([]byte(example(t, name)), &wanted))
	for field, value := range wanted.Result {
		if assert.Contains(t, answer, field) && !contains(except, field) {
			assert.Equal(t, value, answer[field], field)
		}
	}
}

func contains(list []string, one string) bool {
	for _, s := range list {
		if s == one {
			return true
		}
	}
	return false
}

func TestRegistrationsAndQueriesAreAnsweredInTheSpecifiedForm(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "4")
	here := startAnswering(t, anything)

	referee := example(t, registerReferee, exampleReferee, here)
	answer := resultOf(t, m.url, referee)
	requireLikeExample(t, registeredAnswer, answer, "timestamp", "auth_token")
	assert.Regexp(t, `^tok-ref01-[\w-]{20,}$`, answer["auth_token"])
	assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, answer["timestamp"])

	player := example(t, registerPlayer, examplePlayer, here)
	answer = resultOf(t, m.url, player)
	requireLikeExample(t, acceptedAnswer, answer, "timestamp", "auth_token")
	token := answer["auth_token"].(string)
	assert.Regexp(t, `^tok-p01-[\w-]{20,}$`, token)

	again := resultOf(t, m.url, player)
	assert.Equal(t, token, again["auth_token"], "whose answer was lost asks once more, and is the same player")
	assert.Equal(t, "P01", again["player_id"])

	second := resultOf(t, m.url, example(t, registerPlayer, examplePlayer, startAnswering(t, anything),
		"Agent Alpha", "Agent Beta", "player:alpha", "player:beta", "reg-001", "reg-002"))
	assert.Equal(t, "P02", second["player_id"])
	assert.NotEqual(t, token, second["auth_token"])

	for _, asked := range []string{
		example(t, queryStandings, exampleToken, token),
		example(t, queryStandings, exampleToken, token, `"league_query"`, `"mcp_message"`),
		example(t, queryStandings, exampleToken, token, `"league_query"`, `"LEAGUE_QUERY"`),
		example(t, queryStandings, exampleToken, token, `1501`, `"a string"`),
	} {
		answer = resultOf(t, m.url, asked)
		assert.Equal(t, "LEAGUE_QUERY_RESPONSE", answer["message_type"])
		assert.Equal(t, "conv-query-standings-001", answer["conversation_id"], "that of the request")
		assert.Equal(t, true, answer["success"])
		assert.NotContains(t, answer, "auth_token")
		want := []any{
			object{"rank": 1.0, "player_id": "P01", "display_name": "Agent Alpha", "played": 0.0, "wins": 0.0, "draws": 0.0, "losses": 0.0, "points": 0.0},
			object{"rank": 2.0, "player_id": "P02", "display_name": "Agent Beta", "played": 0.0, "wins": 0.0, "draws": 0.0, "losses": 0.0, "points": 0.0},
		}
		assert.Equal(t, want, answer["standings"])
		assert.Equal(t, want, answer["data"].(object)["standings"])
	}

	for query, wanted := range map[string]object{
		"GET_STATUS":       {"state": "WAITING_FOR_REGISTRATIONS", "players": 2.0, "referees": 1.0, "recorded": 0.0},
		"GET_PLAYER_STATS": {"player_id": "P01", "state": "REGISTERED", "played": 0.0},
		"GET_NEXT_MATCH":   {"next_match": nil},
		"GET_SCHEDULE":     {"matches": []any{}},
	} {
		answer = resultOf(t, m.url, example(t, queryStandings, exampleToken, token, "GET_STANDINGS", query))
		assert.Equal(t, true, answer["success"], query)
		assert.Equal(t, query, answer["query_type"])
		for field, value := range wanted {
			assert.Equal(t, value, answer["data"].(object)[field], "%s: %s", query, field)
		}
	}

	m.awaitPings(t, 3)
	status, body := fetch(t, http.MethodGet, strings.TrimSuffix(m.url, "/mcp")+"/healthz", nil)
	assert.Equal(t, http.StatusOK, status)
	assert.JSONEq(t, `{"status": "ok", "role": "league_manager", "display_name": "League Manager", "league_id": "league_2025_even_odd", "state": "WAITING_FOR_REGISTRATIONS",
		"round": 0, "rounds": 0, "matches": 0, "recorded": 0, "players": 2, "referees": 1,
		"awaited": [], "agent_states": {"REGISTERED": 3, "ACTIVE": 0, "SUSPENDED": 0, "SHUTDOWN": 0}}`, string(body))
}

func TestRejectedRegistrationsNameTheReason(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "2", "--referees", "2")
	here := startAnswering(t, anything)
	resultOf(t, m.url, example(t, registerReferee, exampleReferee, here))
	resultOf(t, m.url, example(t, registerPlayer, examplePlayer, here))
	m.awaitPings(t, 2)
	const another = "conv-player-another-reg-001"
	elsewhere := strings.NewReplacer("localhost", "127.8.8.8", "127.0.0.1", "127.8.8.8", "/mcp", "/a").Replace(m.url)
	tests := []struct {
		name   string
		body   string
		code   string
		called string // name of the code
		reason string
	}{
		{"a name that another has", example(t, registerPlayer, examplePlayer, here, "conv-player-alpha-reg-001", another),
			"E024", "DUPLICATE_NAME", `display_name "Agent Alpha" is taken: choose another`},
		{"a game that is not played", example(t, registerPlayer, examplePlayer, here, "Agent Alpha", "Agent Beta", `"even_odd"`, `"chess"`),
			"E026", "UNSUPPORTED_GAME_TYPE", "this league plays even_odd"},
		{"an endpoint that is none", example(t, registerPlayer, examplePlayer, "ftp://localhost/mcp", "Agent Alpha", "Agent Beta"),
			"E025", "INVALID_ENDPOINT", "contact_endpoint must be an absolute URL with scheme http or https and without a password"},
		{"an endpoint elsewhere, of a manager on this machine", example(t, registerPlayer, examplePlayer, "http://192.0.2.1:8101/mcp", "Agent Alpha", "Agent Beta"),
			"E025", "INVALID_ENDPOINT", "contact_endpoint http://192.0.2.1:8101/mcp: 192.0.2.1 has no address that this league may call (see allowed_endpoints)"},
		{"an endpoint that another player has", example(t, registerPlayer, examplePlayer, here, "Agent Alpha", "Agent Beta"),
			"E025", "INVALID_ENDPOINT", "another player is registered at this contact_endpoint; to return as that agent, send its auth_token"},
		{"the manager's own endpoint", example(t, registerPlayer, examplePlayer, m.url, "Agent Alpha", "Agent Beta"),
			"E025", "INVALID_ENDPOINT", "contact_endpoint " + m.url + ": it is the endpoint of the league manager itself"},
		{"another path of the manager", example(t, registerPlayer, examplePlayer, elsewhere, "Agent Alpha", "Agent Beta"),
			"E025", "INVALID_ENDPOINT", "contact_endpoint " + elsewhere + ": it is the endpoint of the league manager itself"},
		{"an old protocol version", example(t, registerPlayer, examplePlayer, here, "Agent Alpha", "Agent Beta",
			`"version": "1.0.0",`, `"version": "1.0.0", "protocol_version": "1.9.0",`),
			"E018", "PROTOCOL_VERSION_MISMATCH", "protocol version 1.9.0 is not supported: 2.0.0 to 2.1.0"},
	}
	refused := func(t *testing.T, body, code, called, reason string) {
		t.Helper()
		answer := resultOf(t, m.url, body)
		assert.Equal(t, "LEAGUE_REGISTER_RESPONSE", answer["message_type"])
		assert.Equal(t, "REJECTED", answer["status"])
		assert.Contains(t, answer, "player_id")
		assert.Nil(t, answer["player_id"])
		assert.Equal(t, []any{code, called, reason}, []any{answer["error_code"], answer["error_name"], answer["reason"]})
		assert.NotContains(t, answer, "auth_token")
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { refused(t, tt.body, tt.code, tt.called, tt.reason) })
	}
	t.Run("a league that is full", func(t *testing.T) {
		beta := []string{examplePlayer, startAnswering(t, anything), "Agent Alpha", "Agent Beta", "player:alpha", "player:beta"}
		assert.Equal(t, "ACCEPTED", resultOf(t, m.url, example(t, registerPlayer, beta...))["status"])
		m.awaitPings(t, 3)
		refused(t, example(t, registerPlayer, examplePlayer, startAnswering(t, anything), "Agent Alpha", "Agent Gamma"), "E020", "LEAGUE_FULL", "the league is full: it takes 2 players")
	})
}

// leagueError checks a JSON-RPC error whose data is a whole LEAGUE_ERROR, and
// returns it.
func leagueError(t *testing.T, response object, rpc int, code, name string) object {
	t.Helper()
	require.Contains(t, response, "error", "%v", response)
	e := response["error"].(object)
	assert.EqualValues(t, rpc, e["code"])
	assert.Equal(t, name, e["message"])
	require.IsType(t, object{}, e["data"], "%v", e)
	data := e["data"].(object)
	for field, want := range (object{
		"protocol": "league.v2", "message_type": "LEAGUE_ERROR", "sender": "league_manager",
		"error_code": code, "error_name": name, "error_description": name, "retryable": false,
	}) {
		assert.Equal(t, want, data[field], field)
	}
	assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, data["timestamp"])
	assert.NotEmpty(t, data["conversation_id"])
	assert.NotContains(t, fmt.Sprint(data), "tok-p01-", "no token in an error")
	return data
}

func TestWrongRequestsGetALeagueError(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "4")
	here := startAnswering(t, anything)
	player := resultOf(t, m.url, example(t, registerPlayer, examplePlayer, here))
	token := player["auth_token"].(string)
	referee := resultOf(t, m.url, example(t, registerReferee, exampleReferee, here))["auth_token"].(string)
	schema, err := compileSchema(output(t, "schema", "LEAGUE_ERROR"))
	require.NoError(t, err)

	report := func(oldnew ...string) string { return example(t, "003-8.7.6-match_result_report", oldnew...) }
	tests := []struct {
		name   string
		body   string
		rpc    int
		code   string
		called string
		detail string
	}{
		{"a field is missing", example(t, registerPlayer, `"display_name": "Agent Alpha",`, ``),
			-32602, "E003", "MISSING_REQUIRED_FIELD", "player_meta.display_name"},
		{"a field is null", example(t, registerPlayer, `"Agent Alpha"`, `null`),
			-32602, "E003", "MISSING_REQUIRED_FIELD", "player_meta.display_name"},
		{"a field has the wrong type", example(t, registerPlayer, `"Agent Alpha"`, `17`),
			-32602, "E002", "INVALID_FIELD_TYPE", "player_meta.display_name"},
		{"no token", example(t, queryStandings, `"auth_token": "`+exampleToken+`",`, ``),
			6001, "E011", "AUTH_TOKEN_MISSING", "auth_token is required after registration"},
		{"a token that was never issued", example(t, queryStandings),
			6001, "E012", "AUTH_TOKEN_INVALID", "auth_token is not that of a registered agent"},
		{"the token of another agent", example(t, queryStandings, exampleToken, referee),
			14, "E014", "NOT_AUTHORIZED", "auth_token is that of REF01, not of player:P01"},
		{"another protocol", example(t, queryStandings, exampleToken, token, "league.v2", "league.v1"),
			18, "E018", "PROTOCOL_VERSION_MISMATCH", "protocol"},
		{"local time", example(t, queryStandings, exampleToken, token, "10:25:00Z", "10:25:00+02:00"),
			21, "E021", "INVALID_TIMESTAMP", "timestamp"},
		{"a report without a token", report(`"auth_token": "tok-ref01-abc123",`, ``),
			5001, "E011", "AUTH_TOKEN_MISSING", ""},
		{"a report with a wrong token", report(), 5001, "E012", "AUTH_TOKEN_INVALID", ""},
		{"a report by a player", report("tok-ref01-abc123", token, "referee:REF01", "player:P01"),
			13, "E013", "REFEREE_NOT_REGISTERED", "P01 is no referee"},
		{"a report before the start of the league", report("tok-ref01-abc123", referee),
			30, "E030", "LEAGUE_NOT_STARTED", "the league has not started"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := leagueError(t, call(t, m.url, tt.body), tt.rpc, tt.code, tt.called)
			require.NoError(t, schema.Validate(data), "as the schema has it")
			var request struct {
				Params object `json:"params"`
			}
			require.NoError(t, json.Unmarshal([]byte(tt.body), &request))
			assert.Equal(t, request.Params["conversation_id"], data["conversation_id"])
			assert.Equal(t, request.Params["message_type"], data["original_message_type"])
			context := data["context"].(object)
			assert.Contains(t, context["detail"], tt.detail)
			assert.Equal(t, request.Params["message_type"], context["action"])
		})
	}

	t.Run("the error names all broken fields", func(t *testing.T) {
		body := example(t, registerPlayer, `"Agent Alpha"`, `""`, `"http://localhost:8101/mcp"`, `5`, `"2025-01-15T10:05:00Z"`, `"now"`)
		data := leagueError(t, call(t, m.url, body), 21, "E021", "INVALID_TIMESTAMP")
		var fields []any
		for _, f := range data["context"].(object)["fields"].([]any) {
			fields = append(fields, f.(object)["field"])
		}
		assert.ElementsMatch(t, []any{"timestamp", "player_meta.display_name", "player_meta.contact_endpoint"}, fields)
	})

	queries := []struct{ name, old, new, code, called string }{
		{"an unknown player", `"GET_STANDINGS"`, `"GET_PLAYER_STATS", "query_params": {"player_id": "P77"}`, "E005", "PLAYER_NOT_REGISTERED"},
		{"an unknown query type", `"GET_STANDINGS"`, `"GET_WEATHER"`, "E016", "INVALID_QUERY_TYPE"},
		{"another league", `"league_2025_even_odd"`, `"league_of_others"`, "E017", "LEAGUE_NOT_FOUND"},
	}
	for _, tt := range queries {
		t.Run(tt.name, func(t *testing.T) {
			answer := resultOf(t, m.url, example(t, queryStandings, exampleToken, token, tt.old, tt.new))
			assert.Equal(t, "LEAGUE_QUERY_RESPONSE", answer["message_type"])
			assert.Equal(t, false, answer["success"])
			e := answer["error"].(object)
			assert.Equal(t, []any{tt.code, tt.called}, []any{e["error_code"], e["error_name"]})
			assert.NotEmpty(t, e["error_description"])
		})
	}
}

func TestRequestsThatAreNoJSONRPCCallsAreRefused(t *testing.T) {
	t.Parallel()
	m := startManager(t)
	rpcError := func(t *testing.T, body string, code int) object {
		t.Helper()
		response := call(t, m.url, body)
		require.Contains(t, response, "error")
		assert.EqualValues(t, code, response["error"].(object)["code"])
		return response
	}
	ping := `{"jsonrpc": "2.0", "method": "ping", "id": 7}`

	assert.Contains(t, rpcError(t, `{"jsonrpc": "2.0", `, -32700), "id")
	assert.Nil(t, rpcError(t, `{"jsonrpc": "2.0", "method": "ping", "id": 1} and more`, -32700)["id"])
	rpcError(t, ``, -32700)
	rpcError(t, `{"jsonrpc": "1.0", "method": "ping", "id": 1}`, -32600)
	rpcError(t, `{"jsonrpc": "2.0", "method": 5, "id": 1}`, -32600)
	assert.Nil(t, rpcError(t, `[]`, -32600)["id"])
	rpcError(t, `{"jsonrpc": "2.0", "method": "make_tea", "params": {}, "id": 1}`, -32601)
	rpcError(t, `{"jsonrpc": "2.0", "method": "make_tea", "params": {"message_type": "TEA"}, "id": "x"}`, -32601)
	assert.Equal(t, "PONG", resultOf(t, m.url, ping)["message_type"])

	t.Run("a batch", func(t *testing.T) {
		status, body := post(t, m.url, `[`+ping+`, {"jsonrpc": "2.0", "method": "ping"}, {"jsonrpc": "2.0", "method": "make_tea", "id": "tea"}, 5]`)
		assert.Equal(t, http.StatusOK, status)
		var answers []object
		require.NoError(t, json.Unmarshal(body, &answers))
		require.Len(t, answers, 3, "the notification is not answered")
		assert.EqualValues(t, 7, answers[0]["id"])
		assert.Contains(t, answers[0], "result")
		assert.Equal(t, "tea", answers[1]["id"])
		assert.EqualValues(t, -32601, answers[1]["error"].(object)["code"])
		assert.Nil(t, answers[2]["id"])
		assert.EqualValues(t, -32600, answers[2]["error"].(object)["code"])
	})
	t.Run("a notification", func(t *testing.T) {
		for _, body := range []string{
			`{"jsonrpc": "2.0", "method": "ping"}`, `{"jsonrpc": "2.0", "method": "make_tea", "params": {}}`,
			`[{"jsonrpc": "2.0", "method": "ping"}]`,
		} {
			status, answer := post(t, m.url, body)
			assert.Equal(t, http.StatusNoContent, status)
			assert.Empty(t, answer)
		}
	})
	t.Run("a body that is too large", func(t *testing.T) {
		large := example(t, registerPlayer, "Agent Alpha", strings.Repeat("A", 20<<10))
		for name, body := range map[string]io.Reader{
			"with a length": strings.NewReader(large), "in pieces": io.MultiReader(bytes.NewBufferString(large)),
		} {
			status, answer := fetch(t, http.MethodPost, m.url, body)
			assert.Equal(t, http.StatusRequestEntityTooLarge, status, name)
			var response object
			require.NoError(t, json.Unmarshal(answer, &response))
			data := leagueError(t, response, 23, "E023", "MESSAGE_TOO_LARGE")
			assert.Contains(t, data["context"].(object)["detail"], "10240 bytes")
		}
	})
	t.Run("other HTTP methods", func(t *testing.T) {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			status, _ := fetch(t, method, m.url, nil)
			assert.Equal(t, http.StatusMethodNotAllowed, status, method)
		}
		status, _ := post(t, strings.TrimSuffix(m.url, "mcp"), ping)
		assert.Equal(t, http.StatusNotFound, status)
	})
	assert.Equal(t, "PONG", resultOf(t, m.url, ping)["message_type"], "it still answers")
}

func TestLeagueIsStartedByStartLeague(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "0")
	here := startAnswering(t, anything)
	begin := func(token string) object {
		return call(t, m.url, `{"jsonrpc": "2.0", "method": "start_league", "params": {"auth_token": "`+token+`"}, "id": 9}`)
	}
	leagueError(t, begin(""), 11, "E011", "AUTH_TOKEN_MISSING")
	leagueError(t, begin("adm-wrong"), 12, "E012", "AUTH_TOKEN_INVALID")
	leagueError(t, begin(m.admin), 30, "E030", "LEAGUE_NOT_STARTED")

	referee := resultOf(t, m.url, example(t, registerReferee, exampleReferee, here))["auth_token"].(string)
	player := resultOf(t, m.url, example(t, registerPlayer, examplePlayer, here))["auth_token"].(string)
	m.awaitPings(t, 2)
	data := leagueError(t, begin(m.admin), 30, "E030", "LEAGUE_NOT_STARTED")
	assert.Equal(t, "1 player and 1 referee have answered: a league needs 2 players and 1 referee", data["context"].(object)["detail"])
	for _, beta := range []string{"Beta", "Gamma"} {
		resultOf(t, m.url, example(t, registerPlayer, examplePlayer, startAnswering(t, anything), "Agent Alpha", "Agent "+beta, "player:alpha", "player:"+beta))
	}
	for _, token := range []string{referee, player} {
		response := begin(token)
		leagueError(t, response, 12, "E012", "AUTH_TOKEN_INVALID")
	}

	m.awaitPings(t, 4)
	response := begin(m.admin)
	require.Contains(t, response, "result")
	started := response["result"].(object)
	for field, want := range (object{
		"status": "STARTED", "league_id": "league_2025_even_odd", "players": 3.0, "referees": 1.0, "rounds": 3.0, "matches": 3.0,
	}) {
		assert.Equal(t, want, started[field], field)
	}

	t.Run("later registrations are rejected", func(t *testing.T) {
		late := resultOf(t, m.url, example(t, registerPlayer, examplePlayer, here, "Agent Alpha", "Agent Omega", "player:alpha", "player:omega"))
		assert.Equal(t, []any{"REJECTED", nil, "E019", "LATE_REGISTRATION", "the league has started"},
			[]any{late["status"], late["player_id"], late["error_code"], late["error_name"], late["reason"]})
		late = resultOf(t, m.url, example(t, registerReferee, exampleReferee, here, "Referee Alpha", "Referee Omega", "conv-ref-alpha-reg-001", "conv-ref-omega"))
		assert.Equal(t, []any{"REJECTED", nil, "E019"}, []any{late["status"], late["referee_id"], late["error_code"]})
	})
	t.Run("registered agents may register again", func(t *testing.T) {
		back := resultOf(t, m.url, example(t, registerPlayer, examplePlayer, here, `"conversation_id"`, `"auth_token": "`+player+`", "conversation_id"`))
		assert.Equal(t, []any{"ACCEPTED", "P01", player}, []any{back["status"], back["player_id"], back["auth_token"]})
	})
	t.Run("the manager answers with the schedule", func(t *testing.T) {
		answer := resultOf(t, m.url, example(t, queryStandings, exampleToken, player, "GET_STANDINGS", "GET_SCHEDULE"))
		assert.Len(t, answer["data"].(object)["matches"], 1, "three players, one match a round")
	})
}

// A request that is too large or that no handler can read is one WARN in the log.
func TestUnreadableRequestsAreLogged(t *testing.T) {
	t.Parallel()
	m := startManager(t)
	status, _ := post(t, m.url, `{"jsonrpc":"2.0","method":"register_player","params":{"x":"`+strings.Repeat("x", 11<<10)+`"},"id":1}`)
	assert.Equal(t, http.StatusRequestEntityTooLarge, status)
	m.await(t, `"level":"WARN".*"address":"127.0.0.1","error_code":"E023","error_name":"MESSAGE_TOO_LARGE","defect":"a request has at most 10240 bytes".*"event_type":"REQUEST_REFUSED"`)
	_, answer := post(t, m.url, `{"jsonrpc":"2.0","method":"register_player","params":5,"id":1}`)
	assert.Contains(t, string(answer), "-32600")
	m.await(t, `"level":"WARN".*"method":"register_player".*"defect":"JSON-RPC error -32600: .*params must be an object or an array".*"event_type":"REQUEST_REFUSED"`)
}

// A call to a path or of a method that the manager does not have is one WARN that says what to
// do. A page that a browser asks for is none.
func TestMisdirectedCallsAreLogged(t *testing.T) {
	t.Parallel()
	m := startManager(t)
	base := strings.TrimSuffix(m.url, "/mcp")
	status, _ := post(t, base+"/register", `{"display_name":"Alpha"}`)
	assert.Equal(t, http.StatusNotFound, status)
	m.await(t, `"level":"WARN","method":"POST /register","sender":"","address":"127.0.0.1",`+
		`"defect":"send JSON-RPC 2.0 by POST to http://[^"]*/mcp","event_type":"REQUEST_REFUSED"`)
	_, answer := post(t, m.url, `{"jsonrpc":"2.0","method":"register","params":{},"id":1}`)
	assert.Contains(t, string(answer), "-32601")
	m.await(t, `"level":"WARN","method":"register","sender":"","address":"127.0.0.1",`+
		`"defect":"JSON-RPC error -32601: Method not found: call register_player, register_referee, report_match_result, league_query"`)
	for _, path := range []string{"/favicon.ico", "/mcp"} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, http.NoBody)
		require.NoError(t, err)
		r, err := http.DefaultClient.Do(q)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		assert.GreaterOrEqual(t, r.StatusCode, 400)
	}
	assert.Equal(t, 2, strings.Count(m.stderr.String(), "REQUEST_REFUSED"))
}
