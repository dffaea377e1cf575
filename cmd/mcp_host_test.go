package cmd_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A bearer adds a credential to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects an MCP client to an agent.
func connect(t *testing.T, endpoint, token string) *sdk.ClientSession {
	t.Helper()
	return connectWith(t, endpoint, token, nil)
}

func connectWith(t *testing.T, endpoint, token string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// use calls a tool, which must succeed, and decodes its result.
func use(ctx context.Context, t *testing.T, session *sdk.ClientSession, tool string, arguments, result any) {
	t.Helper()
	r, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	text, err := json.Marshal(r.StructuredContent)
	require.NoError(t, err)
	require.False(t, r.IsError, "%s: %s", tool, text)
	require.NoError(t, json.Unmarshal(text, result))
}

type pendingChoices struct {
	Pending []struct {
		ChoiceID     string   `json:"choice_id"`
		ValidOptions []string `json:"valid_options"`
	}
}

// An MCP host plays every match of a league, and reads the history of its player.
func TestMCPHostPlaysALeague(t *testing.T) {
	t.Parallel()
	const legs = 3
	m := startManager(t, "--players", "2", "--legs", "3", "--exit-when-done")
	p := m.join(t, "player", "--strategy", "mcp-host", "--fallback", "even")
	token := p.await(t, `Host token of this player: (host-\S+)\n`)[1]
	host := connect(t, endpointOf(t, p), token)
	agents := []*process{m.join(t, "referee"), m.join(t, "player"), p}
	for range legs {
		var waiting pendingChoices
		for len(waiting.Pending) == 0 {
			use(t.Context(), t, host, "wait_for_choice", map[string]int{"timeout_sec": 20}, &waiting)
		}
		q := waiting.Pending[0]
		assert.Equal(t, []string{"even", "odd"}, q.ValidOptions)
		var status struct{ Status string }
		use(t.Context(), t, host, "answer_choice", map[string]string{"choice_id": q.ChoiceID, "choice": "odd"}, &status)
		assert.Equal(t, "ACCEPTED", status.Status)
	}
	for _, a := range append(agents, m.process) {
		require.Zero(t, a.awaitExit(t), a.stderr.String())
	}
	assert.Contains(t, p.stdout.String(), "mcp-host: 3 questions, 0 answered by the fallback strategy even\n")
	assert.Equal(t, 1, strings.Count(p.stderr.String(), token), "the token is printed once, and never logged")
}

func TestOnlyTheHostTokenOpensTheToolsOfTheHost(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "2")
	p := m.join(t, "player", "--strategy", "mcp-host")
	token := p.await(t, `Host token of this player: (host-\S+)\n`)[1]
	endpoint := endpointOf(t, p)
	m.awaitPings(t, 1)
	for _, tt := range []struct{ name, token, code string }{
		{"no token", "", "E011"},
		{"another token", "tok-p02-abc", "E012"},
		{"the admin token of the manager", m.admin, "E012"},
	} {
		client := connect(t, endpoint, tt.token)
		for _, tool := range []string{"wait_for_choice", "list_pending_choices", "answer_choice"} {
			r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{}})
			require.NoError(t, err)
			assert.True(t, r.IsError)
			assert.Contains(t, r.Content[0].(*sdk.TextContent).Text, tt.code, "%s: %s", tt.name, tool)
		}
		_, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "player://history"})
		assert.ErrorContains(t, err, tt.code, tt.name)
	}
	history, err := connect(t, endpoint, token).ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "player://history"})
	require.NoError(t, err)
	assert.Contains(t, history.Contents[0].Text, `"matches":[]`)
	p.interrupt(t)
	require.Equal(t, 130, p.awaitExit(t))
}
