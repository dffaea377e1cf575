package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/protocol"
)

// managerFunc answers each query with the JSON of a result.
type managerFunc func(q *protocol.LeagueQuery) string

func (f managerFunc) Call(_ context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	answer, err := r.Decode([]byte(f(r.Params.(*protocol.LeagueQuery))))
	return answer, nil, err
}

// answered asks a manager about a subject as an agent.
func answered(t *testing.T, manager managerFunc, about subject) (jsontext.Value, error) {
	t.Helper()
	c := &leagueClient{caller: manager, url: "http://m/mcp", leagueID: "L", sender: "player:P01"}
	return c.answer(t.Context(), about, protocol.QueryParams{})
}

func TestQueryGetsAllPagesOfAList(t *testing.T) {
	const total, page = 250, 100
	asked := []int{}
	manager := managerFunc(func(q *protocol.LeagueQuery) string {
		asked = append(asked, q.QueryParams.Offset)
		var rows []string
		for n := q.QueryParams.Offset; n < min(total, q.QueryParams.Offset+page); n++ {
			rows = append(rows, fmt.Sprintf(`{"rank":%d}`, n+1))
		}
		return fmt.Sprintf(`{"success":true,"data":{"current_round":2,"standings":[%s],"total_players":%d,"x":1.50}}`, strings.Join(rows, ","), total)
	})
	data, err := answered(t, manager, subjectOf("standings"))
	require.NoError(t, err)
	assert.Equal(t, []int{0, 100, 200}, asked)
	assert.True(t, strings.HasPrefix(string(data), `{"current_round":2,"standings":[{"rank":1},{"rank":2},`), "the other members stay as they are")
	assert.True(t, strings.HasSuffix(string(data), `,{"rank":250}],"total_players":250,"x":1.50}`))
}

func TestQueryReadsAnswersOfThirdPartyManagers(t *testing.T) {
	for _, test := range []struct {
		name, subject, answer string
		data                  string // "" for an error
		text                  string // a part of the output, or of the error
	}{
		{"the data as it came", "status", `{"success":true,"data":{"state":"RUNNING" , "x":1.0}}`, `{"state":"RUNNING" , "x":1.0}`, "│ RUNNING"},
		{"standings beside the envelope", "standings",
			`{"protocol":"league.v2","message_type":"LEAGUE_QUERY_RESPONSE","query_type":"GET_STANDINGS","standings":[{"rank":1,"player_id":"P01"}]}`,
			`{"standings":[{"rank":1,"player_id":"P01"}]}`, "│ P01"},
		{"a list of another name", "schedule", `{"schedule":[{"match_id":"R1M1"}]}`, `{"schedule":[{"match_id":"R1M1"}]}`, `"match_id": "R1M1"`},
		{"a name that steers a terminal", "stats", `{"data":{"player_id":"P01","display_name":"\u001b[2J"}}`,
			`{"player_id":"P01","display_name":"\u001b[2J"}`, `\x1b[2J`},
		{"an expected referee", "next-match", `{"data":{"next_match":{"match_id":"R1M1","round_id":1,"opponent_id":"P02","referee_endpoint":"http://r/mcp","referee_expected":true}}}`,
			`{"next_match":{"match_id":"R1M1","round_id":1,"opponent_id":"P02","referee_endpoint":"http://r/mcp","referee_expected":true}}`, "│ next_match.referee_expected │ true"},
		{"a refusal with a name of its own", "status", `{"success":false,"error":{"error_code":"E003","error_name":"INVALID_FIELD_TYPE","error_description":"no"}}`,
			"", "the manager at http://m/mcp refused the query: E003 INVALID_FIELD_TYPE: no"},
		{"a refusal without a reason", "status", `{"success":false}`, "", "refused the query: it gives no reason"},
		{"nothing", "status", `{}`, "", "has no data"},
		{"an error", "status", `{"protocol":"league.v2","message_type":"LEAGUE_ERROR","error_code":"E012","error_description":"AUTH_TOKEN_INVALID"}`,
			"", "failed: E012 AUTH_TOKEN_INVALID; the agent is no longer registered there"},
	} {
		t.Run(test.name, func(t *testing.T) {
			about := subjectOf(test.subject)
			data, err := answered(t, func(*protocol.LeagueQuery) string { return test.answer }, about)
			if test.data == "" {
				require.ErrorContains(t, err, test.text)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.data, string(data))
			var out bytes.Buffer
			require.NoError(t, about.print(streams{out: &out}, data))
			assert.Contains(t, out.String(), test.text)
		})
	}
}

func TestTokenThatAManagerRepeatsIsHidden(t *testing.T) {
	assert.Equal(t, `{"you":"***"}`, string(withoutToken(jsontext.Value(`{"you":"my-secret"}`), "my-secret")))
	assert.Equal(t, `{"referee":"none"}`, string(withoutToken(jsontext.Value(`{"referee":"none"}`), "none")), "no token")
	assert.Equal(t, `***`, string(withoutToken([]byte("tok-p02-"+strings.Repeat("a", 43)), "none")), "nor that of another agent")
}

// askManager calls a tool of a desktop server whose manager gives answers.
func askManager(t *testing.T, manager managerFunc, tool, arguments string) (string, error) {
	t.Helper()
	t.Setenv("EVENODD_TOKEN", "tok-p01-abcdefgh")
	d := &desktop{query: agentAccess{manager: "http://m/mcp"}, files: config.NewLoader("", known()), caller: manager}
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
		"schedule":  {`{"schedule":[]}`, "the manager at http://m/mcp answered in another form: run 'evenodd league schedule' to see it"},
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

// An organiser is no player: what has no view of its own is shown of the player that the flag names.
func TestOrganiserCanSeeEachSubject(t *testing.T) {
	for _, about := range subjects {
		assert.True(t, about.recorded != nil || slices.Contains(about.flags, "player-id"),
			"the subject %s needs either recorded or the flag player-id", about.name)
	}
}
