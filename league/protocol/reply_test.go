package protocol_test

import (
	"context"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// TestRepliesGetAnEnvelope checks that the method adds the envelope to a handler's reply.
func TestRepliesGetAnEnvelope(t *testing.T) {
	mux := newMux()
	protocol.Invite.Handle(mux, protocol.NewStamp("player:P01", stopped()),
		func(_ context.Context, _ string, q *protocol.GameInvitation) (*protocol.GameJoinAck, error) {
			return &protocol.GameJoinAck{
				Envelope: protocol.Envelope{AuthToken: "access", Sender: "player:P99", MessageType: "NONSENSE"},
				MatchID:  q.MatchID, PlayerID: "P01", ArrivalTimestamp: aTime, Accept: pointer(true),
			}, nil
		})
	invitation := samples()[protocol.TypeGameInvitation].(*protocol.GameInvitation)
	for name, ask := range map[string]func() (any, error){
		"encoded": func() (any, error) {
			return mux.ask(t, "handle_game_invitation", sampleJSON(t, protocol.TypeGameInvitation))
		},
		"as a value":     func() (any, error) { return mux.give(t, "handle_game_invitation", invitation) },
		"as a broadcast": func() (any, error) { return mux.give(t, "handle_game_invitation", protocol.Many(invitation)) },
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := ask()
			require.NoError(t, err)
			ack := answer.(*protocol.GameJoinAck)
			assert.Equal(t, protocol.Envelope{
				Protocol: "league.v2", MessageType: "GAME_JOIN_ACK", Sender: "player:P01", Timestamp: "2025-01-15T10:30:00Z",
				ConversationID: invitation.ConversationID, AuthToken: "access",
			}, ack.Envelope)
			encoded, err := json.Marshal(ack)
			require.NoError(t, err)
			assert.Empty(t, protocol.Examine(protocol.TypeGameJoinAck, encoded))
		})
	}
}

// TestToolsNeedNoParams also checks that the answers have an envelope.
func TestToolsNeedNoParams(t *testing.T) {
	tests := []struct{ name, params, conversation string }{
		{"absent", "", "conv-ping"},
		{"null", "null", "conv-ping"},
		{"empty", "{}", "conv-ping"},
		{"with an envelope", `{"conversation_id":"conv-7","unheard_of":[]}`, "conv-7"},
	}
	mux := newMux()
	serveAll(mux)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answer, err := mux.ask(t, "ping", []byte(test.params))
			require.NoError(t, err)
			pong := answer.(*protocol.Pong)
			assert.Equal(t, protocol.Envelope{
				Protocol: "league.v2", MessageType: "PONG", Sender: "league_manager", Timestamp: "2025-01-15T10:30:00Z",
				ConversationID: test.conversation,
			}, pong.Envelope)
		})
	}
	t.Run("as a value", func(t *testing.T) {
		answer, err := mux.give(t, "ping", nil)
		require.NoError(t, err)
		assert.Equal(t, "conv-ping", answer.(*protocol.Pong).ConversationID)
	})
}

// TestHandlersGetTheBearer also checks that the request is unchanged.
func TestHandlersGetTheBearer(t *testing.T) {
	mux := newMux()
	protocol.StartMatch.Handle(mux, protocol.NewStamp("referee:REF01", stopped()),
		func(_ context.Context, bearer string, q *protocol.MatchAssignment) (*protocol.MatchAssignmentAck, error) {
			assert.Equal(t, "credential", bearer)
			assert.Equal(t, samples()[protocol.TypeMatchAssignment], q)
			return &protocol.MatchAssignmentAck{Status: protocol.StatusAccepted}, nil
		})
	for _, name := range []string{"start_match", "run_match", "START_MATCH", "RUN_MATCH", "MATCH_ASSIGNMENT"} {
		r := mux.routes[name]
		value, err := r.decode(sampleJSON(t, protocol.TypeMatchAssignment))
		require.NoError(t, err)
		answer, err := r.handle(context.Background(), "credential", value)
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusAccepted, answer.(*protocol.MatchAssignmentAck).Status)
	}
	assert.Len(t, mux.routes, 5)
}

func TestMethodsAreKnownByTheirNames(t *testing.T) {
	mux := newMux()
	serveAll(mux)
	var known []string
	for name := range mux.routes {
		known = append(known, name)
	}
	assert.ElementsMatch(t, []string{
		"register_referee", "REFEREE_REGISTER_REQUEST",
		"register_player", "LEAGUE_REGISTER_REQUEST",
		"notify_round", "ROUND_ANNOUNCEMENT",
		"start_match", "run_match", "START_MATCH", "RUN_MATCH", "MATCH_ASSIGNMENT",
		"handle_game_invitation", "GAME_INVITATION",
		"choose_parity", "parity_choose", "CHOOSE_PARITY_CALL",
		"make_move", "GAME_MOVE_CALL",
		"notify_match_result", "GAME_OVER",
		"notify_game_error", "GAME_ERROR",
		"report_match_result", "MATCH_RESULT_REPORT",
		"update_standings", "LEAGUE_STANDINGS_UPDATE",
		"notify_round_completed", "ROUND_COMPLETED",
		"notify_league_completed", "LEAGUE_COMPLETED",
		"league_query", "LEAGUE_QUERY",
		"get_standings", "get_match_state", "get_match_transcript", "get_player_state", "ping", "start_league", "organise_league",
	}, known)
}

// TestErrorCatalogue is the catalogue of codes, names and JSON-RPC codes, and
// the methods that have codes of their own (004).
func TestErrorCatalogue(t *testing.T) {
	notices := []string{"start_match", "notify_round", "update_standings", "notify_round_completed", "notify_league_completed"}
	players := []string{"handle_game_invitation", "choose_parity", "make_move", "notify_match_result", "notify_game_error"}
	queries := []string{"league_query", "get_standings"}
	reports := []string{"report_match_result"}
	byMethod := func(groups map[int][]string) map[string]int {
		codes := map[string]int{}
		for code, methods := range groups {
			for _, m := range methods {
				codes[m] = code
			}
		}
		return codes
	}
	tokens := byMethod(map[int][]string{3001: notices, 4001: players, 5001: reports, 6001: queries})
	tests := []struct {
		code protocol.Code
		name string
		rpc  int
		own  map[string]int // by method
	}{
		{"E001", "TIMEOUT_ERROR", -1, nil},
		{"E002", "INVALID_FIELD_TYPE", -32602, nil},
		{"E003", "MISSING_REQUIRED_FIELD", -32602, nil},
		{"E004", "INVALID_PARITY_CHOICE", 4004, nil},
		{"E005", "PLAYER_NOT_REGISTERED", 3002, byMethod(map[int][]string{4002: players})},
		{"E006", "MATCH_NOT_FOUND", 4003, byMethod(map[int][]string{5002: reports})},
		{"E007", "DUPLICATE_REPORT", 5003, nil},
		{"E008", "INVALID_MATCH_STATE", 4005, nil},
		{"E009", "CONNECTION_ERROR", -2, nil},
		{"E010", "ILLEGAL_MOVE", 4004, nil},
		{"E011", "AUTH_TOKEN_MISSING", 11, tokens},
		{"E012", "AUTH_TOKEN_INVALID", 12, tokens},
		{"E013", "REFEREE_NOT_REGISTERED", 13, nil},
		{"E014", "NOT_AUTHORIZED", 14, nil},
		{"E015", "MATCH_ID_MISMATCH", 15, nil},
		{"E016", "INVALID_QUERY_TYPE", 6002, nil},
		{"E017", "LEAGUE_NOT_FOUND", 6003, nil},
		{"E018", "PROTOCOL_VERSION_MISMATCH", 18, nil},
		{"E019", "LATE_REGISTRATION", 19, nil},
		{"E020", "LEAGUE_FULL", 20, map[string]int{"register_referee": 1001, "register_player": 2001}},
		{"E021", "INVALID_TIMESTAMP", 21, nil},
		{"E022", "RATE_LIMITED", 22, nil},
		{"E023", "MESSAGE_TOO_LARGE", 23, nil},
		{"E024", "DUPLICATE_NAME", 2002, nil},
		{"E025", "INVALID_ENDPOINT", 25, map[string]int{"register_referee": 1002, "register_player": 2003}},
		{"E026", "UNSUPPORTED_GAME_TYPE", 26, map[string]int{"register_referee": 1003, "register_player": 2004}},
		{"E030", "LEAGUE_NOT_STARTED", 30, nil},
		{"E031", "LEAGUE_ALREADY_COMPLETE", 31, nil},
	}
	retryable := []protocol.Code{"E001", "E009", "E022"}
	for _, test := range tests {
		t.Run(string(test.code), func(t *testing.T) {
			assert.Equal(t, test.name, test.code.Name())
			assert.Equal(t, slices.Contains(retryable, test.code), test.code.Retryable())
			mux := newMux()
			failAll(mux, protocol.Fault(test.code, "so it is"))
			for method := range mux.routes {
				messageType, params := method, []byte(nil)
				if m, ok := requestOf(method); ok {
					messageType, params = m, sampleJSON(t, m)
				}
				_, err := mux.ask(t, method, params)
				e, l := refusal(t, err)
				want, ok := test.own[method]
				if !ok {
					want = test.rpc
				}
				assert.Equal(t, want, e.RPC, "%s %s", method, messageType)
				assert.Equal(t, test.name, l.ErrorName)
				assert.Equal(t, test.name, l.ErrorDescription)
				assert.Equal(t, string(test.code), l.ErrorCode)
				assert.Equal(t, "so it is", l.Context["detail"])
				assert.Equal(t, slices.Contains(retryable, test.code), *l.Retryable)
			}
		})
	}
	assert.Empty(t, protocol.Code("E027").Name())
}

// requestOf is the message type of a method's request.
func requestOf(method string) (messageType string, ok bool) {
	for _, m := range requestTypes() {
		if name, _ := protocol.MethodFor(samples()[m]); name == method {
			return m, true
		}
	}
	return "", false
}

// failAll handles every method, under its own name alone, with an error.
func failAll(mux *fakeMux, failure error) {
	all := newMux()
	handleAll(all, func() error { return failure })
	for name, r := range all.routes {
		if name[0] >= 'a' && name != "run_match" && name != "parity_choose" {
			mux.routes[name] = r
		}
	}
}
