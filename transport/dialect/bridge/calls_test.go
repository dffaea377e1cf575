package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
)

const there = "http://127.0.0.1:8101/mcp"

// A thirdPartyAgent is a fake. It answers, and remembers the requests.
type thirdPartyAgent struct {
	answer func(url string, asked protocol.Object) (status int, answer string)
	urls   []string
	bodies []string
}

func (s *thirdPartyAgent) post(ctx context.Context, url string, _ map[string]string, body []byte) (transport.Posted, error) {
	if err := ctx.Err(); err != nil {
		return transport.Posted{}, err
	}
	asked := protocol.ParseObject(body)
	switch asked.Text("method") {
	case "initialize", "server/discover", "tools/list": // it is no MCP server
		return transport.Posted{Status: 404}, nil
	}
	s.urls, s.bodies = append(s.urls, url), append(s.bodies, string(body))
	status, answer := s.answer(url, asked)
	return transport.Posted{Status: status, Body: []byte(answer)}, nil
}

func (s *thirdPartyAgent) tries() int {
	n := len(s.bodies)
	s.urls, s.bodies = nil, nil
	return n
}

func newTestPeers(log zerolog.Logger) *Bridge {
	return New(Options{Clock: protocol.SystemClock(), Log: log})
}

// asking is a request in the form of our agents.
func asking(method, message string) []byte {
	return []byte(`{"jsonrpc":"2.0","method":"` + method + `","params":` + message + `,"id":7}`)
}

const (
	invitation = `{"protocol":"league.v2","message_type":"GAME_INVITATION","sender":"referee:REF01","match_id":"R1M1","attempt":1,"draw_commitment":"00"}`
	choiceCall = `{"protocol":"league.v2","message_type":"CHOOSE_PARITY_CALL","sender":"referee:REF01","match_id":"R1M1"}`
	gameOver   = `{"protocol":"league.v2","message_type":"GAME_OVER","sender":"referee:REF01","match_id":"R1M1"}`
	joins      = `{"jsonrpc":"2.0","result":{"protocol":"league.v2","message_type":"GAME_JOIN_ACK","accept":true},"id":7}`
	chooses    = `{"jsonrpc":"2.0","result":{"protocol":"league.v2","message_type":"CHOOSE_PARITY_RESPONSE","parity_choice":"even"},"id":7}`
	noted      = `{"jsonrpc":"2.0","result":{"status":"received"},"id":7}`
	notFound   = `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":7}`
)

// responseOf makes a call that arrives, and returns the response.
func responseOf(t *testing.T, p *Bridge, post transport.Post, method, message string) (status int, answer string) {
	t.Helper()
	status, body, err := p.call(t.Context(), there, "", method, asking(method, message), post)
	require.NoError(t, err)
	return status, string(body)
}

// callOf is responseOf with HTTP status 200.
func callOf(t *testing.T, p *Bridge, s *thirdPartyAgent, method, message string) string {
	t.Helper()
	status, answer := responseOf(t, p, s.post, method, message)
	assert.Equal(t, 200, status)
	return answer
}

// always has a third-party agent give one answer.
func always(status int, answer string) *thirdPartyAgent {
	return &thirdPartyAgent{answer: func(string, protocol.Object) (int, string) { return status, answer }}
}

func TestErrorAboutContentEndsTheSearch(t *testing.T) {
	for name, answer := range map[string]string{
		"a code of the catalogue":             `{"jsonrpc":"2.0","error":{"code":-32602,"message":"INVALID_FIELD_TYPE","data":{"message_type":"LEAGUE_ERROR","error_code":"E002"}},"id":7}`,
		"a code of the catalogue in the text": `{"jsonrpc":"2.0","error":{"code":-32602,"message":"E012: invalid token"},"id":7}`,
		"a number of the catalogue":           `{"jsonrpc":"2.0","error":{"code":4005,"message":"no such match"},"id":7}`,
		"an error in place of the result":     `{"jsonrpc":"2.0","result":{"message_type":"GAME_ERROR","error_code":"E003"},"id":7}`,
		"an internal error of our agent":      `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":7}`,
		"a reply of the right type":           `{"jsonrpc":"2.0","id":7,"result":{"message_type":"CHOOSE_PARITY_RESPONSE"}}`,
		"a wrong choice":                      `{"jsonrpc":"2.0","id":7,"result":{"choice":"EVEN"}}`,
		"a refusal with a code, by HTTP too":  `{"error":{"error_code":"E011"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestPeers(zerolog.Nop())
			status := 200
			if strings.Contains(name, "HTTP") {
				status = 400
			}
			s := always(status, answer)
			callOf(t, p, s, "choose_parity", choiceCall)
			assert.Equal(t, 1, s.tries())
		})
	}
}

// For a while, an agent that rejects all forms is called in the specification's form alone.
// A call that has used half of its window leaves the other forms to the next call.
func TestAgentThatRejectsAllFormsIsCalledInOneForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, refusal := range []struct {
			status int
			answer string
		}{
			{200, notFound},
			{200, `{"error":"Unknown method"}`},
			{200, `{"error":"unknown message type: GAME_OVER"}`},
			{200, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"something else"},"id":7}`},
			{200, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Missing required fields"},"id":7}`},
			{500, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Unknown tool: choose_parity"},"id":7}`},
			{200, `{"error":"something else"}`}, {200, `<html>`}, {200, ``}, {200, `[1]`}, {200, `{"detail":"Not Found"}`},
			{302, ``}, {400, `no`}, {401, ``}, {404, `{"detail":"Not Found"}`}, {405, ``}, {422, `{"detail":[]}`}, {500, `<html>`}, {501, ``},
			{200, `{"jsonrpc":"2.0","result":{"status":"ok"},"id":7}`}, {200, `{"jsonrpc":"2.0","result":null,"id":7}`},
		} {
			p := newTestPeers(zerolog.Nop())
			s := always(refusal.status, refusal.answer)
			ask := func() []any {
				status, answer := responseOf(t, p, s.post, "choose_parity", choiceCall)
				return []any{status, answer}
			}
			first := ask()
			tried := slices.Clone(s.bodies)
			assert.Len(t, tried, formsOf("choose_parity"), refusal)
			assert.Equal(t, string(asking("choose_parity", choiceCall)), tried[0])
			assert.Len(t, slices.Compact(slices.Sorted(slices.Values(tried))), len(tried), "no form twice")
			s.tries()
			assert.Equal(t, first, ask())
			assert.Equal(t, []string{tried[0]}, s.bodies, "the protocol's own form alone")
			s.tries()
			time.Sleep(refusedFor)
			ask()
			assert.Equal(t, formsOf("choose_parity"), s.tries(), "after a while all are tried again")
		}
	})
}

// After a form is learned, a rejection leads to no other form, also where the learned form
// is the specification's.
func TestLearnedFormIsTheOnlyOneThatIsTried(t *testing.T) {
	for _, name := range []string{"choose_parity", "parity_choose", "handle_message"} {
		for rejection, status := range map[string]int{notFound: 200, `{"detail":"Not Found"}`: 404, `<html>`: 500, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Missing required fields"},"id":7}`: 200} {
			p, rejects := newTestPeers(zerolog.Nop()), false
			s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
				if asked.Text("method") == name && !rejects {
					return 200, chooses
				}
				return status, rejection
			}}
			assert.Equal(t, chooses, callOf(t, p, s, "choose_parity", choiceCall))
			rejects = true
			s.tries()
			for range 3 {
				got, answer := responseOf(t, p, s.post, "choose_parity", choiceCall)
				assert.Equal(t, []any{status, rejection}, []any{got, answer})
				assert.Equal(t, 1, s.tries(), name)
			}
			rejects = false
			assert.Equal(t, chooses, callOf(t, p, s, "choose_parity", choiceCall))
			assert.Equal(t, 1, s.tries())
		}
	}
}

func TestSearchEndsWithABrokenConnection(t *testing.T) {
	p, broken := newTestPeers(zerolog.Nop()), errors.New("broken")
	n := 0
	_, _, err := p.call(t.Context(), there, "", "choose_parity", asking("choose_parity", choiceCall), func(context.Context, string, map[string]string, []byte) (transport.Posted, error) {
		if n++; n > 2 {
			return transport.Posted{}, broken
		}
		return transport.Posted{Status: 404}, nil
	})
	require.ErrorIs(t, err, broken)
	assert.Equal(t, 3, n)
}

func TestRememberedEndpointsAreBounded(t *testing.T) {
	p := newTestPeers(zerolog.Nop())
	s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
		if asked.Text("method") == "GAME_OVER" {
			return 200, `{"jsonrpc":"2.0","id":1,"result":{"status":"received"}}`
		}
		return 404, ""
	}}
	for i := range maxKept + 100 {
		_, _, err := p.call(t.Context(), fmt.Sprintf("http://h%d/mcp", i), "", "notify_match_result", asking("notify_match_result", gameOver), s.post)
		require.NoError(t, err)
	}
	assert.Len(t, p.peers.values, maxKept)
	assert.NotContains(t, p.peers.values, "http://h0/mcp", "the first is forgotten")
	assert.Contains(t, p.peers.values, fmt.Sprintf("http://h%d/mcp", maxKept+99))
	first := p.peers.keys[0]
	received := always(200, `{"jsonrpc":"2.0","id":7,"result":{"status":"received"}}`)
	callOf(t, p, received, "notify_match_result", gameOver)
	assert.NotContains(t, p.peers.values, there, "an agent that needs only the specification's form evicts no other")
	assert.Equal(t, first, p.peers.keys[0])
}

// An agent that accepts manager messages of league_manager:LM01 alone gets them from this
// sender after its first refusal, under every method, and no other agent does.
func TestNumberedManagerIsRememberedPerEndpoint(t *testing.T) {
	const (
		refusal = `{"jsonrpc":"2.0","error":{"code":-32602,"message":"Sender not registered","data":{"error_code":"E004","sender":"league_manager","message":"Sender not registered"}},"id":7}`
		unknown = `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found","data":{"error_code":"E018","message":"Method not found"}},"id":7}`
		round   = `{"protocol":"league.v2","message_type":"ROUND_ANNOUNCEMENT","sender":"league_manager","round_id":1,"matches":[{"sender":"league_manager"}]}`
		table   = `{"protocol":"league.v2","message_type":"LEAGUE_STANDINGS_UPDATE","sender":"league_manager","round_id":1,"standings":[]}`
	)
	p := newTestPeers(zerolog.Nop())
	s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
		switch {
		case slices.Contains([]string{"start_match", "assign_match", "start_match_command"}, asked.Text("method")):
			return 404, unknown
		case asked.Object("params").Text("sender") != "league_manager:LM01":
			return 400, refusal
		case asked.Text("method") != "START_MATCH" && asked.Object("params").Text("auth_token") == "":
			return 401, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Missing auth token","data":{"error_code":"E012"}},"id":7}`
		}
		return 200, `{"jsonrpc":"2.0","result":{"status":"MATCH_STARTED"},"error":null,"id":7}`
	}}
	answer := callOf(t, p, s, "notify_round", round)
	assert.Contains(t, answer, `"result"`)
	assert.Contains(t, s.bodies[1], `"sender":"league_manager:LM01","auth_token":"none","round_id":1,"matches":[{"sender":"league_manager"}]`)
	assert.Equal(t, 2, s.tries())
	for _, method := range []string{"notify_round", "update_standings", "notify_round"} {
		assert.Contains(t, callOf(t, p, s, method, map[string]string{"notify_round": round, "update_standings": table}[method]), `"result"`)
		assert.Equal(t, 1, s.tries(), "begins with the sender that the agent accepts")
	}

	for i, tries := range []int{5, 1} { // another endpoint: start_match, assign_match, start_match_command, START_MATCH twice
		assert.Equal(t, "ACCEPTED", assigned(t, p, s.post, assignmentOf(fmt.Sprintf("R%dM1", i+1), "P01", "P02")).Text("status"))
		assert.Contains(t, s.bodies[tries-1], `"method":"START_MATCH"`)
		assert.Contains(t, s.bodies[tries-1], `"sender":"league_manager:LM01","timestamp"`, "without a token that the referee could take for its own")
		assert.Equal(t, tries, s.tries())
	}

	_, _, err := p.call(t.Context(), "http://other/mcp", "", "notify_round", asking("notify_round", round), s.post)
	require.NoError(t, err)
	assert.Contains(t, s.bodies[0], `"sender":"league_manager",`, "what one endpoint wants says nothing of another")
}

// A refusal that is about the message, and not about its sender, is returned at once.
func TestManagerMessageIsNotRepeatedForAnotherReason(t *testing.T) {
	for name, refusal := range map[string]string{
		"an error about content":            `{"jsonrpc":"2.0","error":{"code":-32602,"message":"E003: round_id: required"},"id":7}`,
		"a sender that is refused again":    `{"jsonrpc":"2.0","error":{"code":-32602,"message":"Sender not registered","data":{"error_code":"E004"}},"id":7}`,
		"a message that is not our manager": `{"jsonrpc":"2.0","error":{"code":-32602,"message":"E004: Sender not registered"},"id":7}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestPeers(zerolog.Nop())
			s := always(400, refusal)
			method, message, tries := "notify_round", `{"message_type":"ROUND_ANNOUNCEMENT","sender":"league_manager"}`, 1
			switch name {
			case "a sender that is refused again":
				tries = 2
			case "a message that is not our manager":
				method, message = "choose_parity", choiceCall
			}
			for range 2 {
				assert.Contains(t, callOf(t, p, s, method, message), `"error"`)
				assert.Equal(t, tries, s.tries())
			}
		})
	}
}

func TestRegistrationIsRepeatedWithTheSenderThatAManagerKnows(t *testing.T) {
	registration := `{"protocol":"league.v2","message_type":"LEAGUE_REGISTER_REQUEST","sender":"player:alice","player_meta":{"display_name":"Alice","contact_endpoint":"http://localhost:8103/mcp"}}`
	referee := `{"protocol":"league.v2","message_type":"REFEREE_REGISTER_REQUEST","sender":"referee:ref","referee_meta":{"display_name":"Ref","contact_endpoint":"http://localhost:8002/mcp"}}`
	for _, c := range []struct {
		name, method, message, refusal, sender string
		tries                                  int // 0: as many as it takes
	}{
		{"an error", "register_player", registration, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"bad sender"},"id":7}`, "player:P03", 0},
		{"an error of a referee", "register_referee", referee, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"bad sender"},"id":7}`, "referee:REF02", 0},
		{"a refusal", "register_player", registration, `{"jsonrpc":"2.0","result":{"status":"rejected","reason":"unknown player_id alice"},"id":7}`, "player:P03", 2},
		{"a refusal for another reason", "register_player", registration, `{"jsonrpc":"2.0","result":{"status":"REJECTED","reason":"the league is full"},"id":7}`, "", 1},
		{"an error of the catalogue", "register_player", registration, `{"jsonrpc":"2.0","error":{"code":2001,"message":"E020: LEAGUE_FULL"},"id":7}`, "", 1},
		{"an invalid field at our manager", "register_player", registration, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"INVALID_FIELD_TYPE","data":{"message_type":"LEAGUE_ERROR","error_code":"E002","sender":"league_manager","context":{"detail":"player_meta.display_name: text of 1 to 50 characters"}}},"id":7}`, "", 1},
		{"an invalid sender", "register_player", registration, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"E002: sender must be player:Pnn"},"id":7}`, "player:P03", 2},
		{"an endpoint without a number", "register_player", strings.Replace(registration, "8103", "9103", 1), `{"jsonrpc":"2.0","result":{"status":"rejected","reason":"unknown id"},"id":7}`, "", 1},
		{"the sender has the number already", "register_player", strings.Replace(registration, "player:alice", "player:P03", 1), `{"jsonrpc":"2.0","result":{"status":"rejected","reason":"unknown id"},"id":7}`, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTestPeers(zerolog.Nop())
			s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
				if sender := asked.Object("params").Text("sender"); c.sender != "" && sender == c.sender {
					return 200, `{"jsonrpc":"2.0","result":{"status":"ACCEPTED","player_id":"P03","referee_id":"REF02"},"id":7}`
				}
				return 200, c.refusal
			}}
			answer := callOf(t, p, s, c.method, c.message)
			if c.sender == "" {
				assert.NotContains(t, answer, "ACCEPTED")
			} else {
				assert.Contains(t, answer, `"ACCEPTED"`)
				assert.Contains(t, answer, `"auth_token":"none"`)
				assert.Contains(t, answer, `"league_id":"league_2025_even_odd"`)
			}
			if n := s.tries(); c.tries > 0 {
				assert.Equal(t, c.tries, n)
			}
		})
	}
}

// A manager that reads registrations at the top level gets them so, and the description beside them.
func TestManagerThatRequiresFlatRegistrationsGetsThem(t *testing.T) {
	for _, required := range []string{"endpoint", "contact_endpoint", "callback_url"} {
		s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
			q := asked.Object("params")
			if asked.Text("method") != "league_register" || q.Text("display_name") != "Ours" || q.Text(required) != "http://h:1/mcp" {
				return 422, `{"detail":[{"type":"missing","loc":["body","params","` + required + `"],"msg":"Field required"}]}`
			}
			assert.True(t, q.Has("player_meta"), "the members of the specification stay")
			return 200, `{"jsonrpc":"2.0","result":{"status":"ACCEPTED","player_id":"P01"},"id":7}`
		}}
		p := newTestPeers(zerolog.Nop())
		answer := callOf(t, p, s, "register_player", `{"message_type":"LEAGUE_REGISTER_REQUEST","sender":"player:x",`+
			`"player_meta":{"display_name":"Ours","contact_endpoint":"http://h:1/mcp"}}`)
		assert.Contains(t, answer, `"player_id":"P01"`, required)
	}
}

// An agent that requires nested members gets them in the next attempt, and in the first
// attempt of all later questions.
func TestAgentThatRequiresNestedMembersGetsThem(t *testing.T) {
	required := map[string][]string{
		"GAME_INVITATION":    {"league_id", "round_id", "match_id", "game_invitation"},
		"CHOOSE_PARITY_CALL": {"league_id", "round_id", "match_id", "parity_context"},
		"GAME_OVER":          {"league_id", "round_id", "match_id"},
	}
	answers := map[string]string{"GAME_INVITATION": joins, "CHOOSE_PARITY_CALL": chooses, "GAME_OVER": `{"jsonrpc":"2.0","result":{"status":"acknowledged"},"id":7}`}
	s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
		method := asked.Text("method")
		if required[method] == nil {
			return 200, `{"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 7}`
		}
		for _, name := range required[method] {
			if asked.Object("params").Get(name) == nil {
				return 400, `{"jsonrpc": "2.0", "error": {"code": -32602, "message": "Invalid params: 1 validation error\n` + name + `\n  Field required [type=missing]", "data": null}, "id": 7}`
			}
		}
		return 200, answers[method]
	}}
	p := newTestPeers(zerolog.Nop())
	p.options.League = "league_of_others"
	invite := strings.Replace(invitation, `"attempt"`, `"round_id":1,"league_id":"league_of_others","game_type":"even_odd","role_in_match":"PLAYER_A","opponent_id":"P02","attempt"`, 1)
	assert.Equal(t, joins, callOf(t, p, s, "handle_game_invitation", invite))
	last := protocol.ParseObject([]byte(s.bodies[len(s.bodies)-1])).Object("params")
	assert.JSONEq(t, `{"game_type":"even_odd","match_id":"R1M1","role_in_match":"PLAYER_A","opponent_id":"P02"}`, string(last.Get("game_invitation")))
	assert.Equal(t, "P02", last.Text("opponent_id"), "the members of the specification stay")
	assert.Equal(t, formsOf("handle_game_invitation")-1, s.tries(), "the nested forms are the last")

	call := strings.Replace(choiceCall, `"R1M1"`, `"R2M1","context":{"opponent_id":"P02","your_standings":{"wins":1,"losses":0,"draws":0}}`, 1)
	assert.Equal(t, chooses, callOf(t, p, s, "choose_parity", call))
	asked := protocol.ParseObject([]byte(s.bodies[0])).Object("params")
	assert.JSONEq(t, `{"opponent_id":"P02","your_standings":{"wins":1,"losses":0,"draws":0},"valid_options":["even","odd"]}`, string(asked.Get("parity_context")))
	assert.Equal(t, "league_of_others", asked.Text("league_id"))
	assert.Equal(t, 2, asked.Integer("round_id"))
	assert.Equal(t, 1, s.tries())
	assert.Contains(t, callOf(t, p, s, "notify_match_result", gameOver), "acknowledged")
	assert.Equal(t, 1, s.tries())
}

// A toolAgent is an agent that knows only tools/list and tools/call.
type toolAgent struct {
	tools  string                           // as listed
	answer func(name, params string) string // of a tool
}

func (a *toolAgent) post(_ context.Context, _ string, _ map[string]string, body []byte) (transport.Posted, error) {
	asked := protocol.ParseObject(body)
	params := asked.Object("params")
	answer := `"error":{"code":-32601,"message":"Method not found"}`
	switch {
	case asked.Text("method") == "tools/list":
		answer = `"result":{"tools":[` + a.tools + `]}`
	case asked.Text("method") == "tools/call" && strings.Contains(a.tools, `"`+params.Text("name")+`"`):
		answer = `"result":` + a.answer(params.Text("name"), string(params.Get("arguments")))
	}
	return transport.Posted{Status: 200, Body: []byte(`{"jsonrpc":"2.0","id":` + string(asked.Get("id", "jsonrpc")) + `,` + answer + `}`)}, nil
}

// A referee that is only an MCP server gets its matches by a tool of its own, or by the
// announcement of a round.
func TestRefereeWithToolsIsAssignedMatches(t *testing.T) {
	for name, tt := range map[string]struct{ tools, arguments string }{
		"a tool": {
			`{"name":"runMatch","inputSchema":{"properties":{"match_id":{},"player1_endpoint":{},"player_b_url":{}},"additionalProperties":false}}`,
			`{"match_id":"R1M1","player1_endpoint":"http://localhost:8101/mcp","player_b_url":"http://localhost:8102/mcp"}`,
		},
		"an announcement": {
			`{"name":"on_round_announcement","inputSchema":{"properties":{"round_id":{"type":"integer"}},"additionalProperties":false}}`, `{"round_id":1}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestPeers(zerolog.Nop())
			agent, got := &toolAgent{tools: tt.tools}, ""
			agent.answer = func(_, arguments string) string {
				got = arguments
				return `{"structuredContent":{"status":"accepted"}}`
			}
			assert.Equal(t, "ACCEPTED", assigned(t, p, agent.post, theAssignment).Text("status"))
			assert.JSONEq(t, tt.arguments, got)
		})
	}
}

// Our agents register at a manager that is only an MCP server.
func TestRegistrationAtAManagerWithTools(t *testing.T) {
	p := newTestPeers(zerolog.Nop())
	agent := &toolAgent{tools: `{"name":"registerPlayer","inputSchema":{"properties":{"request":{"type":"object"}}}}`, answer: func(_, arguments string) string {
		assert.JSONEq(t, `{"request":{"sender":"player:alice"}}`, arguments)
		return `{"structuredContent":{"status":"ACCEPTED","player_id":"P01","auth_token":"tok-1","league_id":"l"}}`
	}}
	_, err := p.Call(t.Context(), &transport.Request{Endpoint: there, Method: "register_player"}, asking("register_player", `{"sender":"player:alice"}`), agent.post)
	require.NoError(t, err)
	assert.Equal(t, membership{role: protocol.RolePlayer, leagueID: "l", agentID: "P01", thirdParty: true}, p.membership())
}

// A tool whose schema does not fit the message is called in no form, nor is one of several that fit the method: the
// agent would understand another thing.
func TestToolWithAnotherSchemaIsNotCalled(t *testing.T) {
	for name, tt := range map[string]struct{ method, message, tools, want string }{
		"a registration": {"register_player", `{"sender":"player:alice","player_meta":{"display_name":"Alice"}}`,
			`{"name":"register_player","inputSchema":{"properties":{"display_name":{},"endpoint":{}},"required":["display_name","endpoint"]}}`,
			"the MCP tool register_player takes display_name, endpoint, and requires display_name, endpoint, which the message of register_player does not have"},
		"an invitation": {"handle_game_invitation", invitation,
			`{"name":"handle_game_invitation","inputSchema":{"properties":{"match_id":{},"stake":{}},"required":["match_id","stake"]}}`, "requires stake, which"},
		"a third-party name": {"choose_parity", choiceCall,
			`{"name":"receive_parity_call","inputSchema":{"properties":{"match_id":{},"stake":{}},"required":["match_id","stake"]}}`, "requires stake, which"},
		"a report": {"report_match_result", `{"match_id":"R1M1","result":{}}`,
			`{"name":"report_match_result","inputSchema":{"properties":{"winner_id":{},"loser_id":{}}}}`, "requires another argument"},
		"two for a method": {"choose_parity", choiceCall, `{"name":"receive_parity_call"},{"name":"parityChoose"}`, "Method not found"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestPeers(zerolog.Nop())
			agent := &toolAgent{tools: tt.tools, answer: func(tool, _ string) string {
				t.Errorf("the tool %s was called", tool)
				return `{"structuredContent":{"status":"ACCEPTED","accept":true,"parity_choice":"even","player_id":"P01"}}`
			}}
			for range 2 {
				_, answer := responseOf(t, p, agent.post, tt.method, tt.message)
				assert.Contains(t, answer, tt.want)
			}
		})
	}
}

// A notice without a tool is rejected without a request, and the log has the reason.
func TestNoticeWithoutAToolIsRejected(t *testing.T) {
	var log bytes.Buffer
	p := newTestPeers(zerolog.New(&log))
	agent := &toolAgent{tools: `{"name":"game_invitation"}`, answer: func(string, string) string { return `{"structuredContent":{"accept":true}}` }}
	responseOf(t, p, agent.post, "handle_game_invitation", invitation)
	noCall := func(context.Context, string, map[string]string, []byte) (transport.Posted, error) {
		assert.Fail(t, "the agent was called")
		return transport.Posted{}, nil
	}
	_, answer := responseOf(t, p, noCall, "notify_match_result", gameOver)
	const refusal = `{"code":-32601,"message":"the agent has no MCP tool for this call"}`
	assert.JSONEq(t, `{"jsonrpc":"2.0","error":`+refusal+`,"id":7}`, answer)
	assert.Equal(t, 1, strings.Count(log.String(), "MCP_TOOLS_LISTED"))
	assert.Contains(t, log.String(), "the agent has no MCP tool for this call")
}

// A server that asks to wait when it is greeted ends the search.
func TestBusyServerEndsTheSearch(t *testing.T) {
	p := newTestPeers(zerolog.Nop())
	last := ""
	post := func(_ context.Context, _ string, _ map[string]string, body []byte) (transport.Posted, error) {
		if last = protocol.ParseObject(body).Text("method"); last == "initialize" {
			return transport.Posted{Status: 503}, nil
		}
		return transport.Posted{Status: 400}, nil
	}
	status, _ := responseOf(t, p, post, "choose_parity", choiceCall)
	assert.Equal(t, []any{503, "initialize"}, []any{status, last})
}
