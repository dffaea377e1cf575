package cmd_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// The steps of an agent that the specification calls tools are MCP tools, with a credential. They
// are no methods of the protocol: a league call of their names is -32601.
func TestStepsOfAgentsAreToolsAndNoMethods(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "2", "--league-id", "cup")
	data := filepath.Join(t.TempDir(), "SHARED")
	referee := m.join(t, "referee", "--name", "Whistle", "--data", data)
	refereeURL := endpointOf(t, referee)
	referee.await(t, `"event_type":"REGISTERED"`) // its identity is written
	paths, err := filepath.Glob(filepath.Join(data, "private", "referee-*.json"))
	require.NoError(t, err)
	require.Len(t, paths, 1)
	var identity struct {
		AuthToken string `json:"auth_token"`
	}
	require.NoError(t, json.Unmarshal([]byte(readText(t, paths[0])), &identity))
	require.NotEmpty(t, identity.AuthToken)
	credential := protocol.KeyOf(identity.AuthToken).ManagerCredential("cup")

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
			assert.Contains(t, string(answer), `"error":{"code":-32601`, body)
		}
	}
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
	for _, token := range []string{identity.AuthToken, m.admin} {
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
	page := readText(t, filepath.Join("..", "docs", "mcp.md"))
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
