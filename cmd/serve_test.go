package cmd

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
)

func TestWhoeverIsTooFastGetsALeagueError(t *testing.T) {
	voice := protocol.NewVoice("league_manager", protocol.SystemClock())
	body := transport.EncodeError(protocol.TooFast(voice, 1500*time.Millisecond))
	var answer struct {
		Error struct {
			Code    int
			Message string
			Data    json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(body, &answer))
	assert.Equal(t, 22, answer.Error.Code)
	assert.Equal(t, "RATE_LIMITED", answer.Error.Message)
	assert.Empty(t, protocol.Examine(protocol.TypeLeagueError, answer.Error.Data))
	var e protocol.LeagueError
	require.NoError(t, json.Unmarshal(answer.Error.Data, &e))
	assert.Equal(t, "E022", e.ErrorCode)
	assert.True(t, *e.Retryable)
	assert.Equal(t, map[string]any{"detail": "too many requests: wait 2 seconds", "retry_after_sec": 2.0}, e.Context)
}

// A breaker must never decide a match, nor keep an agent out of its league.
func TestOnlyNoticesAreHeldBack(t *testing.T) {
	for method, want := range map[string]bool{
		"register_player": true, "register_referee": true, "start_match": true, "handle_game_invitation": true,
		"choose_parity": true, "parity_choose": true, "make_move": true, "report_match_result": true,
		"notify_league_completed": true, "league_query": true, "ping": true,
		"notify_round": true, "notify_match_result": true,
		"update_standings": false, "notify_round_completed": false, "notify_game_error": false,
	} {
		assert.Equal(t, want, essential(method), method)
	}
}
