package bridge_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
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

const (
	tableHead = `{"protocol":"league.v2","message_type":"LEAGUE_STANDINGS_UPDATE","sender":"league_manager","timestamp":"2026-11-20T17:02:32Z","conversation_id":"c",`
	table     = tableHead + `"league_id":"league_of_others","round_id":1,"standings":[{"rank":1,"player_id":"P01","points":0}]}`
	overHead  = `{"protocol":"league.v2","message_type":"GAME_OVER","sender":"referee:REF01","timestamp":"2026-11-20T17:02:32Z","conversation_id":"c-1","match_id":"R1M1",`
)

// compact is a call in the form of our agents, byte for byte.
func compact(method, params string) string {
	return `{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `,"id":1}`
}

func TestHarmlessDeviationsAreAccepted(t *testing.T) {
	with := func(message, old, replacement string) string {
		require.Contains(t, message, old)
		return strings.Replace(message, old, replacement, 1)
	}
	context := func(members string) string { return with(choiceCall, `"context":{}`, `"context":`+members) }
	completed := func(rest string) string {
		return strings.NewReplacer("GAME_OVER", "ROUND_COMPLETED", "referee:REF01", "league_manager").Replace(head("GAME_OVER")) + rest
	}
	for _, test := range []struct{ name, body string }{
		{"league_id is null", call("handle_game_invitation", with(invitation, `"league_of_others"`, `null`))},
		{"league_id is missing", call("handle_game_invitation", with(invitation, `"league_id":"league_of_others",`, ``))},
		{"game_type is null", call("handle_game_invitation", with(invitation, `"even_odd"`, `null`))},
		{"game_type is missing", call("choose_parity", with(choiceCall, `"game_type":"even_odd",`, ``))},
		{"empty strings, zeros and nulls", call("choose_parity", context(`{"opponent_id":"","round_id":0,"your_standings":null}`))},
		{"no context", call("choose_parity", context(`null`))},
		{"standings of nulls", call("choose_parity", context(`{"opponent_id":null,"your_standings":{"wins":null,"losses":0,"draws":"","points":null}}`))},
		{"a sender with a suffix", call("update_standings", with(table, `"league_manager"`, `"league_manager:LM01"`))},
		{"league_id is null in the form of our agents", compact("update_standings", with(table, `"league_of_others"`, `null`))},
		{"a sender with a suffix in the form of our agents", compact("update_standings", with(table, `"league_manager"`, `"league_manager:LM01"`))},
		{"only a winner in the result", call("notify_match_result", overHead+`"game_result":{"winner_player_id":"P04"}}`)},
		{"a compact time", call("choose_parity", strings.Replace(choiceCall, "2026-11-20T17:02:32Z", "20261120T170342Z", 1))},
		{"a compact deadline", call("choose_parity", strings.Replace(choiceCall, "2026-11-20T17:03:02Z", "20261120T170342Z", 1))},
		{"two zones", call("choose_parity", strings.Replace(choiceCall, "2026-11-20T17:02:32Z", "2026-11-20T17:02:32.123456+00:00Z", 1))},
		{"a role in lower case", call("handle_game_invitation", strings.Replace(invitation, "PLAYER_A", "player_b", 1))},
		{"opponent", call("handle_game_invitation", strings.Replace(invitation, "opponent_id", "opponent", 1))},
		{"no standings", call("choose_parity", strings.Replace(choiceCall, `"context":{}`, `"context":{"your_standings":{}}`, 1))},
		{"a referee id in lower case", call("choose_parity", strings.Replace(choiceCall, "referee:REF01", "referee:ref01", 1))},
		{"a referee id without its role", call("choose_parity", strings.Replace(choiceCall, "referee:REF01", "REF01", 1))},
		{"a winner under another name", call("game_over", strings.Replace(gameOver, "winner_player_id", "winner", 1))},
		{"a winner DRAW", call("game_over", `{"match_id":"R1M1","sender":"referee:REF01","game_result":{"winner":"DRAW"}}`)},
		{"a round with a letter", call("game_invitation", strings.Replace(invitation, `"round_id":1`, `"round_id":"R1"`, 1))},
		{"standings with another message type", call("handle", `{"message_type":"STANDINGS_UPDATE","round_id":1,"standings":[{"rank":1,"player_id":"P01","display_name":"Ours","played":0,"wins":0,"draws":0,"losses":0,"points":0}]}`)},
		{"a reason beside the result", call("notify_match_result", strings.Replace(gameOver, `"game_result"`, `"reason":"x","game_result"`, 1))},
		{"no next_round_id", call("notify_round_completed", completed(`"league_id":"l","round_id":3,"matches_completed":2}`))},
		{"an incomplete summary", call("round_completed", completed(`"round_id":1,"matches_completed":2,"summary":{"total_matches":2,"completed_matches":2,"draws":0},"next_round_id":2}`))},
		{"a summary that is null", call("notify_round_completed", completed(`"round_id":1,"summary":null,"next_round_id":2}`))},
		{"completion of round 0", call("notify_round_completed", completed(`"round_id":0,"matches_completed":1,"next_round_id":null,"summary":{"total_matches":1,"wins":1,"draws":0,"technical_losses":0}}`))},
		{"standings of round 0", call("update_standings", strings.Replace(table, `"round_id":1`, `"round_id":0`, 1))},
		{"standings as a notice", call("tools/call", `{"name":"notify_standings","arguments":`+table+`}`)},
		{"round 0 in the form of our agents", compact("update_standings", strings.Replace(table, `"round_id":1`, `"round_id":0`, 1))},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := ask(t, invited(t), "/mcp", test.body)
			assert.Contains(t, answer, "result", "%v", answer)
			assert.NotContains(t, text(t, answer), `"isError":true`)
		})
	}
	t.Run("another referee is not the same", func(t *testing.T) {
		answer := ask(t, invited(t), "/mcp", call("choose_parity", strings.Replace(choiceCall, "referee:REF01", "referee:REF02", 1)))
		assert.Contains(t, answer, "error")
	})
}

func TestGameOverOfAWinnerOrAStatusIsFiled(t *testing.T) {
	for said, want := range map[string]protocol.PlayedMatch{
		`"winner":"P01"`: {Result: "WIN"}, `"winner_id":"P04"`: {Result: "LOSS"}, `"status":"DRAW"`: {Result: "DRAW"},
		`"winner":"DRAW"`: {Result: "DRAW"}, `"status":"finished","winner":"P01"`: {Result: "WIN"},
		`"status":"technical_loss","winner":"P01"`: {Result: "TECHNICAL_WIN"},
	} {
		t.Run(said, func(t *testing.T) {
			a := invited(t)
			ask(t, a, "/mcp", call("choose_parity", choiceCall))
			assert.Contains(t, ask(t, a, "/mcp", call("notify_match_result", overHead+said+`}`)), "result")
			want.MatchID, want.OpponentID, want.MyChoice = "R1M1", "P04", "even"
			assert.Equal(t, []protocol.PlayedMatch{want}, playedBy(t, a))
		})
	}
}

// An agent without a league does not guess one.
func TestAgentWithoutLeagueDoesNotGuessOne(t *testing.T) {
	a, _ := newWorld(t).enter(ourPlayer)
	protocol.Invite.Handle(a.mux, protocol.NewStamp("player:P01", protocol.SystemClock()),
		func(context.Context, string, *protocol.GameInvitation) (*protocol.GameJoinAck, error) {
			return &protocol.GameJoinAck{}, nil
		})
	answer := ask(t, a, "/mcp", call("handle_game_invitation", strings.Replace(invitation, `"league_of_others"`, `null`, 1)))
	assert.Equal(t, "E003", answer["error"].(object)["data"].(object)["error_code"])
}

func TestQueryWithoutLeagueIsAboutTheLeagueOfTheManager(t *testing.T) {
	const query = `{"protocol":"league.v2","message_type":"LEAGUE_QUERY","sender":"player:P01","timestamp":"2026-11-20T17:02:32Z","conversation_id":"c","league_id":null,"query_type":"GET_STATUS"}`
	d := bridge.New(bridge.Options{League: "L", Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	for _, body := range []string{call("league_query", query), compact("league_query", query)} {
		var leagues []any
		_, answer := d.ServeText(t.Context(), netip.Addr{}, "/mcp", []byte(body), func(_ context.Context, body []byte) []byte {
			league := read(t, body)["params"].(object)["league_id"]
			if leagues = append(leagues, league); league == nil {
				return []byte(`{"jsonrpc":"2.0","error":{"code":-32602,"message":"MISSING_REQUIRED_FIELD"},"id":1}`)
			}
			return []byte(`{"jsonrpc":"2.0","result":{"success":true},"id":1}`)
		})
		assert.Equal(t, "L", leagues[len(leagues)-1])
		assert.Contains(t, string(answer), "success")
	}
}

// playedBy returns the finished matches of a player.
func playedBy(t *testing.T, a *agent) (played []protocol.PlayedMatch) {
	t.Helper()
	answer := ask(t, a, "/mcp", call("get_player_state", `{"auth_token":"tok-register_player"}`))
	require.NoError(t, json.Unmarshal([]byte(text(t, answer["result"].(object)["matches"])), &played))
	return played
}

// A request without a game is about the game of the league.
func TestMissingGameIsTheGameOfTheLeague(t *testing.T) {
	const (
		round = `{"protocol":"league.v2","message_type":"ROUND_ANNOUNCEMENT","sender":"league_manager","timestamp":"2026-11-20T17:02:32Z","conversation_id":"c",` +
			`"league_id":"league_of_others","round_id":1,"matches":[{"match_id":"R1M1","game_type":"tic_tac_toe","player_A_id":"P01","player_B_id":"P04","referee_endpoint":"http://localhost:8001/mcp"}]}`
		report = `{"protocol":"league.v2","message_type":"MATCH_RESULT_REPORT","sender":"referee:REF01","timestamp":"2026-11-20T17:02:32Z","conversation_id":"c",` +
			`"league_id":"L","round_id":1,"match_id":"R1M1","result":{"winner":null,"score":{"P01":1,"P02":1}}}`
	)
	withoutGame := strings.Replace(invitation, `"game_type":"even_odd",`, ``, 1)
	require.NotEqual(t, invitation, withoutGame)
	accepted := `{"jsonrpc":"2.0","result":{"status":"ACCEPTED","league_id":"league_of_others","player_id":"P01","manager_auth":"bearer"},"id":1}`
	for _, test := range []struct {
		name     string
		options  bridge.Options
		requests []string
		refused  bool // all but the last
		want     string
	}{
		{"announced in the form of our manager", bridge.Options{}, []string{compact("notify_round", round), call("handle_game_invitation", withoutGame)}, false, "tic_tac_toe"},
		{"announced in another form", bridge.Options{}, []string{call("round_announcement", round), call("handle_game_invitation", withoutGame)}, false, "tic_tac_toe"},
		{"announced by an untrusted caller", bridge.Options{}, []string{compact("notify_round", round), call("handle_game_invitation", withoutGame)}, true, "even_odd"},
		{"in a form without envelope", bridge.Options{}, []string{compact("notify_round", round), call("handle_game_invitation", `{"match_id":"R1M1"}`)}, false, "tic_tac_toe"},
		{"not announced", bridge.Options{}, []string{call("handle_game_invitation", withoutGame)}, false, "even_odd"},
		{"a report to a manager", bridge.Options{League: "L", Game: "tic_tac_toe"}, []string{call("report_match_result", report)}, false, "tic_tac_toe"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.options.Clock, test.options.Log = protocol.SystemClock(), zerolog.Nop()
			d := bridge.New(test.options)
			_, err := d.Call(t.Context(), &transport.Request{Endpoint: "http://localhost:8000/mcp", Method: "register_player"}, []byte(call("register_player", `{"sender":"player:me"}`)),
				func(context.Context, string, map[string]string, []byte) (transport.Posted, error) {
					return transport.Posted{Status: 200, Body: []byte(accepted)}, nil
				})
			require.NoError(t, err)
			var served string
			for i, body := range test.requests {
				answer := `{"jsonrpc":"2.0","result":{"status":"ok"},"id":1}`
				if test.refused && i < len(test.requests)-1 {
					answer = `{"jsonrpc":"2.0","error":{"code":3001,"message":"AUTH_TOKEN_MISSING"},"id":1}`
				}
				_, _ = d.ServeText(t.Context(), netip.Addr{}, "/mcp", []byte(body), func(_ context.Context, body []byte) []byte {
					served = string(body)
					return []byte(answer)
				})
			}
			assert.Equal(t, test.want, read(t, []byte(served))["params"].(object)["game_type"])
		})
	}
}
