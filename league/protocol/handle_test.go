package protocol_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// refusal returns the error of a refused request, and its LEAGUE_ERROR.
func refusal(t require.TestingT, err error) (*protocol.Error, *protocol.LeagueError) {
	var e *protocol.Error
	require.ErrorAs(t, err, &e)
	code, message, data := e.RPCError()
	assert.Equal(t, e.RPC, code)
	assert.Equal(t, e.Code.Name(), message)
	require.IsType(t, &protocol.LeagueError{}, data)
	return e, data.(*protocol.LeagueError)
}

// brokenFields lists the fields of context.fields, as the other side reads it.
func brokenFields(t require.TestingT, l *protocol.LeagueError) []protocol.FieldError {
	encoded, err := json.Marshal(l.Context["fields"])
	require.NoError(t, err)
	var fields []protocol.FieldError
	require.NoError(t, json.Unmarshal(encoded, &fields))
	return fields
}

func names(fields []protocol.FieldError) []string {
	var all []string
	for _, f := range fields {
		all = append(all, f.Field)
	}
	return all
}

// TestBrokenRequestsAreRefused covers the order of the codes, E018, E003, E021, E002, and
// the list of all broken fields in context.fields.
func TestBrokenRequestsAreRefused(t *testing.T) {
	type change struct {
		path, value string // "": the member is gone
	}
	longName := quoted("12345678901234567890123456789012345678901234567890x")
	local := quoted("2025-01-15T10:30:00+02:00")
	tests := []struct {
		name    string
		changes []change
		code    protocol.Code
		rpc     int
		fields  []string
	}{
		{"another protocol", []change{{"protocol", quoted("league.v1")}}, "E018", 18, []string{"protocol"}},
		{"a protocol that is no text", []change{{"protocol", "2"}}, "E018", 18, []string{"protocol"}},
		{"no protocol", []change{{"protocol", ""}}, "E003", -32602, []string{"protocol"}},
		{"a malformed protocol_version", []change{{"player_meta.protocol_version", quoted("two")}}, "E018", 18,
			[]string{"player_meta.protocol_version"}},
		{"a protocol_version that is no text", []change{{"player_meta.protocol_version", "2.1"}}, "E018", 18,
			[]string{"player_meta.protocol_version"}},
		{"no sender", []change{{"sender", ""}}, "E003", -32602, []string{"sender"}},
		{"a null sender", []change{{"sender", "null"}}, "E003", -32602, []string{"sender"}},
		{"no timestamp", []change{{"timestamp", ""}}, "E003", -32602, []string{"timestamp"}},
		{"no conversation_id", []change{{"conversation_id", ""}}, "E003", -32602, []string{"conversation_id"}},
		{"null, not absent: no old dialect", []change{{"conversation_id", "null"}, {"timestamp", "null"}}, "E003", -32602,
			[]string{"timestamp", "conversation_id"}},
		{"no display_name", []change{{"player_meta.display_name", ""}}, "E003", -32602, []string{"player_meta.display_name"}},
		{"no player_meta", []change{{"player_meta", ""}}, "E003", -32602, []string{"player_meta"}},
		{"a local time", []change{{"timestamp", local}}, "E021", 21, []string{"timestamp"}},
		{"a time that is a number", []change{{"timestamp", "1736937000"}}, "E021", 21, []string{"timestamp"}},
		{"another message type", []change{{"message_type", quoted("GAME_OVER")}}, "E002", -32602, []string{"message_type"}},
		{"a sender of no kind", []change{{"sender", quoted("P01")}}, "E002", -32602, []string{"sender"}},
		{"a name too long", []change{{"player_meta.display_name", longName}}, "E002", -32602, []string{"player_meta.display_name"}},
		{"a name that is a number", []change{{"player_meta.display_name", "7"}}, "E002", -32602, []string{"player_meta.display_name"}},
		{"a malformed version", []change{{"player_meta.version", quoted("1.0")}}, "E002", -32602, []string{"player_meta.version"}},
		{"no game", []change{{"player_meta.game_types", "[]"}}, "E002", -32602, []string{"player_meta.game_types"}},
		{"a game that is a number", []change{{"player_meta.game_types[1]", "5"}}, "E002", -32602, []string{"player_meta.game_types[1]"}},
		{"player_meta that is an array", []change{{"player_meta", "[]"}}, "E002", -32602, []string{"player_meta"}},
		{"time before value", []change{{"timestamp", local}, {"sender", quoted("P01")}}, "E021", 21, []string{"sender", "timestamp"}},
		{"missing before time", []change{{"timestamp", local}, {"player_meta.version", ""}}, "E003", -32602,
			[]string{"timestamp", "player_meta.version"}},
		{"protocol before missing, time and value",
			[]change{{"protocol", quoted("x")}, {"sender", ""}, {"timestamp", local}, {"player_meta.display_name", longName}},
			"E018", 18, []string{"protocol", "sender", "timestamp", "player_meta.display_name"}},
		{"protocol_version before missing", []change{{"player_meta.protocol_version", quoted("")}, {"sender", "null"}}, "E018", 18,
			[]string{"sender", "player_meta.protocol_version"}},
	}
	mux := newMux()
	protocol.RegisterPlayer.Handle(mux, protocol.NewStamp("league_manager", stopped()),
		func(context.Context, string, *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
			require.Fail(t, "a broken request reached the handler")
			return nil, nil
		})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			raw := []byte(sampleJSON(t, protocol.TypeLeagueRegisterRequest))
			for _, c := range test.changes {
				raw = edit(t, raw, c.path, c.value)
			}
			_, err := mux.ask(t, "register_player", raw)
			e, l := refusal(t, err)
			assert.Equal(t, test.code, e.Code)
			assert.Equal(t, test.rpc, e.RPC)
			assert.Equal(t, string(test.code), l.ErrorCode)
			fields := brokenFields(t, l)
			assert.ElementsMatch(t, test.fields, names(fields))
			for _, f := range fields {
				assert.NotEmpty(t, f.Rule, f.Field)
			}
		})
	}
}

func TestEmptyNameIsCalledEmpty(t *testing.T) {
	mux, _ := serveAll()
	raw := edit(t, sampleJSON(t, protocol.TypeLeagueRegisterRequest), "player_meta.display_name", `""`)
	_, err := mux.ask(t, "register_player", raw)
	e, _ := refusal(t, err)
	assert.Contains(t, e.Detail, "display_name is empty")
}

// TestThousandsOfBrokenFieldsAreCounted limits the listed fields; the text has the full count.
func TestThousandsOfBrokenFieldsAreCounted(t *testing.T) {
	mux, _ := serveAll()
	rows := "[" + strings.Repeat("{},", 999) + "{}]"
	_, err := mux.ask(t, "update_standings", edit(t, sampleJSON(t, protocol.TypeStandingsUpdate), "standings", rows))
	e, l := refusal(t, err)
	assert.Equal(t, protocol.ErrMissingField, e.Code)
	assert.Contains(t, e.Detail, "and 2999 more", "rank, player_id and points of each row")
	assert.Len(t, brokenFields(t, l), 50)
}

// TestMillionsOfBrokenFieldsNeedLittleMemory needs no more memory than the message itself.
func TestMillionsOfBrokenFieldsNeedLittleMemory(t *testing.T) {
	for name, rows := range map[string]string{
		"empty rows": "[" + strings.Repeat("{},", 300_000) + "{}]",
		"no rows":    "[" + strings.Repeat("1,", 500_000) + "1]",
	} {
		broken := protocol.Examine(protocol.TypeStandingsUpdate, []byte(`{"standings":`+rows+`}`))
		assert.Less(t, len(broken), 5100, name)
	}
}

func TestParamsThatAreNotAMessageAreRefused(t *testing.T) {
	tests := []struct {
		name, params string
		code         protocol.Code
	}{
		{"absent", "", "E003"},
		{"null", "null", "E003"},
		{"an array", `[{"protocol":"league.v2"}]`, "E002"},
		{"a string", `"hello"`, "E002"},
		{"a number", `5`, "E002"},
		{"a name twice", `{"timestamp":"x","timestamp":"x"}`, "E002"},
		{"no UTF-8", "{\"sender\":\"player:\xff\"}", "E002"},
	}
	mux, _ := serveAll()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := mux.ask(t, "handle_game_invitation", []byte(test.params))
			e, l := refusal(t, err)
			assert.Equal(t, test.code, e.Code)
			assert.Equal(t, -32602, e.RPC)
			assert.Equal(t, []string{"params"}, names(brokenFields(t, l)))
			assert.Equal(t, protocol.TypeGameInvitation, l.OriginalMessageType)
			assert.NotEmpty(t, l.ConversationID)
		})
	}
	t.Run("an object without members is the old dialect, and lacks the rest", func(t *testing.T) {
		_, err := mux.ask(t, "handle_game_invitation", []byte(`{}`))
		e, l := refusal(t, err)
		assert.Equal(t, protocol.ErrMissingField, e.Code)
		assert.Equal(t, []string{"league_id", "round_id", "match_id", "game_type", "role_in_match", "opponent_id"}, names(brokenFields(t, l)))
	})
	for name, value := range map[string]any{"nothing": nil, "another type": &protocol.GameOver{}} {
		t.Run("a value of "+name, func(t *testing.T) {
			_, err := mux.give(t, "handle_game_invitation", value)
			e, _ := refusal(t, err)
			assert.Equal(t, protocol.ErrInvalidFieldType, e.Code)
		})
	}
	t.Run("a tool asked with an array", func(t *testing.T) {
		_, err := mux.ask(t, "ping", []byte(`[]`))
		e, _ := refusal(t, err)
		assert.Equal(t, protocol.ErrInvalidFieldType, e.Code)
	})
}

// TestRefusalIsAWholeLeagueError checks that the sent error data is a valid message.
func TestRefusalIsAWholeLeagueError(t *testing.T) {
	mux := newMux()
	protocol.Query.Handle(mux, protocol.NewStamp("league_manager", stopped()),
		func(context.Context, string, *protocol.LeagueQuery) (*protocol.LeagueQueryResponse, error) {
			return nil, protocol.Fault(protocol.ErrTokenInvalid, "the token is not that of %s", "P01").With("player_id", "P01")
		})
	sample := samples()[protocol.TypeLeagueQuery].(*protocol.LeagueQuery)
	for name, ask := range map[string]func() (any, error){
		"encoded":    func() (any, error) { return mux.ask(t, "league_query", sampleJSON(t, protocol.TypeLeagueQuery)) },
		"as a value": func() (any, error) { return mux.give(t, "league_query", sample) },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask()
			e, l := refusal(t, err)
			assert.Equal(t, protocol.ErrTokenInvalid, e.Code)
			assert.Equal(t, 6001, e.RPC)
			assert.True(t, e.Remote, "to the caller it is remote, whatever carried it")
			assert.Equal(t, &protocol.LeagueError{
				Envelope: protocol.Envelope{Protocol: "league.v2", MessageType: "LEAGUE_ERROR", Sender: "league_manager",
					Timestamp: "2025-01-15T10:30:00Z", ConversationID: sample.ConversationID},
				ErrorCode: "E012", ErrorName: "AUTH_TOKEN_INVALID", ErrorDescription: "AUTH_TOKEN_INVALID",
				OriginalMessageType: "LEAGUE_QUERY", Retryable: new(false),
				Context: map[string]any{"player_id": "P01", "detail": "the token is not that of P01", "action": "LEAGUE_QUERY"},
			}, l)
			encoded, err := json.Marshal(l)
			require.NoError(t, err)
			assert.Empty(t, protocol.Examine(protocol.TypeLeagueError, encoded))
		})
	}
}

// TestRefusalEchoesTheConversation also covers unreadable requests, and conversation ids
// that cannot be echoed.
func TestRefusalEchoesTheConversation(t *testing.T) {
	long := "conv-" + strings.Repeat("x", 123)
	tests := []struct {
		name, conversation, want string
	}{
		{"short", quoted("conv-1"), "conv-1"},
		{"as long as it may be", quoted(long), long},
		{"absent", "", "conv-error"},
		{"no text", "5", "conv-error"},
	}
	mux, _ := serveAll()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			raw := edit(t, sampleJSON(t, protocol.TypeGameOver), "conversation_id", test.conversation)
			_, err := mux.ask(t, "notify_match_result", edit(t, raw, "match_id", ""))
			_, l := refusal(t, err)
			assert.Equal(t, test.want, l.ConversationID)
			assert.Equal(t, protocol.TypeGameOver, l.OriginalMessageType)
		})
	}
	t.Run("too long", func(t *testing.T) {
		_, err := mux.ask(t, "notify_match_result",
			edit(t, sampleJSON(t, protocol.TypeGameOver), "conversation_id", quoted(strings.Repeat("é", 129))))
		_, l := refusal(t, err)
		encoded, err := json.Marshal(l)
		require.NoError(t, err)
		assert.Empty(t, protocol.Examine(protocol.TypeLeagueError, encoded))
	})
}

// TestRefusalKeepsTokensSecret checks that the got member of an error has no token.
func TestRefusalKeepsTokensSecret(t *testing.T) {
	secret := strings.Repeat("tok-secret", 31)
	mux, _ := serveAll()
	for name, params := range map[string][]byte{
		"too long":       edit(t, sampleJSON(t, protocol.TypeGameOver), "auth_token", quoted(secret)),
		"in an array":    edit(t, sampleJSON(t, protocol.TypeGameOver), "auth_token", "["+quoted(secret)+"]"),
		"of a seat":      edit(t, sampleJSON(t, protocol.TypeMatchAssignment), "player_A.access_token", quoted(secret)),
		"a name twice":   []byte(`{"auth_token":"tok-secret","auth_token":"x"}`),
		"in a wrong row": edit(t, sampleJSON(t, protocol.TypeLeagueQuery), "league_id", `{"auth_token":`+quoted(secret)+`}`),
	} {
		t.Run(name, func(t *testing.T) {
			method, ok := protocol.MethodFor(params)
			if !ok {
				method = "league_query"
			}
			_, err := mux.ask(t, method, params)
			_, l := refusal(t, err)
			encoded, err := json.Marshal(l)
			require.NoError(t, err)
			assert.NotContains(t, string(encoded), "tok-secret")
		})
	}
}

// TestErrorOfAHandlerIsSent covers errors of the catalogue, which are sent, and all
// other errors, which become an internal error without their text.
func TestErrorOfAHandlerIsSent(t *testing.T) {
	answer := func(t *testing.T, failure error) error {
		mux := newMux()
		protocol.Ping.Handle(mux, protocol.NewStamp("player:P01", stopped()),
			func(context.Context, string, *protocol.ToolRequest) (*protocol.Pong, error) { return nil, failure })
		_, err := mux.ask(t, "ping", nil)
		return err
	}
	t.Run("of the catalogue", func(t *testing.T) {
		var e *protocol.Error
		require.ErrorAs(t, answer(t, protocol.Fault(protocol.ErrNotAuthorized, "not yours").Coded(99)), &e)
		assert.Equal(t, protocol.ErrNotAuthorized, e.Code)
		assert.Equal(t, 99, e.RPC)
		_, _, data := e.RPCError()
		text, err := json.Marshal(data)
		require.NoError(t, err)
		assert.Contains(t, string(text), `"sender":"player:P01"`)
		assert.NotContains(t, string(text), `,"message_type":`, "only the manager sends LEAGUE_ERROR")
	})
	for name, failure := range map[string]error{
		"anything else":   errors.New("the disk is full"),
		"a timeout":       context.DeadlineExceeded,
		"the caller left": context.Canceled,
	} {
		t.Run(name, func(t *testing.T) {
			err := answer(t, failure)
			require.ErrorIs(t, err, failure, "for our own log")
			var e *protocol.Error
			require.ErrorAs(t, err, &e)
			code, message, data := e.RPCError()
			assert.Equal(t, -32603, code)
			assert.Equal(t, "Internal error", message)
			assert.Nil(t, data)
			assert.True(t, e.Remote, "to the caller it is remote, whatever carried it")
			assert.Same(t, e, protocol.AsError(err), "also the end of a context that is not the caller's")
		})
	}
	t.Run("an error of JSON-RPC alone has no LEAGUE_ERROR", func(t *testing.T) {
		var e *protocol.Error
		require.ErrorAs(t, answer(t, &protocol.Error{RPC: -32603, Detail: "Internal error"}), &e)
		code, message, data := e.RPCError()
		assert.Equal(t, -32603, code)
		assert.Equal(t, "Internal error", message)
		assert.Nil(t, data)
	})
}

func TestErrorOfAToolNamesTheTool(t *testing.T) {
	mux := handleAll(func() error { return protocol.Fault(protocol.ErrTokenInvalid, "not yours") })
	for _, name := range []string{"get_standings", "get_match_state", "get_match_transcript", "get_player_state", "ping", "start_league"} {
		for _, params := range []string{`{}`, `[]`} { // refused by the handler, and before it
			_, err := mux.ask(t, name, []byte(params))
			_, l := refusal(t, err)
			assert.Equal(t, name, l.OriginalMessageType)
			assert.Equal(t, name, l.Context["action"])
		}
	}
}

// The requests of the first form of the protocol, exactly as the code in the documents
// sends them.
const (
	oldReferee = `{"referee_meta":{"display_name":"Referee Alpha","version":"1.0.0","game_types":["even_odd"],
		"contact_endpoint":"http://localhost:8001/mcp","max_concurrent_matches":2}}` // spec 003 §5.4.2
	oldChoice = `{"match_id":"R1M1","player_id":"P01"}` // §5.6.1
	oldPlayer = `{"protocol":"league.v2","message_type":"LEAGUE_REGISTER_REQUEST","sender":"player:Agent Alpha",
		"player_meta":{"name":"Agent Alpha","display_name":"Agent Alpha","contact_endpoint":"http://localhost:8101/mcp"}}` // §5.11.1
	oldQuery = `{"protocol":"league.v2","message_type":"LEAGUE_QUERY","sender":"player:P01","auth_token":"tok-p01",
		"league_id":"league_2025_even_odd","query_type":"GET_STANDINGS"}` // §5.11.2
)

// received is a mux that stores the requests of its handlers.
func received(requests *[]any) *fakeMux {
	mux := newMux()
	storing(mux, &protocol.RegisterReferee, requests)
	storing(mux, &protocol.RegisterPlayer, requests)
	storing(mux, &protocol.Query, requests)
	storing(mux, &protocol.ChooseParity, requests)
	return mux
}

func storing[Q, R any](mux protocol.Mux, m *protocol.Method[Q, R], requests *[]any) {
	m.Handle(mux, protocol.NewStamp("league_manager", stopped()), func(_ context.Context, _ string, q *Q) (*R, error) {
		*requests = append(*requests, q)
		return new(R), nil
	})
}

func TestLegacyRequestIsCompleted(t *testing.T) {
	filled := func(messageType, sender, members string) string {
		return `{"protocol":"league.v2","message_type":"` + messageType + `","sender":"` + sender +
			`","timestamp":"2025-01-15T10:30:00Z","conversation_id":"",` + members + `}`
	}
	for _, test := range []struct{ name, method, params, want string }{
		{"a referee registers", "register_referee", oldReferee, filled("REFEREE_REGISTER_REQUEST", "referee:unknown",
			oldReferee[1:len(oldReferee)-1])},
		{"a referee with the minimum", "register_referee", `{"referee_meta":{"display_name":"R","contact_endpoint":"http://r"}}`,
			filled("REFEREE_REGISTER_REQUEST", "referee:unknown", `"referee_meta":{"display_name":"R","version":"1.0.0",
				"game_types":["even_odd"],"contact_endpoint":"http://r","max_concurrent_matches":1}`)},
		{"a player registers", "register_player", oldPlayer, filled("LEAGUE_REGISTER_REQUEST", "player:Agent Alpha",
			`"player_meta":{"display_name":"Agent Alpha","version":"1.0.0","game_types":["even_odd"],"contact_endpoint":"http://localhost:8101/mcp"}`)},
		{"a player without a name", "register_player", `{"player_meta":{"display_name":"A","version":"3.1.4","game_types":["x"],"contact_endpoint":"e"}}`,
			filled("LEAGUE_REGISTER_REQUEST", "player:unknown",
				`"player_meta":{"display_name":"A","version":"3.1.4","game_types":["x"],"contact_endpoint":"e"}`)},
		{"a player asks", "league_query", oldQuery, filled("LEAGUE_QUERY", "player:P01",
			`"auth_token":"tok-p01","league_id":"league_2025_even_odd","query_type":"GET_STANDINGS"`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			var requests []any
			answer, err := received(&requests).ask(t, test.method, []byte(test.params))
			require.NoError(t, err)
			require.Len(t, requests, 1)
			conversation := requests[0].(interface{ Conversation() string }).Conversation()
			assert.True(t, strings.HasPrefix(conversation, "conv-"), "got %q", conversation)
			assert.Equal(t, conversation, answer.(interface{ Conversation() string }).Conversation(), "the reply echoes it")
			got, err := json.Marshal(requests[0])
			require.NoError(t, err)
			assert.JSONEq(t, test.want, string(edit(t, got, "conversation_id", `""`)))
		})
	}
}

// TestLegacyRequestNeedsItsOwnFields checks that only the envelope is completed, and only of a request
// without a timestamp and a conversation_id.
func TestLegacyRequestNeedsItsOwnFields(t *testing.T) {
	for _, test := range []struct {
		name, method, params string
		code                 protocol.Code
		fields               []string
	}{
		{"a choice without game and deadline", "choose_parity", oldChoice, "E003", []string{"game_type", "deadline"}},
		{"a player without an endpoint", "register_player", `{"player_meta":{"display_name":"A"}}`, "E003",
			[]string{"player_meta.contact_endpoint"}},
		{"existing members are validated", "register_player", strings.Replace(oldPlayer, "league.v2", "league.v1", 1), "E018", []string{"protocol"}},
		{"null is not absent", "register_player",
			`{"sender":null,"player_meta":{"display_name":"A","contact_endpoint":"e","version":null,"game_types":null}}`, "E003",
			[]string{"sender", "player_meta.version", "player_meta.game_types"}},
		{"a meta that is none", "register_referee", `{"referee_meta":[]}`, "E002", []string{"referee_meta"}},
		{"nothing at all", "register_referee", `{}`, "E003", []string{"referee_meta"}},
		{"a timestamp alone", "league_query", string(edit(t, []byte(oldQuery), "timestamp", `"2025-01-15T10:30:00Z"`)), "E003",
			[]string{"conversation_id"}},
		{"a conversation_id alone", "league_query", string(edit(t, []byte(oldQuery), "conversation_id", `"conv-1"`)), "E003",
			[]string{"timestamp"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var requests []any
			_, err := received(&requests).ask(t, test.method, []byte(test.params))
			e, l := refusal(t, err)
			assert.Equal(t, test.code, e.Code)
			assert.ElementsMatch(t, test.fields, names(brokenFields(t, l)))
			assert.Empty(t, requests)
		})
	}
}
