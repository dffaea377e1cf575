package cmd_test

import (
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
)

// A model must not find the tool of the operator unless the operator wants it, and the
// admin token must not be among the arguments that it sees.
func TestStartLeagueIsAToolOnlyForTheOperator(t *testing.T) {
	t.Parallel()
	start := func(client *sdk.ClientSession, arguments map[string]any) string {
		r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "start_league", Arguments: arguments})
		if err != nil {
			return err.Error()
		}
		return r.Content[0].(*sdk.TextContent).Text
	}
	m := startManager(t)
	assert.Contains(t, start(connect(t, m.url, m.admin), nil), `unknown tool "start_league"`, "without --mcp-admin")
	bare := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_league","arguments":{"auth_token":"` + m.admin + `"}}}`
	_, answer := post(t, m.url, bare)
	assert.Contains(t, string(answer), `"error":{"code":-32601`, "by a call that is no MCP request")

	m = startManager(t, "--mcp-admin")
	assert.Contains(t, start(connect(t, m.url, m.admin), nil), "E030", "the token is right, but there are no players")
	assert.Contains(t, start(connect(t, m.url, m.admin), map[string]any{"auth_token": m.admin}), "E012")
	assert.Contains(t, start(connect(t, m.url, ""), nil), "E011")
}
