package protocol_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

// TestMessageTypeNamesTheMethod covers mcp_message and unknown methods, where the message
// type determines the method (spec 003 §5.11.2).
func TestMessageTypeNamesTheMethod(t *testing.T) {
	methods := map[string]string{
		"REFEREE_REGISTER_REQUEST": "register_referee",
		"LEAGUE_REGISTER_REQUEST":  "register_player",
		"ROUND_ANNOUNCEMENT":       "notify_round",
		"MATCH_ASSIGNMENT":         "start_match",
		"GAME_INVITATION":          "handle_game_invitation",
		"CHOOSE_PARITY_CALL":       "choose_parity",
		"GAME_MOVE_CALL":           "make_move",
		"GAME_OVER":                "notify_match_result",
		"GAME_ERROR":               "notify_game_error",
		"MATCH_RESULT_REPORT":      "report_match_result",
		"LEAGUE_STANDINGS_UPDATE":  "update_standings",
		"ROUND_COMPLETED":          "notify_round_completed",
		"LEAGUE_COMPLETED":         "notify_league_completed",
		"LEAGUE_QUERY":             "league_query",
	}
	for messageType, sample := range samples() {
		t.Run(messageType, func(t *testing.T) {
			want, isRequest := methods[messageType]
			for how, params := range map[string]any{
				"encoded":  []byte(sampleJSON(t, messageType)),
				"a value":  sample,
				"the type": []byte(`{"unheard_of":{"message_type":"PING"},"message_type":"` + messageType + `"}`),
			} {
				method, ok := protocol.MethodFor(params)
				assert.Equal(t, want, method, how)
				assert.Equal(t, isRequest, ok, how)
			}
		})
	}
	assert.Len(t, requestTypes(), len(methods))

	method, ok := protocol.MethodFor(protocol.Many(standings()))
	assert.True(t, ok)
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
		t.Run(name, func(t *testing.T) {
			_, ok := protocol.MethodFor(params)
			assert.False(t, ok)
		})
	}
}

// TestResponseTimes covers spec 003 table 5.
func TestResponseTimes(t *testing.T) {
	for name, times := range map[string][2]time.Duration{
		"register_referee":        {protocol.RegisterReferee.Timeout, 10 * time.Second},
		"register_player":         {protocol.RegisterPlayer.Timeout, 10 * time.Second},
		"notify_round":            {protocol.NotifyRound.Timeout, 10 * time.Second},
		"start_match":             {protocol.StartMatch.Timeout, 10 * time.Second},
		"handle_game_invitation":  {protocol.Invite.Timeout, 5 * time.Second},
		"choose_parity":           {protocol.ChooseParity.Timeout, 30 * time.Second},
		"make_move":               {protocol.MakeMove.Timeout, 30 * time.Second},
		"notify_match_result":     {protocol.NotifyMatchResult.Timeout, 5 * time.Second},
		"notify_game_error":       {protocol.NotifyGameError.Timeout, 10 * time.Second},
		"report_match_result":     {protocol.ReportMatchResult.Timeout, 10 * time.Second},
		"update_standings":        {protocol.UpdateStandings.Timeout, 10 * time.Second},
		"notify_round_completed":  {protocol.NotifyRoundCompleted.Timeout, 10 * time.Second},
		"notify_league_completed": {protocol.NotifyLeagueCompleted.Timeout, 10 * time.Second},
		"league_query":            {protocol.Query.Timeout, 10 * time.Second},
		"ping":                    {protocol.Ping.Timeout, 10 * time.Second},
	} {
		assert.Equal(t, times[1], times[0], name)
	}
	assert.Equal(t, protocol.Timeouts{GameJoinAck: 5, Move: 30, GameOver: 5, Generic: 10}, protocol.DefaultTimeouts())
	assert.Equal(t, protocol.RetryPolicy{MaxRetries: 3, Delay: 2}, protocol.DefaultRetryPolicy())
}

func TestLongestMatch(t *testing.T) {
	tests := []struct {
		name     string
		timeouts protocol.Timeouts
		retry    protocol.RetryPolicy
		moves    int
		want     time.Duration
	}{
		// 4 invitations and 4 questions each, 3 pauses between them, the result, 4 reports.
		{"of the documents", protocol.DefaultTimeouts(), protocol.DefaultRetryPolicy(), 1,
			(4*5 + 3*2 + 4*30 + 3*2 + 5 + 4*10) * time.Second},
		{"nine moves", protocol.DefaultTimeouts(), protocol.DefaultRetryPolicy(), 9,
			(4*5 + 3*2 + 9*(4*30+3*2) + 5 + 4*10) * time.Second},
		{"no second chance", protocol.DefaultTimeouts(), protocol.RetryPolicy{}, 1, (5 + 30 + 5 + 10) * time.Second},
		{"fractions", protocol.Timeouts{GameJoinAck: 0.25, Move: 0.5}, protocol.RetryPolicy{MaxRetries: 1, Delay: 0.125}, 1,
			1750 * time.Millisecond},
		{"no time at all", protocol.Timeouts{}, protocol.RetryPolicy{}, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, test.timeouts.LongestMatch(test.retry, test.moves))
		})
	}
	assert.Equal(t, 1500*time.Millisecond, protocol.Seconds(1.5))
}
