package protocol_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// TestMessageTypeNamesTheMethod covers mcp_message and unknown methods, where the message
// type determines the method (spec 003 §5.11.2).
func TestMessageTypeNamesTheMethod(t *testing.T) {
	methods := map[string]string{}
	for _, m := range protocol.Methods() {
		methods[m.Request] = m.Name
	}
	assert.Equal(t, "notify_match_result", methods["GAME_OVER"])
	methods[protocol.TypeLeagueError] = protocol.TypeLeagueError // a notice of which the table has no row
	for messageType, sample := range samples() {
		for how, params := range map[string]any{
			"encoded":  []byte(sampleJSON(t, messageType)),
			"a value":  sample,
			"the type": []byte(`{"unheard_of":{"message_type":"PING"},"message_type":"` + messageType + `"}`),
		} {
			method, ok := protocol.MethodFor(params)
			assert.Equal(t, methods[messageType], method, how)
			assert.Equal(t, method != "", ok, how)
		}
	}
	method, _ := protocol.MethodFor(protocol.Many(standings()))
	assert.Equal(t, "update_standings", method)
}

func TestParamsWithoutKnownMessageTypeNameNoMethod(t *testing.T) {
	for name, params := range map[string]any{
		"nothing":             nil,
		"no bytes":            []byte(nil),
		"no JSON":             []byte(`{"message_type":`),
		"null":                []byte(`null`),
		"an array":            []byte(`["GAME_OVER"]`),
		"no type":             []byte(`{}`),
		"a type that is none": []byte(`{"message_type":5}`),
		"a null type":         []byte(`{"message_type":null}`),
		"an unknown type":     []byte(`{"message_type":"NO_SUCH_MESSAGE"}`),
		"lower case":          []byte(`{"message_type":"game_over"}`),
		"text":                `{"message_type":"GAME_OVER"}`,
		"an empty message":    &protocol.GameOver{},
	} {
		_, ok := protocol.MethodFor(params)
		assert.False(t, ok, name)
	}
}

func TestLongestMatch(t *testing.T) {
	for _, test := range []struct {
		name     string
		timeouts protocol.Timeouts
		retry    protocol.RetryPolicy
		moves    int
		bank     *protocol.TimeBank
		want     time.Duration
	}{
		// 4 invitations and 4 questions each, 3 pauses between them, the result, 4 reports.
		{"of the documents", protocol.DefaultTimeouts(), protocol.DefaultRetryPolicy(), 1, nil,
			(4*5 + 3*2 + 4*30 + 3*2 + 5 + 4*10) * time.Second},
		{"nine moves", protocol.DefaultTimeouts(), protocol.DefaultRetryPolicy(), 9, nil,
			(4*5 + 3*2 + 9*(4*30+3*2) + 5 + 4*10) * time.Second},
		{"no second chance", protocol.DefaultTimeouts(), protocol.RetryPolicy{}, 1, nil, (5 + 30 + 5 + 10) * time.Second},
		{"fractions", protocol.Timeouts{GameJoinAck: 0.25, Move: 0.5}, protocol.RetryPolicy{MaxRetries: 1, Delay: 0.125}, 1, nil,
			1750 * time.Millisecond},
		{"no time at all", protocol.Timeouts{}, protocol.RetryPolicy{}, 0, nil, 0},
		// one question without it, 2 banks with 9 increments each, and GAME_ERROR in each call of a turn
		{"a time bank", protocol.DefaultTimeouts(), protocol.DefaultRetryPolicy(), 9, &protocol.TimeBank{Initial: 60_000, Increment: 1000},
			(4*5 + 3*2 + 4*30 + 2*(60+9*1) + 9*4 + 9*3*2 + 5 + 4*10) * time.Second},
		{"a time bank that does not matter", protocol.DefaultTimeouts(), protocol.DefaultRetryPolicy(), 1, &protocol.TimeBank{Initial: 600_000},
			(4*5 + 3*2 + 4*30 + 3*2 + 5 + 4*10) * time.Second},
	} {
		assert.Equal(t, test.want, test.timeouts.LongestMatch(test.retry, test.moves, test.bank), test.name)
	}
	assert.Equal(t, 1500*time.Millisecond, protocol.Seconds(1.5))
}

func TestTimeBanks(t *testing.T) {
	for text, want := range map[string]*protocol.TimeBank{
		"": nil, "60s": {Initial: 60_000}, "60s+1s": {Initial: 60_000, Increment: 1000}, "1m+0s": {Initial: 60_000},
		"1.5s+20ms": {Initial: 1500, Increment: 20}, "24h+1h": {Initial: 86_400_000, Increment: 3_600_000},
	} {
		bank, err := protocol.ParseTimeBank(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, bank, text)
		again, err := protocol.ParseTimeBank(bank.String())
		require.NoError(t, err)
		assert.Equal(t, want, again, text)
		assert.NoError(t, bank.Check())
	}
	assert.Equal(t, "1m+1s", (&protocol.TimeBank{Initial: 60_000, Increment: 1000}).String())
	assert.Equal(t, "1h+1m", (&protocol.TimeBank{Initial: 3_600_000, Increment: 60_000}).String())
	assert.Equal(t, "1h0m10s", (&protocol.TimeBank{Initial: 3_610_000}).String())
	for _, text := range []string{"60", "60s+", "+1s", "1s+1s+1s", "999ms", "25h", "10s+2h", "10s+-1s", "1500.5ms", "-5s"} {
		_, err := protocol.ParseTimeBank(text)
		assert.ErrorContains(t, err, text)
	}
	assert.Error(t, (&protocol.TimeBank{}).Check())
	assert.Error(t, (&protocol.TimeBank{Initial: math.MaxInt, Increment: -1}).Check())
}

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
