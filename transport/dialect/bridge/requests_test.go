package bridge_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/transport"
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

// A registration has the members of player_meta or referee_meta at the top level, the endpoint under one of three names,
// and is sent in any form and to /register. The bridge completes it, and answers in the caller's form.
func TestFlatRegistrationIsCompletedInEachForm(t *testing.T) {
	const envelope = `"protocol":"league.v2","sender":"player:P01","timestamp":"2026-11-22T04:16:44Z","conversation_id":"c"`
	const complete = `{"display_name":"A","game_types":["even_odd"],"version":"1.0.0","contact_endpoint":"http://h:1/mcp"}`
	for _, test := range []struct{ name, path, body, method, meta string }{
		{"endpoint", "/mcp", call("register_player", `{`+envelope+`,"message_type":"LEAGUE_REGISTER_REQUEST","display_name":"A","endpoint":"http://h:1/mcp"}`), "", complete},
		{"contact_endpoint", "/mcp", call("register_player", `{`+envelope+`,"message_type":"LEAGUE_REGISTER_REQUEST","display_name":"A","contact_endpoint":"http://h:1/mcp"}`), "", complete},
		{"callback_url", "/mcp", call("league_register", `{`+envelope+`,"display_name":"A","callback_url":"http://h:1/mcp"}`), "", complete},
		{"a null player_meta", "/mcp", call("register_player", `{"player_meta":null,"display_name":"A","callback_url":"http://h:1/mcp"}`), "", complete},
		{"endpoint in player_meta", "/mcp", call("register_player", `{"display_name":"A","player_meta":{"endpoint":"http://h:1/mcp"}}`), "", complete},
		{"the one with a path", "/mcp", call("register_player", `{"display_name":"A","contact_endpoint":"http://h:1","endpoint":"http://h:1/mcp"}`), "", complete},
		{"a tool", "/mcp", call("tools/call", `{"name":"register_player","arguments":{"display_name":"A","endpoint":"http://h:1/mcp"}}`), "", complete},
		{"part of the envelope", "/mcp", call("register_player", `{"timestamp":"2026-11-22T04:16:44Z","display_name":"A","endpoint":"http://h:1/mcp"}`), "", complete},
		{"another type, in capitals", "/MCP", `{"message_type":"PLAYER_REGISTER_REQUEST","protocol":"league.v2","display_name":"A","endpoint":"http://h:1/mcp"}`, "", complete},
		{"/register", "/register", `{"display_name":"A","endpoint":"http://h:1/mcp"}`, "", complete},
		{"/REGISTER with JSON-RPC", "/REGISTER", call("register", `{"display_name":"A","endpoint":"http://h:1/mcp"}`), "", complete},
		{"/register with player_meta", "/register", `{"player_meta":{"display_name":"A","contact_endpoint":"http://h:1/mcp"}}`, "", complete},
		{"a referee", "/mcp", call("register_referee", `{"display_name":"A","endpoint":"http://h:1/mcp","max_concurrent_matches":3}`), "register_referee",
			`{"display_name":"A","game_types":["even_odd"],"version":"1.0.0","contact_endpoint":"http://h:1/mcp","max_concurrent_matches":3}`},
		{"/register of a referee", "/register", `{"display_name":"A","endpoint":"http://h:1/mcp","sender":"referee:REF01"}`, "register_referee",
			`{"display_name":"A","game_types":["even_odd"],"version":"1.0.0","contact_endpoint":"http://h:1/mcp","max_concurrent_matches":1}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := bridge.New(bridge.Options{League: "L", Clock: protocol.SystemClock(), Log: zerolog.Nop()})
			method := cmp.Or(test.method, "register_player")
			status, answer := d.ServeText(t.Context(), netip.Addr{}, test.path, []byte(test.body), func(_ context.Context, body []byte) []byte {
				q := read(t, body)
				params := q["params"].(object)
				assert.Equal(t, method, q["method"])
				assert.JSONEq(t, test.meta, text(t, params[strings.TrimPrefix(method, "register_")+"_meta"]))
				row := protocol.MethodRow{}
				for _, m := range protocol.Methods() {
					if m.Name == method {
						row = m
					}
				}
				assert.NoError(t, row.Check([]byte(text(t, params))), "the whole message is valid")
				return []byte(`{"jsonrpc":"2.0","result":{"status":"ACCEPTED"},"id":1}`)
			})
			assert.Equal(t, 200, status)
			got := read(t, answer)
			switch {
			case test.name == "a tool":
				assert.JSONEq(t, `{"status":"ACCEPTED"}`, contentOf(t, got, false))
			case strings.Contains(test.body, "jsonrpc"):
				assert.Equal(t, "ACCEPTED", got["result"].(object)["status"])
			default:
				assert.Equal(t, "ACCEPTED", got["status"])
			}
		})
	}
}

// A registration without any endpoint is refused, with an HTTP status if it came without JSON-RPC.
func TestRegistrationWithoutEndpointIsRefused(t *testing.T) {
	d := bridge.New(bridge.Options{League: "L", Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	mux := transport.NewMux(zerolog.Nop())
	protocol.RegisterPlayer.Handle(mux, protocol.NewStamp("league_manager", protocol.SystemClock()),
		func(context.Context, string, *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
			t.Error("it was admitted")
			return &protocol.LeagueRegisterResponse{}, nil
		})
	manager := &agent{dialect: d, mux: mux}
	status, answer := manager.serve(t.Context(), "", "/register", `{"display_name":"A"}`)
	assert.Equal(t, 400, status)
	assert.Equal(t, "E003", read(t, answer)["error_code"])
	status, _ = manager.serve(t.Context(), "", "/register", `nonsense`)
	assert.Equal(t, 200, status, "JSON-RPC has its own error")
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
	assert.Equal(t, "GAME_ERROR", inTool["message_type"])

	bare := ask(t, a, "/MCP/", other)
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
		{"/mcp//", choiceCall, 404},
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
