package cmd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/protocol"
	"evenodd/transport/mcp"
)

// askManager calls a tool of a desktop server whose manager gives answers.
func askManager(t *testing.T, manager managerFunc, tool, arguments string) (string, error) {
	t.Helper()
	t.Setenv("EVENODD_TOKEN", "tok-p01-abcdefgh")
	d := &desktop{query: queryOptions{manager: "http://m/mcp"}, files: config.NewLoader("", known()), caller: manager}
	for _, one := range d.queryTools() {
		if one.Name == tool {
			result, err := one.Call(t.Context(), "", []byte(arguments))
			text, encodeErr := json.Marshal(result)
			require.NoError(t, encodeErr)
			return string(text), err
		}
	}
	require.Fail(t, "no such tool", tool)
	return "", nil
}

func TestDesktopQueriesHaveTheirArguments(t *testing.T) {
	for _, tt := range []struct {
		tool, arguments string
		want            protocol.QueryParams
	}{
		{"standings", `{}`, protocol.QueryParams{}},
		{"schedule", `{}`, protocol.QueryParams{}},
		{"schedule", `{"round":3}`, protocol.QueryParams{RoundID: 3}},
		{"schedule", `{"round":"all"}`, protocol.QueryParams{RoundID: protocol.AllRounds}},
		{"next_match", `{}`, protocol.QueryParams{}},
		{"next_match", `{"player_id":"P02"}`, protocol.QueryParams{PlayerID: "P02"}},
	} {
		t.Run(tt.tool+tt.arguments, func(t *testing.T) {
			var got *protocol.LeagueQuery
			_, err := askManager(t, func(q *protocol.LeagueQuery) string {
				got = q
				return `{"data":{"standings":[],"matches":[],"next_match":null}}`
			}, tt.tool, tt.arguments)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.QueryParams)
			assert.Equal(t, "tok-p01-abcdefgh", got.AuthToken)
		})
	}
}

func TestDesktopQueriesReadAnswersOfManagers(t *testing.T) {
	for _, tt := range []struct{ name, tool, answer, want, problem string }{
		{"a next match", "next_match", `{"data":{"next_match":{"match_id":"R1M1","round_id":1,"opponent_id":"P02","referee_endpoint":null}}}`,
			`{"next_match":{"match_id":"R1M1","round_id":1,"opponent_id":"P02","referee_endpoint":null}}`, ""},
		{"a list of another name", "schedule", `{"schedule":[]}`, "null", "the manager at http://m/mcp answered in another form: run 'evenodd query schedule' to see it"},
		{"a rank that is no number", "standings", `{"data":{"standings":[{"rank":"first"}]}}`, "null", "in another form"},
		{"a refusal that repeats the token", "standings", `{"success":false,"error":{"error_code":"E012","error_description":"tok-p01-abcdefgh"}}`, "null", "E012 : ***"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := askManager(t, func(*protocol.LeagueQuery) string { return tt.answer }, tt.tool, `{}`)
			assert.JSONEq(t, tt.want, got)
			if tt.problem != "" {
				assert.ErrorContains(t, err, tt.problem)
			} else {
				assert.NoError(t, err)
			}
		})
	}
}

func TestDesktopScheduleOfALargeLeagueIsBounded(t *testing.T) {
	asked := 0
	_, err := askManager(t, func(*protocol.LeagueQuery) string {
		asked++
		return fmt.Sprintf(`{"data":{"round_id":"all","matches":[%s],"total_matches":50000000}}`,
			strings.TrimSuffix(strings.Repeat(`{"match_id":"R1M1"},`, 200), ","))
	}, "schedule", `{"round":"all"}`)
	require.NoError(t, err)
	assert.Equal(t, 3, asked)
}

// The schemas of the desktop's tools list what a table can have.
func TestDesktopSchemasListTheMembersOfATable(t *testing.T) {
	number, score := 1, 1.5
	values := protocol.TiebreakValues{"head_to_head": 3}
	champion := protocol.Champion{PlayerID: "P01", DisplayName: "A", Points: 3, Reason: "on head-to-head"}
	d := &desktop{}
	for _, tt := range []struct {
		tool  mcp.Tool
		path  string
		value any
	}{
		{d.queryTools()[0], "standings", protocol.StandingRow{
			Rank: 1, Tied: true, SharedRank: 1, PlayerID: "P01", DisplayName: "A", Withdrawn: true, Annulled: true,
			Byes: &number, Buchholz: &number, SonnebornBerger: &score, DecidedBy: "wins", TiebreakValues: values,
		}},
		{d.simulateTool(), "standings", standingJSON{
			Tied: true, Fallbacks: 1, Endpoint: "http://a/mcp", Byes: &number, Buchholz: &number, SonnebornBerger: &score, DecidedBy: "wins", TiebreakValues: values,
		}},
		{d.simulateTool(), "champion", champion},
	} {
		schema := tt.tool.Output
		schema = schema["properties"].(properties)[tt.path].(properties) //nolint:forcetypeassert // it is one
		if items, ok := schema["items"].(properties); ok {
			schema = items
		}
		text, err := json.Marshal(tt.value)
		require.NoError(t, err)
		var members map[string]any
		require.NoError(t, json.Unmarshal(text, &members))
		for name := range members {
			assert.Contains(t, schema["properties"], name, "%s of %s", tt.path, tt.tool.Name)
		}
	}
}
