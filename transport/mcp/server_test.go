package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport/mcp"
)

// A codedError is an error that an agent sends.
type codedError struct{}

func (codedError) Error() string { return "E012 AUTH_TOKEN_INVALID: no such token" }

func (codedError) RPCError() (code int, message string, data any) {
	return -32012, "AUTH_TOKEN_INVALID", map[string]string{"error_code": "E012"}
}

var object = map[string]any{"type": "object"}

// agent is an agent with a tool of each kind, a resource, a template and a prompt.
func agent() mcp.Options {
	return mcp.Options{
		Name: "agent", Title: "An agent", Version: "1.0.0", Instructions: "Echo.",
		Tools: []mcp.Tool{
			{Name: "echo", Title: "Echo", ReadOnly: true, Input: object, Output: object,
				Call: func(_ context.Context, bearer string, arguments []byte) (any, error) {
					return map[string]any{"bearer": bearer, "arguments": json.RawMessage(arguments)}, nil
				}},
			{Name: "refuse", Input: object,
				Call: func(context.Context, string, []byte) (any, error) { return nil, codedError{} }},
			{Name: "fail", Input: object,
				Call: func(context.Context, string, []byte) (any, error) { return nil, errors.New("no space left") }},
		},
		Resources: []mcp.Resource{
			{URI: "league://l/standings", Name: "standings",
				Read: func(_ context.Context, bearer, _ string) (any, error) {
					if bearer == "" {
						return nil, codedError{}
					}
					return []int{1, 2}, nil
				}},
			{URI: "league://l/matches/{match_id}", Name: "match",
				Read: func(_ context.Context, _, uri string) (any, error) {
					if uri != "league://l/matches/R1M1" {
						return nil, mcp.ErrNotFound
					}
					return uri, nil
				}},
		},
		Prompts: []mcp.Prompt{{Name: "league", Text: func() string { return "It is a league." }}},
		Listen: func(_ context.Context, bearer string) error {
			if bearer == "" {
				return codedError{}
			}
			return nil
		},
	}
}

// A bearer adds a credential to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// serve serves the agent, and returns where.
func serve(t *testing.T, server *mcp.Server) string {
	t.Helper()
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	return h.URL
}

// dial connects a client.
func dial(t *testing.T, to sdk.Transport, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), to, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// post posts a request, and reads its response to the end.
func post(t *testing.T, url, request string, header http.Header) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(request))
	require.NoError(t, err)
	q.Header = header
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	r, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(body)
}

// connect connects a client to the agent.
func connect(t *testing.T, credential string, o *sdk.ClientOptions) (*mcp.Server, *sdk.ClientSession) {
	t.Helper()
	server := mcp.NewServer(agent())
	return server, dial(t, &sdk.StreamableClientTransport{
		Endpoint: serve(t, server), HTTPClient: &http.Client{Transport: bearer(credential)},
	}, o)
}

func text(t *testing.T, r *sdk.CallToolResult) string {
	t.Helper()
	require.Len(t, r.Content, 1)
	return r.Content[0].(*sdk.TextContent).Text
}

func TestToolsAreListedWithTheirHints(t *testing.T) {
	_, client := connect(t, "", nil)
	list, err := client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 3)
	echo := list.Tools[0]
	assert.Equal(t, "echo", echo.Name)
	assert.Equal(t, "Echo", echo.Title)
	assert.True(t, echo.Annotations.ReadOnlyHint)
	assert.True(t, echo.Annotations.IdempotentHint)
	assert.Equal(t, object, echo.OutputSchema)
	assert.False(t, list.Tools[2].Annotations.ReadOnlyHint)
	assert.Nil(t, list.Tools[2].OutputSchema)
}

func TestToolGetsArgumentsAndCredential(t *testing.T) {
	_, client := connect(t, "tok-1", nil)
	for _, tt := range []struct {
		arguments any
		want      string
	}{
		{map[string]int{"a": 1}, `{"bearer":"tok-1","arguments":{"a":1}}`},
		{nil, `{"bearer":"tok-1","arguments":{}}`},
		{json.RawMessage("null"), `{"bearer":"tok-1","arguments":{}}`},
	} {
		r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: tt.arguments})
		require.NoError(t, err)
		assert.False(t, r.IsError)
		assert.JSONEq(t, tt.want, text(t, r))
		encoded, err := json.Marshal(r.StructuredContent)
		require.NoError(t, err)
		assert.JSONEq(t, tt.want, string(encoded))
	}
}

func TestErrorOfToolIsAResult(t *testing.T) {
	_, client := connect(t, "", nil)
	for tool, want := range map[string]string{
		"refuse": "E012 AUTH_TOKEN_INVALID: no such token\n" + `{"error_code":"E012"}`,
		"fail":   "no space left",
	} {
		r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool})
		require.NoError(t, err)
		assert.True(t, r.IsError)
		assert.Equal(t, want, text(t, r))
		assert.Nil(t, r.StructuredContent, "it would not fit the output schema of the tool")
	}
}

func TestResourceNeedsItsCredential(t *testing.T) {
	_, client := connect(t, "", nil)
	_, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "league://l/standings"})
	require.ErrorContains(t, err, "E012 AUTH_TOKEN_INVALID")
	_, client = connect(t, "tok-1", nil)
	r, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "league://l/standings"})
	require.NoError(t, err)
	assert.Equal(t, "[1,2]", r.Contents[0].Text)
	assert.Equal(t, "application/json", r.Contents[0].MIMEType)
	assert.Equal(t, "private", r.CacheScope)
}

func TestResourceOfATemplateIsRead(t *testing.T) {
	_, client := connect(t, "", nil)
	r, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "league://l/matches/R1M1"})
	require.NoError(t, err)
	assert.Equal(t, `"league://l/matches/R1M1"`, r.Contents[0].Text)
	for _, uri := range []string{"league://l/matches/R9M9", "league://l/journal"} {
		_, err = client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		assert.ErrorContains(t, err, "not found", uri)
	}
}

func TestListenerIsToldOfChanges(t *testing.T) {
	updated := make(chan string, 10)
	server, client := connect(t, "tok-1", &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, q *sdk.ResourceUpdatedNotificationRequest) { updated <- q.Params.URI },
	})
	const uri = "league://l/standings"
	require.NoError(t, client.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
	for range 2 {
		server.Changed("league://l/schedule", uri)
		select {
		case got := <-updated:
			assert.Equal(t, uri, got)
		case <-t.Context().Done():
			require.Fail(t, "no update")
		}
	}
}

func TestServerOfStreamsEndsWithItsInput(t *testing.T) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- mcp.NewServer(agent()).Run(t.Context(), fromClient, toClient) }()
	client := dial(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"bearer":"","arguments":{}}`, text(t, r))
	p, err := client.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "league"})
	require.NoError(t, err)
	assert.Equal(t, "It is a league.", p.Messages[0].Content.(*sdk.TextContent).Text)
	require.NoError(t, client.Close())
	assert.NoError(t, <-ended)
}

func TestServerOfStreamsWaitsForTheCallsItEnds(t *testing.T) {
	calls, end := make(chan struct{}), false
	options := mcp.Options{Name: "agent", Version: "1.0.0", Tools: []mcp.Tool{{Name: "wait", Input: object,
		Call: func(ctx context.Context, _ string, _ []byte) (any, error) {
			close(calls)
			<-ctx.Done()
			end = true
			return nil, ctx.Err()
		}}}}
	ctx, interrupt := context.WithCancel(t.Context())
	in, requests := io.Pipe()
	defer func() { _ = requests.Close() }()
	ended := make(chan error, 1)
	go func() { ended <- mcp.NewServer(options).Run(ctx, in, io.Discard) }()
	for _, request := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`,
	} {
		_, err := io.WriteString(requests, request+"\n")
		require.NoError(t, err)
	}
	<-calls
	interrupt()
	assert.ErrorIs(t, <-ended, context.Canceled)
	assert.True(t, end)
}

func TestServerOfStreamsReadsNoEndlessLine(t *testing.T) {
	in := io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`), endless{})
	var out bytes.Buffer
	assert.Error(t, mcp.NewServer(agent()).Run(t.Context(), in, &out))
	assert.Empty(t, out.String())
}

// endless is a text without end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}

func TestListenerNeedsItsCredential(t *testing.T) {
	const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["league://l/standings"]},
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},
		"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}}}`
	header := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"}}
	assert.Contains(t, post(t, serve(t, mcp.NewServer(agent())), listen, header), "E012 AUTH_TOKEN_INVALID")
}

func TestServerWithoutUpdatesOffersNone(t *testing.T) {
	o := agent()
	o.Listen = nil
	client := dial(t, &sdk.StreamableClientTransport{Endpoint: serve(t, mcp.NewServer(o))}, nil)
	assert.False(t, client.InitializeResult().Capabilities.Resources.Subscribe)
}

// A subscription of older revisions needs a session. It must leave nothing behind: its URI
// would stay in memory.
func TestSubscriptionWithoutASessionIsRefused(t *testing.T) {
	url := serve(t, mcp.NewServer(agent()))
	request := func(method, params string) string {
		return post(t, url, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, http.Header{})
	}
	for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
		assert.Contains(t, request(method, `{"uri":"league://l/standings"}`), `"code":-32601`)
	}
	const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
	assert.Contains(t, request("initialize", hello), `"resources":{}`, "the server offers no such subscription")
}
