package bridge_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// head is the envelope of a message of a referee that calls methods by message types.
func head(kind string) string {
	return `{"protocol":"league.v2","message_type":"` + kind + `","sender":"referee:REF01","timestamp":"2026-11-22T04:31:16Z","conversation_id":"c-1",`
}

// A player plays a match of a referee that calls methods by message types and leaves out
// members that the player knows. It stores the result.
func TestSparseMatchByMessageTypesIsPlayed(t *testing.T) {
	for said, want := range map[string]protocol.PlayedMatch{
		`"drawn_number":9,"your_choice":"even","opponent_choice":"odd","result":"LOSS","points_earned":0}`:  {Result: "LOSS", OpponentChoice: "odd", DrawnNumber: 9},
		`"drawn_number":8,"your_choice":"even","opponent_choice":"odd","result":"WIN","points_earned":3}`:   {Result: "WIN", OpponentChoice: "odd", DrawnNumber: 8},
		`"drawn_number":3,"your_choice":"even","opponent_choice":"even","result":"DRAW","points_earned":1}`: {Result: "DRAW", OpponentChoice: "even", DrawnNumber: 3},
		`"drawn_number":null,"your_choice":null,"opponent_choice":null,"result":"TECHNICAL_LOSS"}`:          {Result: "TECHNICAL_LOSS"},
	} {
		a, _ := newWorld(t).player(ourPlayer, "P01")
		said := `"match_id":"R1M1",` + said
		joined := ask(t, a, "/mcp", call("GAME_INVITATION", head("GAME_INVITATION")+
			`"match_id":"R1M1","round_id":"ROUND_1","opponent_id":"P02","role_in_match":"PLAYER_A","response_deadline":"2026-11-22T04:31:21Z"}`))
		require.Contains(t, joined, "result", "%v", joined)
		chosen := ask(t, a, "/mcp", call("CHOOSE_PARITY_CALL", head("CHOOSE_PARITY_CALL")+`"match_id":"R1M1","deadline":"2026-11-22T04:31:46Z"}`))
		require.Contains(t, chosen, "result", "%v", chosen)
		assert.Equal(t, "even", chosen["result"].(object)["parity_choice"])
		over := ask(t, a, "/mcp", call("GAME_OVER", head("GAME_OVER")+said))
		require.Contains(t, over, "result", "%v", over)
		assert.Equal(t, strings.TrimPrefix(want.Result, "TECHNICAL_"), over["result"].(object)["result"])
		want.MatchID, want.OpponentID, want.MyChoice = "R1M1", "P02", "even"
		assert.Equal(t, []protocol.PlayedMatch{want}, playedBy(t, a))
	}
}

// An edition of the exercise prints messages of a match with nested members.
func TestNestedMembersAreRead(t *testing.T) {
	a, _ := newWorld(t).player(ourPlayer, "P01")
	joined := ask(t, a, "/mcp", call("handle_game_invitation", head("GAME_INVITATION")+
		`"league_id":"league_of_others","round_id":1,"match_id":"R2M1","game_invitation":{"game_type":"even_odd","match_id":"R2M1","role_in_match":"PLAYER_A","opponent_id":"P02"}}`))
	require.Contains(t, joined, "result", "%v", joined)
	question := call("choose_parity", head("CHOOSE_PARITY_CALL")+`"auth_token":"tok_ref01","league_id":"l","round_id":1,"match_id":"R2M1","player_id":"P01",
		"parity_context":{"valid_options":["even","odd"],"your_standings":{"wins":0,"losses":0,"draws":null},"opponent_id":"P02"},"deadline":"2026-11-22T04:31:46Z"}`)
	_, _ = a.dialect.ServeText(t.Context(), netip.Addr{}, "/mcp", []byte(question), func(_ context.Context, body []byte) []byte {
		assert.JSONEq(t, `{"valid_options":["even","odd"],"your_standings":{"wins":0,"losses":0,"draws":0},"opponent_id":"P02"}`,
			text(t, read(t, body)["params"].(object)["context"]))
		return nil
	})
	chosen := ask(t, a, "/mcp", question)
	require.Contains(t, chosen, "result", "%v", chosen)
	over := ask(t, a, "/mcp", call("notify_match_result", head("GAME_OVER")+`"auth_token":"tok_ref01","league_id":"l","round_id":1,"match_id":"R2M1",
		"game_result":{"status":"WIN","winner_player_id":"P01","drawn_number":8,"choices":{"P01":"even","P02":"odd"}}}`))
	assert.Equal(t, "WIN", over["result"].(object)["result"])
	assert.Equal(t, "P02", playedBy(t, a)[0].OpponentID)
}
