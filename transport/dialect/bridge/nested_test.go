package bridge

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

// An agent that requires nested members gets them in the next attempt, and in the first
// attempt of all later questions.
func TestAgentThatRequiresNestedMembersGetsThem(t *testing.T) {
	required := map[string][]string{
		"GAME_INVITATION":    {"league_id", "round_id", "match_id", "game_invitation"},
		"CHOOSE_PARITY_CALL": {"league_id", "round_id", "match_id", "parity_context"},
		"GAME_OVER":          {"league_id", "round_id", "match_id"},
	}
	answers := map[string]string{"GAME_INVITATION": joins, "CHOOSE_PARITY_CALL": chooses, "GAME_OVER": `{"jsonrpc":"2.0","result":{"status":"acknowledged"},"id":7}`}
	s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
		method := asked.Text("method")
		if required[method] == nil {
			return 200, `{"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 7}`
		}
		for _, name := range required[method] {
			if asked.Object("params").Get(name) == nil {
				return 400, `{"jsonrpc": "2.0", "error": {"code": -32602, "message": "Invalid params: 1 validation error\n` + name + `\n  Field required [type=missing]", "data": null}, "id": 7}`
			}
		}
		return 200, answers[method]
	}}
	p := newTestPeers(zerolog.Nop())
	p.options.League = "league_of_others"
	invite := strings.Replace(invitation, `"attempt"`, `"round_id":1,"league_id":"league_of_others","game_type":"even_odd","role_in_match":"PLAYER_A","opponent_id":"P02","attempt"`, 1)
	assert.Equal(t, joins, callOf(t, p, s, "handle_game_invitation", invite))
	last := protocol.ParseObject([]byte(s.bodies[len(s.bodies)-1])).Object("params")
	assert.JSONEq(t, `{"game_type":"even_odd","match_id":"R1M1","role_in_match":"PLAYER_A","opponent_id":"P02"}`, string(last.Get("game_invitation")))
	assert.Equal(t, "P02", last.Text("opponent_id"), "the members of the specification stay")
	assert.Equal(t, formsOf("handle_game_invitation")-1, s.tries(), "the nested forms are the last")

	call := strings.Replace(choiceCall, `"R1M1"`, `"R2M1","context":{"opponent_id":"P02","your_standings":{"wins":1,"losses":0,"draws":0}}`, 1)
	assert.Equal(t, chooses, callOf(t, p, s, "choose_parity", call))
	asked := protocol.ParseObject([]byte(s.bodies[0])).Object("params")
	assert.JSONEq(t, `{"opponent_id":"P02","your_standings":{"wins":1,"losses":0,"draws":0},"valid_options":["even","odd"]}`, string(asked.Get("parity_context")))
	assert.Equal(t, "league_of_others", asked.Text("league_id"))
	assert.Equal(t, 2, asked.Integer("round_id"))
	assert.Equal(t, 1, s.tries())
	assert.Contains(t, callOf(t, p, s, "notify_match_result", gameOver), "acknowledged")
	assert.Equal(t, 1, s.tries())
}
