package bridge

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
)

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
	assert.Equal(t, membership{player: true, leagueID: "l", agentID: "P01", thirdParty: true}, p.membership())
}

// A notice without a tool is rejected without a request, and the log has the reason.
func TestNoticeWithoutAToolIsRejected(t *testing.T) {
	var log bytes.Buffer
	p := newTestPeers(zerolog.New(&log))
	agent := &toolAgent{tools: `{"name":"game_invitation"}`, answer: func(string, string) string { return `{"structuredContent":{"accept":true}}` }}
	_, _, err := p.call(t.Context(), there, "", "handle_game_invitation", asking("handle_game_invitation", invitation), agent.post)
	require.NoError(t, err)
	_, answer, err := p.call(t.Context(), there, "", "notify_match_result", asking("notify_match_result", gameOver), func(context.Context, string, map[string]string, []byte) (transport.Posted, error) {
		assert.Fail(t, "the agent was called")
		return transport.Posted{}, nil
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"the agent has no MCP tool for this call"},"id":7}`, string(answer))
	assert.Equal(t, 1, strings.Count(log.String(), "MCP_TOOLS_LISTED"))
	assert.Contains(t, log.String(), "the agent has no MCP tool for this call")
}

// A server that asks to wait when it is greeted ends the search.
func TestBusyServerEndsTheSearch(t *testing.T) {
	p := newTestPeers(zerolog.Nop())
	last := ""
	status, _, err := p.call(t.Context(), there, "", "choose_parity", asking("choose_parity", choiceCall),
		func(_ context.Context, _ string, _ map[string]string, body []byte) (transport.Posted, error) {
			if last = protocol.ParseObject(body).Text("method"); last == "initialize" {
				return transport.Posted{Status: 503}, nil
			}
			return transport.Posted{Status: 400}, nil
		})
	require.NoError(t, err)
	assert.Equal(t, []any{503, "initialize"}, []any{status, last})
}
