package cmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
)

// node runs a third-party program of testdata/mcp with Node. Such a test takes long.
func node(t *testing.T, script string, args ...string) *process {
	t.Helper()
	longTest(t)
	dir, err := filepath.Abs(filepath.Join("..", "testdata", "mcp"))
	require.NoError(t, err)
	needTool(t, "node")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		cmd.NotTested(t, "needs Node 20 and 'npm ci --prefix testdata/mcp'")
	}
	return launch(t, dir, nil, "node", append([]string{filepath.Join(dir, filepath.FromSlash(script))}, args...)...)
}

const conformance = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// endpointOf returns the URL of an agent, when it listens.
func endpointOf(t *testing.T, p *process) string {
	t.Helper()
	return p.await(t, `"endpoint":"([^"]+)".*"event_type":"LISTENING"`)[1]
}

// The scenarios of the conformance suite that apply to a server without the tools,
// resources and prompts of the suite's own example server. The others need sessions, or a server that asks the client
// for input.
func TestConformanceScenariosPass(t *testing.T) {
	t.Parallel()
	m := startManager(t)
	for _, scenario := range []string{
		"server-initialize", "logging-set-level", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection",
	} {
		t.Run(scenario, func(t *testing.T) {
			p := node(t, conformance, "server", "--url", m.url, "--scenario", scenario)
			require.Zero(t, p.awaitExit(t))
			assert.Regexp(t, `Passed: [1-9]`, p.stdout.String())
			assert.Contains(t, p.stdout.String(), " 0 failed, 0 warnings")
		})
	}
}

// The TypeScript SDK's client registers a player by a tool, listens to the standings, and
// plays every match of another player as its host.
func TestTypeScriptClientPlaysALeague(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "2", "--legs", "3")
	m.join(t, "referee")
	p := m.join(t, "player", "--strategy", "mcp-host")
	token := p.await(t, `Host token of this player: (host-\S+)\n`)[1]
	client := node(t, "client.mjs", m.url, endpointOf(t, p), token)
	require.Zero(t, client.awaitExit(t), client.stderr.String())
	var seen struct {
		Standings, Updates, Answered, Points int
		Choices                              []string
		Played                               []int
		Revision                             string
	}
	require.NoError(t, json.Unmarshal(client.stdout.Bytes(), &seen), client.stdout.String())
	assert.Equal(t, 3, seen.Answered)
	assert.Equal(t, []string{"even/odd"}, seen.Choices)
	assert.Equal(t, []int{3, 3}, seen.Played)
	assert.Equal(t, 9, seen.Points, "different choices: each match has a winner")
	assert.NotZero(t, seen.Updates)
	require.Zero(t, p.awaitExit(t))
	assert.Contains(t, p.stdout.String(), "mcp-host: 3 questions, 0 answered by the fallback strategy random\n")
}

// Version 1 of the TypeScript SDK shows the reason of a refused call, also after it has listed the tools.
func TestTypeScriptClientReadsTheReasonOfARefusal(t *testing.T) {
	t.Parallel()
	client := node(t, "refused.mjs", startManager(t).url)
	require.Zero(t, client.awaitExit(t), client.stderr.String())
	var refused struct {
		Failed bool
		Texts  []string
	}
	require.NoError(t, json.Unmarshal(client.stdout.Bytes(), &refused), client.stdout.String())
	assert.True(t, refused.Failed)
	require.Len(t, refused.Texts, 1)
	assert.Regexp(t, `^E011 AUTH_TOKEN_MISSING: [^\n]+\n\{.*"message_type":"LEAGUE_ERROR".*"error_code":"E011"`, refused.Texts[0])
}

// A player that is only an MCP server, by the TypeScript SDK, plays a league with our
// player: with the names of the protocol, and with names of its own.
func TestMCPServerPlaysALeague(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"our names": nil, "other names": {"--other-names"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startManager(t, "--players", "2", "--legs", "3", "--exit-when-done")
			typed := node(t, "player.mjs", append([]string{"--manager", m.url}, args...)...)
			agents := []*process{m.join(t, "referee"), m.join(t, "player"), typed, m.process}
			awaitSuccess(t, agents...)
			rows := regexp.MustCompile(`│ +\d │ P0\d +│ .+ │ +3 │ \d │ \d │ \d │ +0 │ +\d │`).FindAllString(m.stdout.String(), -1)
			assert.Len(t, rows, 2, "three matches each, none lost technically: %s", m.stdout.String())
			var played struct{ Calls map[string]int }
			require.NoError(t, json.Unmarshal(typed.stdout.Bytes(), &played), typed.stdout.String())
			for tool, n := range map[string]int{
				"notify_round": 3, "handle_game_invitation": 3, "choose_parity": 3, "notify_match_result": 3,
				"notify_round_completed": 3, "notify_league_completed": 1,
			} {
				assert.Equal(t, n, played.Calls[tool], tool)
			}
			assert.Positive(t, played.Calls["update_standings"])
			assert.Zero(t, played.Calls["notify_game_error"])
		})
	}
}
