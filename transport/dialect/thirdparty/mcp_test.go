package thirdparty

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
	"evenodd/transport/http"
)

// An mcpAgent is a player that is only an MCP server. It counts the methods that are
// called.
type mcpAgent struct {
	*httptest.Server

	handler nethttp.Handler

	mu      sync.Mutex
	methods []string
	session string // in the last header
}

func (a *mcpAgent) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	body, _ := io.ReadAll(r.Body)
	var request struct{ Method string }
	_ = json.Unmarshal(body, &request)
	a.mu.Lock()
	a.methods = append(a.methods, request.Method)
	if id := r.Header.Get("Mcp-Session-Id"); id != "" {
		a.session = id
	}
	a.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	a.handler.ServeHTTP(w, r)
}

// count is the number of calls of a method.
func (a *mcpAgent) count(method string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.methods {
		if m == method {
			n++
		}
	}
	return n
}

// An mcpShape is a kind of MCP server.
type mcpShape struct {
	invitation, choice string // names of tools
	argument           string // that holds the message; "" for the members of the message
	text               bool   // the result is text
	options            *mcp.StreamableHTTPOptions
}

// tool adds a tool to a server.
func (s mcpShape) tool(server *mcp.Server, name string, result map[string]any) {
	argument := "match_id"
	properties := map[string]any{argument: map[string]any{"type": "string"}, "sender": map[string]any{}}
	if s.argument != "" {
		argument = s.argument
		properties = map[string]any{argument: map[string]any{"type": "object"}}
	}
	schema := map[string]any{"type": "object", "properties": properties, "required": []string{argument}, "additionalProperties": false}
	server.AddTool(&mcp.Tool{Name: name, InputSchema: schema}, func(_ context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		message := protocol.ParseObject(q.Params.Arguments)
		if s.argument != "" {
			message = message.Object(s.argument)
		}
		if message.Text("match_id") != "R1M1" || s.argument == "" && len(message) != 2 {
			return &mcp.CallToolResult{IsError: true}, nil
		}
		if s.text {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: written(result)}}}, nil
		}
		return &mcp.CallToolResult{StructuredContent: result, Content: []mcp.Content{}}, nil
	})
}

// start starts the agent.
func (s mcpShape) start(t *testing.T) *mcpAgent {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "player", Version: "1"}, nil)
	s.tool(server, s.invitation, map[string]any{"accept": true})
	s.tool(server, s.choice, map[string]any{"parity_choice": "odd"})
	s.tool(server, "get_weather", nil)
	a := &mcpAgent{handler: mcp.NewStreamableHTTPHandler(func(*nethttp.Request) *mcp.Server { return server }, s.options)}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

// newCaller is the caller of one of our agents.
func newCaller(t *testing.T) transport.Caller {
	t.Helper()
	client := http.NewClient(http.ClientConfig{
		MaxReply: 64 << 10, Dialect: bridge.New(bridge.Options{Clock: protocol.SystemClock(), Log: zerolog.Nop()}),
	})
	t.Cleanup(client.Close)
	return client
}

// ask asks the agent.
func (a *mcpAgent) ask(t *testing.T, caller transport.Caller, method protocol.MethodRow) (string, error) {
	t.Helper()
	message := json.RawMessage(`{"protocol":"league.v2","message_type":"` + method.Request + `","sender":"referee:REF01","match_id":"R1M1","auth_token":"tok-1"}`)
	result, _, err := caller.Call(t.Context(), transport.Request{
		Endpoint: a.URL + "/mcp", Bearer: "tok-2", Method: method.Name, Params: message, Limit: 10 * time.Second,
		Decode: func(raw []byte) (any, error) { return string(raw), nil },
	})
	text, _ := result.(string)
	return text, err
}

var invite, choose = protocol.Invite.MethodRow, protocol.ChooseParity.MethodRow

// ours and others are the names of tools.
var (
	ours   = mcpShape{invitation: "handle_game_invitation", choice: "choose_parity"}
	others = mcpShape{invitation: "receive_game_invitation", choice: "make_parity_choice", argument: "message", text: true}
)

func TestAgentsThatAreOnlyMCPServersPlay(t *testing.T) {
	for name, options := range map[string]*mcp.StreamableHTTPOptions{
		"with sessions": nil, "with sessions, and JSON": {JSONResponse: true}, "without sessions": {Stateless: true},
	} {
		for kind, shape := range map[string]mcpShape{"our names": ours, "custom names": others} {
			t.Run(name+", "+kind, func(t *testing.T) {
				shape.options = options
				agent, caller := shape.start(t), newCaller(t)
				for range 2 {
					answer, err := agent.ask(t, caller, invite)
					require.NoError(t, err)
					assert.Contains(t, answer, `"accept":true`)
					answer, err = agent.ask(t, caller, choose)
					require.NoError(t, err)
					assert.Contains(t, answer, `"parity_choice":"odd"`)
				}
				assert.Equal(t, 1, agent.count("tools/list"), "the tools are listed once")
				assert.Equal(t, 4, agent.count("tools/call"))
				assert.Equal(t, 1, agent.count("handle_game_invitation"), "the specification's form is sent once")
				assert.Zero(t, agent.count("choose_parity"))
			})
		}
	}
}

func TestExpiredSessionIsOpenedAgainOnce(t *testing.T) {
	agent, caller := others.start(t), newCaller(t)
	_, err := agent.ask(t, caller, invite)
	require.NoError(t, err)
	request, err := nethttp.NewRequestWithContext(t.Context(), nethttp.MethodDelete, agent.URL+"/mcp", nil)
	require.NoError(t, err)
	request.Header.Set("Mcp-Session-Id", agent.session)
	response, err := nethttp.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	_, err = agent.ask(t, caller, invite)
	require.NoError(t, err)
	assert.Equal(t, 2, agent.count("initialize"))
}

// Some servers have only one session, so calls at the same time open one.
func TestCallsAtTheSameTimeOpenOneSession(t *testing.T) {
	agent, caller := others.start(t), newCaller(t)
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			answer, err := agent.ask(t, caller, invite)
			assert.NoError(t, err)
			assert.Contains(t, answer, `"accept":true`)
		})
	}
	calls.Wait()
	assert.Equal(t, []int{1, 1, 20}, []int{agent.count("initialize"), agent.count("tools/list"), agent.count("tools/call")})
}
