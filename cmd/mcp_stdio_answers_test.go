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
	for tool, tt := range map[string]struct{ answer, problem string }{
		"schedule":  {`{"schedule":[]}`, "the manager at http://m/mcp answered in another form: run 'evenodd query schedule' to see it"},
		"standings": {`{"success":false,"error":{"error_code":"E012","error_description":"tok-p01-abcdefgh"}}`, "E012 : ***"},
	} {
		_, err := askManager(t, func(*protocol.LeagueQuery) string { return tt.answer }, tool, `{}`)
		assert.ErrorContains(t, err, tt.problem)
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
