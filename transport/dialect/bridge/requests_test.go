package bridge_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/transport/dialect/bridge"
)

const (
	ourPlayer  = "http://localhost:8101/mcp"
	ourReferee = "http://localhost:8001/mcp"

	invitation = `{"protocol":"league.v2","message_type":"GAME_INVITATION","sender":"referee:REF01","timestamp":"2026-11-20T17:02:32Z",
		"conversation_id":"c-1","league_id":"league_of_others","round_id":1,"match_id":"R1M1","game_type":"even_odd","role_in_match":"PLAYER_A","opponent_id":"P04"}`
	choiceCall = `{"protocol":"league.v2","message_type":"CHOOSE_PARITY_CALL","sender":"referee:REF01","timestamp":"2026-11-20T17:02:32Z",
		"conversation_id":"c-1","match_id":"R1M1","player_id":"P01","game_type":"even_odd","context":{},"deadline":"2026-11-20T17:03:02Z"}`
	gameOver = `{"protocol":"league.v2","message_type":"GAME_OVER","sender":"referee:REF01","timestamp":"2026-11-20T17:02:32Z",
		"conversation_id":"c-1","match_id":"R1M1","game_type":"even_odd","game_result":{"status":"WIN","winner_player_id":"P04",
		"drawn_number":3,"number_parity":"odd","choices":{"P01":"even","P04":"odd"}}}`
)

// call is a JSON-RPC call.
func call(method, params string) string {
	return `{"jsonrpc": "2.0", "method": "` + method + `", "params": ` + params + `, "id": "x-1"}`
}

// invited is our player with an invitation to R1M1.
func invited(t testing.TB) *agent {
	t.Helper()
	a, _ := newWorld(t).player(ourPlayer, "P01")
	require.Contains(t, ask(t, a, "/mcp", call("handle_game_invitation", invitation)), "result")
	return a
}

// A call with any name of the method, and any structure around its message, is understood.
// The answer has the same structure.
func TestCallInEachFormIsAnsweredInThatForm(t *testing.T) {
	inResult := func(answer object) any { return answer["result"] }
	for _, test := range []struct {
		name, path, body string
		message          func(answer object) any
	}{
		{"spec-compliant", "/mcp", call("choose_parity", choiceCall), inResult},
		{"the message type", "/mcp", call("CHOOSE_PARITY_CALL", choiceCall), inResult},
		{"the message type in lower case", "/mcp", call("choose_parity_call", choiceCall), inResult},
		{"an alias", "/mcp", call("parity_choose", choiceCall), inResult},
		{"receive_", "/mcp", call("receive_parity_call", choiceCall), inResult},
		{"mcp_message", "/mcp", call("mcp_message", choiceCall), inResult},
		{"any method, by the type of the message", "/mcp", call("do_it", choiceCall), inResult},
		{"any method, by the type in lower case", "/mcp", call("do_it", strings.Replace(choiceCall, "CHOOSE_PARITY_CALL", "choose_parity_call", 1)), inResult},
		{"the message within the params", "/mcp", call("handle_message", `{"message":`+choiceCall+`}`), inResult},
		{"the message within the params, and the answer within the result", "/mcp", call("handle_message", `{"message":`+choiceCall+`}`),
			func(answer object) any { return answer["result"].(object)["response"] }},
		{"a tool", "/mcp", call("tools/call", `{"name":"choose_parity","arguments":`+choiceCall+`}`),
			func(answer object) any { return read(t, []byte(contentOf(t, answer, false))) }},
		{"a tool with the necessary members alone", "/mcp", call("tools/call", `{"name":"choose_parity","arguments":{"match_id":"R1M1","sender":"REF01"}}`),
			func(answer object) any { return read(t, []byte(contentOf(t, answer, false))) }},
		{"the message alone", "/mcp", choiceCall, func(answer object) any { return answer }},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := ask(t, invited(t), test.path, test.body)
			message, ok := test.message(answer).(object)
			require.True(t, ok, "%v", answer)
			assert.Equal(t, "CHOOSE_PARITY_RESPONSE", message["message_type"])
			assert.Equal(t, "even", message["parity_choice"])
			assert.Equal(t, "even", message["choice"])
			assert.Equal(t, "R1M1", message["match_id"])
			if strings.Contains(test.body, "jsonrpc") {
				assert.Equal(t, "2.0", answer["jsonrpc"])
				assert.Equal(t, "x-1", answer["id"])
			} else {
				assert.NotContains(t, answer, "jsonrpc")
				assert.NotContains(t, answer, "id")
			}
			assert.NotContains(t, answer, "error")
		})
	}
}

// A registration without members of its meta gets them, as the message alone or by its
// message type.
func TestSparseRegistrationIsCompleted(t *testing.T) {
	d := bridge.New(bridge.Options{League: "L", Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	for _, test := range []struct{ kind, sender, meta, said, want string }{
		{"REFEREE_REGISTER_REQUEST", "referee:REF01", "referee_meta", `{"version":"1.0.0","protocol_version":"league.v2","contact_endpoint":"http://127.0.0.1:8001/mcp"}`,
			`{"version":"1.0.0","contact_endpoint":"http://127.0.0.1:8001/mcp","display_name":"REF01","game_types":["even_odd"],"max_concurrent_matches":1}`},
		{"LEAGUE_REGISTER_REQUEST", "player:P01", "player_meta", `{"contact_endpoint":"E","display_name":"N","game_types":["chess"]}`,
			`{"contact_endpoint":"E","display_name":"N","game_types":["chess"],"version":"1.0.0"}`},
	} {
		body := call(test.kind, `{"protocol":"league.v2","message_type":"`+test.kind+`","sender":"`+test.sender+
			`","timestamp":"2026-11-22T04:16:44Z","conversation_id":"c","`+test.meta+`":`+test.said+`}`)
		_, _ = d.ServeText(t.Context(), netip.Addr{}, "/mcp", []byte(body), func(_ context.Context, body []byte) []byte {
			assert.JSONEq(t, test.want, text(t, read(t, body)["params"].(object)[test.meta]))
			return []byte(`{"jsonrpc":"2.0","result":{},"id":1}`)
		})
	}
}

// contentOf is the text in the result of a tool of MCP.
func contentOf(t *testing.T, answer object, failed bool) string {
	t.Helper()
	result := answer["result"].(object)
	assert.Equal(t, failed, result["isError"])
	content := result["content"].([]any)
	require.Len(t, content, 1)
	assert.Equal(t, "text", content[0].(object)["type"])
	return content[0].(object)["text"].(string)
}

// The error has the form of the request.
func TestRejectionHasTheFormOfTheRequest(t *testing.T) {
	a := invited(t)
	other := strings.Replace(choiceCall, "R1M1", "R7M7", 1)
	inCall := ask(t, a, "/mcp", call("choose_parity", other))["error"].(object)
	assert.Equal(t, "E006", inCall["data"].(object)["error_code"])

	inTool := read(t, []byte(contentOf(t, ask(t, a, "/mcp", call("tools/call", `{"name":"choose_parity","arguments":`+other+`}`)), true)))
	assert.Equal(t, "E006", inTool["error_code"])
	assert.Equal(t, "LEAGUE_ERROR", inTool["message_type"])

	bare := ask(t, a, "/mcp", other)
	assert.Equal(t, "MATCH_NOT_FOUND", bare["error"])
	assert.Equal(t, "E006", bare["error_code"])

	for _, test := range []struct {
		path, body string
		status     int
	}{
		{"/choose_parity", choiceCall, 404},
		{"/run_match", `[]`, 400},
		{"/run_match", ``, 400},
		{"/", choiceCall, 404},
		{"/mcp/", choiceCall, 404},
		{"/anything", choiceCall, 404},
		{"/run_match", `{"match_id":"R1M1"}`, 400},
	} {
		status, _ := a.serve(t.Context(), "", test.path, test.body)
		assert.Equal(t, test.status, status, "%s %s", test.path, test.body)
	}
}

// The codec gets a request in no known form unchanged.
func TestRequestWithoutKnownFormIsPassedOnUnchanged(t *testing.T) {
	for _, body := range []string{
		``, ` `, `nothing`, `[]`, `[1]`, `1`, `null`, `{}`, `{"a":1}`, `{"jsonrpc":"2.0"}`, `{`,
		`{"jsonrpc":"1.0","method":"game_over","params":{},"id":1}`,
		`{"method":"game_over","params":{},"id":1}`,
		`{"jsonrpc":"2.0","method":7,"id":1}`,
		`{"jsonrpc":"2.0","method":"game_over","params":[],"id":1}`,
		`{"jsonrpc":"2.0","method":"game_over","params":7,"id":1}`,
		`{"jsonrpc":"2.0","method":"game_over","params":{},"id":{}}`,
		`{"jsonrpc":"2.0","method":"game_over","params":{},"params":{},"id":1}`,
		`{"jsonrpc":"2.0","method":"no_such_method","params":{},"id":1}`,
		`{"jsonrpc":"2.0","method":"no_such_method","params":{"message_type":"NO_SUCH"},"id":1}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"no_such_tool","arguments":{}},"id":1}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"choose_parity"},"id":1}`,
		`{"jsonrpc":"2.0","method":"tools/list","params":{},"id":1}`,
		`{"jsonrpc":"2.0","method":"ping","id":1}`,
		`{"jsonrpc":"2.0","method":"ping","params":{},"id":1}`,
		`{"jsonrpc":"2.0","method":"get_player_state","params":{"auth_token":"t"},"id":null}`,
		`[` + call("game_invitation", invitation) + `,` + call("choose_parity", choiceCall) + `]`,
		`{"message_type":"NO_SUCH"}`,
	} {
		answered := []byte(`{"jsonrpc":"2.0","error":{"code":-1,"message":"x"},"id":null}`)
		d := bridge.New(bridge.Options{Clock: protocol.SystemClock(), Log: zerolog.Nop()})
		var served []string
		status, answer := d.ServeText(t.Context(), netip.Addr{}, "/mcp", []byte(body), func(_ context.Context, body []byte) []byte {
			served = append(served, string(body))
			return answered
		})
		assert.Equal(t, []string{body}, served)
		assert.Equal(t, 200, status)
		assert.Equal(t, string(answered), string(answer), body)
	}
}

// The bridge corrects no invalid value, in no form.
func TestInvalidValuesAreRejectedInEveryForm(t *testing.T) {
	without := func(message, member string) string {
		o := read(t, []byte(message))
		require.Contains(t, o, member)
		delete(o, member)
		return text(t, o)
	}
	for _, test := range []struct{ name, method, params, code, field string }{
		{"a member is missing", "handle_game_invitation", without(invitation, "opponent_id"), "E003", "opponent_id"},
		{"a league that is a number", "handle_game_invitation", strings.Replace(invitation, `"league_of_others"`, `7`, 1), "E002", "league_id"},
		{"an empty result", "notify_match_result", strings.Replace(gameOver, `"game_result"`, `"something"`, 1), "E003", "game_result"},
		{"a sender is missing", "handle_game_invitation", without(invitation, "sender"), "E003", "sender"},
		{"a deadline is missing", "choose_parity", without(choiceCall, "deadline"), "E003", "deadline"},
		{"a time is missing", "choose_parity", without(choiceCall, "timestamp"), "E003", "timestamp"},
		{"a conversation is missing", "choose_parity", without(choiceCall, "conversation_id"), "E003", "conversation_id"},
		{"another type", "choose_parity", strings.Replace(choiceCall, "CHOOSE_PARITY_CALL", "GAME_OVER", 1), "E002", "message_type"},
		{"another protocol", "choose_parity", strings.Replace(choiceCall, "league.v2", "league.v1", 1), "E018", "protocol"},
		{"another protocol, in a third-party form", "receive_parity_call", strings.Replace(choiceCall, "league.v2", "league.v1", 1), "E018", "protocol"},
		{"a local time", "choose_parity", strings.Replace(choiceCall, "2026-11-20T17:02:32Z", "2026-11-20T17:02:32+02:00", 1), "E021", "timestamp"},
		{"a time without a zone", "choose_parity", strings.Replace(choiceCall, "2026-11-20T17:02:32Z", "2026-11-20T17:02:32.123", 1), "E021", "timestamp"},
		{"an invalid time", "choose_parity", strings.Replace(choiceCall, "2026-11-20T17:02:32Z", "20261320T170342Z", 1), "E021", "timestamp"},
		{"an invalid role", "handle_game_invitation", strings.Replace(invitation, "PLAYER_A", "referee", 1), "E002", "role_in_match"},
		{"a round with a letter", "handle_game_invitation", strings.Replace(invitation, `"round_id":1`, `"round_id":"R1"`, 1), "E002", "round_id"},
		{"an invalid deadline, in a third-party form", "parity_call", strings.Replace(choiceCall, `"2026-11-20T17:03:02Z"`, `-1`, 1), "E021", "deadline"},
		{"a deadline out of range, in a third-party form", "parity_call", strings.Replace(choiceCall, `"2026-11-20T17:03:02Z"`, `999999999999999999`, 1), "E021", "deadline"},
		{"an invalid round, in a third-party form", "game_invitation", strings.Replace(invitation, `"round_id":1`, `"round_id":"final"`, 1), "E002", "round_id"},
		{"no match, in a third-party form", "game_invitation", without(invitation, "match_id"), "E003", "match_id"},
		{"an invalid standing", "choose_parity", strings.Replace(choiceCall, `"context":{}`, `"context":{"your_standings":{"wins":1}}`, 1), "E003", "context.your_standings.losses"},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := ask(t, invited(t), "/mcp", call(test.method, test.params))
			require.Contains(t, answer, "error", "%v", answer)
			data := answer["error"].(object)["data"].(object)
			assert.Equal(t, test.code, data["error_code"])
			fields := data["context"].(object)["fields"].([]any)
			assert.Equal(t, test.field, fields[0].(object)["field"])
		})
	}
}

// A player plays a whole match without envelopes. It knows the round from the announcement.
func TestMatchWithoutEnvelopesIsPlayed(t *testing.T) {
	w := newWorld(t)
	a, p := w.player(ourPlayer, "P1")
	ask(t, a, "/mcp", call("notify_round", `{"protocol":"league.v2","message_type":"ROUND_ANNOUNCEMENT","sender":"league_manager","timestamp":"2026-11-20T17:02:32Z",
		"conversation_id":"c","league_id":"league_of_others","round_id":3,"matches":[{"match_id":"M7","game_type":"even_odd","player_A_id":"P1","player_B_id":"P2",
		"referee_endpoint":"http://localhost:8002/mcp"}]}`))
	assert.Equal(t, true, ask(t, a, "/mcp", call("handle_game_invitation", `{"match_id":"M7","opponent":"P2"}`))["result"].(object)["accept"])
	chosen := ask(t, a, "/mcp", call("choose_parity", `{"match_id":"M7"}`))["result"].(object)
	assert.Equal(t, "even", chosen["choice"])
	assert.Equal(t, "P1", chosen["player_id"])
	ended := ask(t, a, "/mcp", call("notify_match_result", `{"match_id":"M7","game_result":{"status":"WIN","winner_player_id":"P1","drawn_number":2,"choices":{"P1":"even","P2":"odd"}}}`))
	assert.Equal(t, "WIN", ended["result"].(object)["result"])
	assert.Equal(t, 1, p.Record().Stats.Wins)
}

// A notification in a third-party form has its effect, and no answer.
func TestNotificationHasNoAnswer(t *testing.T) {
	a := invited(t)
	status, answer := a.serve(t.Context(), "", "/mcp", `{"jsonrpc":"2.0","method":"game_over","params":`+gameOver+`}`)
	assert.Equal(t, 200, status)
	assert.Nil(t, answer)
	again := ask(t, a, "/mcp", call("choose_parity", choiceCall))
	assert.Equal(t, "E008", again["error"].(object)["data"].(object)["error_code"], "the match is over")
}

// The champion may lack a name, and have its points under another name. A league may end
// more than once.
func TestLeagueCompletedWithIncompleteChampionIsAccepted(t *testing.T) {
	const envelope = `"protocol":"league.v2","message_type":"LEAGUE_COMPLETED","sender":"league_manager","timestamp":"2026-11-20T17:02:32Z","conversation_id":"c","league_id":"league_of_others"`
	const standings = `"final_standings":[{"rank":1,"player_id":"P02","points":9},{"rank":2,"player_id":"P01","points":4}]}`
	for name, champion := range map[string]string{
		"specification": `{"player_id":"P02","display_name":"P02","points":9}`,
		"third-party":   `{"player_id":"P02","total_wins":3,"total_points":9}`,
	} {
		t.Run(name, func(t *testing.T) {
			a, p := newWorld(t).player(ourPlayer, "P01")
			for range 2 {
				assert.Contains(t, ask(t, a, "/mcp", call("notify_league_completed", `{`+envelope+`,"total_rounds":3,"total_matches":6,"champion":`+champion+`,`+standings)), "result")
			}
			select {
			case <-p.Done():
			default:
				t.Error("the player waits")
			}
			r := p.Record()
			assert.Equal(t, league.Champion{PlayerID: "P02", DisplayName: "P02", Points: 9}, r.Champion)
			assert.Equal(t, 2, r.Rank)
			assert.Equal(t, 4, r.Points)
		})
	}
	t.Run("nothing but an envelope", func(t *testing.T) {
		a, p := newWorld(t).player(ourPlayer, "P01")
		assert.Contains(t, ask(t, a, "/mcp", call("notify_league_completed", `{`+envelope+`}`)), "result")
		<-p.Done()
	})
}
