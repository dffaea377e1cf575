package protocol_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

func TestRoundOfAQueryIsANumberOrAll(t *testing.T) {
	for _, test := range []struct {
		raw  string
		want protocol.QueryRound
		rule string // that Examine names; "" for none
	}{
		{`1`, 1, ""},
		{`2147483647`, 1<<31 - 1, ""},
		{`null`, 0, ""},
		{`"all"`, protocol.AllRounds, ""},
		{`"\u0061ll"`, protocol.AllRounds, ""},
		{`0`, 0, `an integer from 1 to 2147483647 or exactly "all"`},
		{`-1`, 0, `an integer from 1 to 2147483647 or exactly "all"`},
		{`"ALL"`, 0, `an integer or exactly "all"`},
		{`"1"`, 0, `an integer or exactly "all"`},
		{`1.0`, 0, `an integer or exactly "all"`},
		{`[]`, 0, `an integer or exactly "all"`},
	} {
		t.Run(test.raw, func(t *testing.T) {
			message := strings.Replace(string(sampleJSON(t, protocol.TypeLeagueQuery)), `"round_id":1`, `"round_id":`+test.raw, 1)
			schema := accepts(t, compiled(t, protocol.TypeLeagueQuery), []byte(message))
			broken := protocol.Examine(protocol.TypeLeagueQuery, []byte(message))
			if test.rule != "" {
				require.Len(t, broken, 1)
				assert.Equal(t, "query_params.round_id", broken[0].Field)
				assert.Equal(t, test.rule, broken[0].Rule)
				if test.raw != `1.0` { // the same number to a schema
					assert.Error(t, schema)
				}
				return
			}
			assert.Empty(t, broken)
			require.NoError(t, schema)
			var q protocol.LeagueQuery
			require.NoError(t, json.Unmarshal([]byte(message), &q))
			assert.Equal(t, test.want, q.QueryParams.RoundID)
		})
	}
	encoded, err := json.Marshal(protocol.QueryParams{RoundID: protocol.AllRounds})
	require.NoError(t, err)
	assert.JSONEq(t, `{"round_id":"all"}`, string(encoded))
}

func TestCapacityErrorNamesTheLimitOfALeague(t *testing.T) {
	message := string(sampleJSON(t, protocol.TypeRefereeRegisterRequest))
	for _, value := range []string{"0", "-1", "2147483648"} {
		broken := protocol.Examine(protocol.TypeRefereeRegisterRequest, []byte(strings.Replace(message, `"max_concurrent_matches":2`, `"max_concurrent_matches":`+value, 1)))
		require.Len(t, broken, 1, value)
		assert.Equal(t, "an integer from 1 to 10", broken[0].Rule, value)
	}
}
