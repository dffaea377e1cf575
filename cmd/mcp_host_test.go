package cmd_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
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
	var over struct {
		Pending []any
		Message string
	}
	for over.Message == "" { // the last call waits when the league ends
		use(t.Context(), t, host, "wait_for_choice", map[string]int{"timeout_sec": 50}, &over)
	}
	assert.Equal(t, "the league is over", over.Message)
	assert.Empty(t, over.Pending)
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
	p.await(t, `"event_type":"REGISTERED"`) // it has its own token, by which it reads its history
	for _, tt := range []struct{ name, token, code string }{
		{"no token", "", "E011"},
		{"another token", "tok-p02-abc", "E012"},
		{"the admin token of the manager", m.admin(t), "E012"},
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
	p.endByInterrupt(t)
}

// The steps of an agent that the specification calls tools are MCP tools, with a credential, and can be called as the
// documents call tools: by tools/call without the header of a version, and by JSON-RPC method, with the agent's token.
func TestStepsOfAgentsAreTools(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "2", "--league-id", "cup")
	data := filepath.Join(t.TempDir(), "SHARED")
	referee := m.join(t, "referee", "--name", "Whistle", "--data", data)
	refereeURL := endpointOf(t, referee)
	referee.await(t, `"event_type":"REGISTERED"`) // its identity is written
	tokens := tokensIn(t, data)
	require.Len(t, tokens, 1)
	credential := protocol.KeyOf(tokens[0]).ManagerCredential("cup")

	for _, tt := range []struct{ url, tool, arguments string }{
		{m.url, "create_schedule", `{"players":["P01","P02"]}`},
		{refereeURL, "register_to_league", `{}`},
		{refereeURL, "collect_choices", `{"match_id":"R1M1"}`},
		{refereeURL, "draw_number", `{"match_id":"R1M1"}`},
		{refereeURL, "finalize_match", `{"match_id":"R1M1"}`},
	} {
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"` + tt.tool + `","params":` + tt.arguments + `}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tt.tool + `","arguments":` + tt.arguments + `}}`,
		} {
			_, answer := post(t, tt.url, body)
			assert.Regexp(t, `"error_code\\*":\\*"E011\\*".*"detail\\*":\\*"auth_token is required`, string(answer), body)
			own := strings.Replace(body, tt.arguments, strings.Replace(tt.arguments, "{", `{"auth_token":"`+tokens[0]+`",`, 1), 1)
			_, answer = post(t, tt.url, strings.Replace(own, ",}", "}", 1))
			want := map[string]string{"create_schedule": "R1M1", "register_to_league": "ACCEPTED"}[tt.tool]
			assert.Contains(t, string(answer), cmp.Or(want, "MATCH_NOT_FOUND"), body)
			assert.NotContains(t, string(answer), tokens[0])
		}
	}
	m.await(t, `"method":"create_schedule".*"error_code":"E011".*"event_type":"REQUEST_REFUSED"`)
	assert.NotContains(t, m.stderr.String(), `"method":"MCP resource"`)
	var registered struct {
		Status    string
		RefereeID string `json:"referee_id"`
		LeagueID  string `json:"league_id"`
		Manager   string
		AuthToken string `json:"auth_token"`
	}
	use(t.Context(), t, connect(t, refereeURL, credential), "register_to_league", nil, &registered)
	assert.Equal(t, []string{"ACCEPTED", "REF01", "cup", m.url, ""},
		[]string{registered.Status, registered.RefereeID, registered.LeagueID, registered.Manager, registered.AuthToken})
	for _, token := range []string{tokens[0], m.admin(t)} {
		var schedule struct {
			Rounds  int
			Total   int `json:"total_matches"`
			Matches []struct {
				MatchID string `json:"match_id"`
				A       string `json:"player_A_id"`
				B       string `json:"player_B_id"`
			}
		}
		use(t.Context(), t, connect(t, m.url, token), "create_schedule", map[string]any{"players": []string{"P01", "P02", "P03", "P04"}}, &schedule)
		assert.Equal(t, []int{3, 6, 6}, []int{schedule.Rounds, schedule.Total, len(schedule.Matches)})
		assert.Equal(t, "R1M1 P01 P02", schedule.Matches[0].MatchID+" "+schedule.Matches[0].A+" "+schedule.Matches[0].B)
	}
}

// The table of tools in docs/mcp.md is what clients list.
func TestToolsAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "2")
	page := readPage(t, "docs/mcp.md")
	for role, url := range map[string]string{"manager": m.url, "referee": endpointOf(t, m.join(t, "referee"))} {
		row := regexp.MustCompile(`(?m)^\| ` + role + ` \| ([^;|]+)`).FindStringSubmatch(page)
		require.NotNil(t, row, role)
		var want, got []string
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			want = append(want, name[1])
		}
		list, err := connect(t, url, "").ListTools(t.Context(), nil)
		require.NoError(t, err)
		for _, tool := range list.Tools {
			got = append(got, tool.Name)
		}
		assert.ElementsMatch(t, want, got, role)
	}
}

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
	assert.Contains(t, start(connect(t, m.url, m.admin(t)), nil), `unknown tool "start_league"`, "without --mcp-admin")
	bare := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_league","arguments":{"auth_token":"` + m.admin(t) + `"}}}`
	_, answer := post(t, m.url, bare)
	assert.Contains(t, string(answer), `"error":{"code":-32601`, "by a call that is no MCP request")

	m = startManager(t, "--mcp-admin")
	assert.Contains(t, start(connect(t, m.url, m.admin(t)), nil), "E030", "the token is right, but there are no players")
	assert.Contains(t, start(connect(t, m.url, m.admin(t)), map[string]any{"auth_token": m.admin(t)}), "E012")
	assert.Contains(t, start(connect(t, m.url, ""), nil), "E011")
}

// read reads a resource into a value.
func read(t *testing.T, client *sdk.ClientSession, uri string, into any) {
	t.Helper()
	r, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
	require.NoError(t, err, uri)
	require.NoError(t, json.Unmarshal([]byte(r.Contents[0].Text), into), uri)
}

// A client that listens is told of the standings, the match and the journal, and reads
// them, with and without a data folder.
func TestListenerIsToldOfALeague(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{"data folder": t.TempDir(), "memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startManager(t, "--players", "2", "--league-id", "cup", "--data", data)
			const league = "league://cup/"
			updates := make(chan string, 1000)
			client := connectWith(t, m.url, m.admin(t), &sdk.ClientOptions{
				ResourceUpdatedHandler: func(_ context.Context, q *sdk.ResourceUpdatedNotificationRequest) { updates <- q.Params.URI },
			})
			missing := map[string]bool{league + "standings": true, league + "schedule": true, league + "journal": true, league + "matches/R1M1": true}
			for uri := range missing {
				require.NoError(t, client.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
			}
			_, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: league + "matches/R1M1"})
			require.ErrorContains(t, err, "not found", "it is not recorded yet")

			agents := []*process{m.join(t, "referee"), m.join(t, "player"), m.join(t, "player")}
			for len(missing) > 0 {
				select {
				case uri := <-updates:
					delete(missing, uri)
				case <-m.done:
					require.Fail(t, "the manager ended", "no update of %v", missing)
				}
			}
			var match struct {
				MatchID string `json:"match_id"`
				Choices map[string]*string
			}
			read(t, client, league+"matches/R1M1", &match)
			assert.Equal(t, "R1M1", match.MatchID)
			assert.Len(t, match.Choices, 2)
			var standings struct{ Standings []struct{ Played int } }
			read(t, client, league+"standings", &standings)
			assert.Equal(t, 1, standings.Standings[0].Played)

			var page struct {
				Events []struct {
					Seq  int
					Type string
				}
				Last int
			}
			read(t, client, league+"journal", &page)
			require.NotEmpty(t, page.Events)
			assert.Equal(t, "created", page.Events[0].Type)
			assert.Len(t, page.Events, page.Last)
			read(t, client, league+"journal?from=3", &page)
			assert.Equal(t, 3, page.Events[0].Seq)
			awaitSuccess(t, agents...)
		})
	}
}
