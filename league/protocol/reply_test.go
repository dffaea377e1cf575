package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
)

// TestRepliesGetAnEnvelope checks that the method adds the envelope to a handler's reply.
func TestRepliesGetAnEnvelope(t *testing.T) {
	mux := newMux()
	protocol.Invite.Handle(mux, protocol.NewStamp("player:P01", stopped()),
		func(_ context.Context, _ string, q *protocol.GameInvitation) (*protocol.GameJoinAck, error) {
			return &protocol.GameJoinAck{
				Envelope: protocol.Envelope{AuthToken: "access", Sender: "player:P99", MessageType: "NONSENSE"},
				MatchID:  q.MatchID, PlayerID: "P01", ArrivalTimestamp: aTime, Accept: new(true),
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
	mux, _ := serveAll()
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

// TestErrorsHaveTheCodesOfTheirMethod: some methods have codes of their own (004). docs/protocol.md
// has all.
func TestErrorsHaveTheCodesOfTheirMethod(t *testing.T) {
	for _, test := range []struct {
		method string
		code   protocol.Code
		rpc    int
	}{
		{"update_standings", "E012", 3001}, {"choose_parity", "E012", 4001}, {"choose_parity", "E005", 4002},
		{"report_match_result", "E006", 5002}, {"get_standings", "E011", 6001}, {"ping", "E012", 12},
		{"register_referee", "E020", 1001}, {"register_player", "E020", 2001}, {"league_query", "E020", 20},
	} {
		mux := handleAll(func() error { return protocol.Fault(test.code, "so it is") })
		var params []byte
		for _, m := range protocol.Methods() {
			if m.Name == test.method && m.Request != "" {
				params = sampleJSON(t, m.Request)
			}
		}
		_, err := mux.ask(t, test.method, params)
		e, l := refusal(t, err)
		assert.Equal(t, test.rpc, e.RPC, "%s %s", test.method, test.code)
		assert.Equal(t, []any{test.code.Name(), "so it is", false}, []any{l.ErrorName, l.Context["detail"], *l.Retryable})
	}
	assert.Empty(t, protocol.Code("E027").Name())
	for _, code := range []protocol.Code{"E001", "E009", "E022"} {
		assert.True(t, code.Retryable(), code)
	}
}

// TestValuesOfTheSameProcessAreNotValidated: validation belongs to the decoding of bytes.
func TestValuesOfTheSameProcessAreNotValidated(t *testing.T) {
	mux, admitted := serveAll()
	broken := &protocol.StandingsUpdate{}
	_, err := mux.ask(t, "update_standings", []byte(`{"standings":[]}`))
	assert.Error(t, err)
	for _, params := range []any{broken, protocol.Many(broken)} {
		_, err := mux.give(t, "update_standings", params)
		require.NoError(t, err)
	}
	assert.EqualValues(t, 2, admitted.Load())
}

func TestErrorText(t *testing.T) {
	for _, test := range []struct {
		name string
		err  *protocol.Error
		want string
	}{
		{"of the catalogue", protocol.Fault(protocol.ErrTimeout, "%s was silent", "P01"), "E001 TIMEOUT_ERROR: P01 was silent"},
		{"without a detail", protocol.Fault(protocol.ErrLeagueFull, ""), "E020 LEAGUE_FULL"},
		{"of JSON-RPC", &protocol.Error{RPC: -32601, Detail: "Method not found"}, "JSON-RPC error -32601: Method not found"},
		{"of JSON-RPC without a message", &protocol.Error{RPC: -32000}, "JSON-RPC error -32000"},
	} {
		t.Run(test.name, func(t *testing.T) { assert.EqualError(t, test.err, test.want) })
	}
}

func TestErrorContext(t *testing.T) {
	e := protocol.Fault(protocol.ErrInvalidParityChoice, "no such choice").With("choice", "both").With("valid_choices", []string{"even", "odd"})
	assert.Equal(t, map[string]any{"choice": "both", "valid_choices": []string{"even", "odd"}}, e.Context)
	assert.Equal(t, 4004, e.RPC)
	assert.Equal(t, 7, e.Coded(7).RPC)
	code, message, data := e.RPCError()
	assert.Equal(t, []any{7, "INVALID_PARITY_CHOICE", nil}, []any{code, message, data}, "no LEAGUE_ERROR before it travels")
}

func TestAsErrorFindsAWrappedError(t *testing.T) {
	own := protocol.Fault(protocol.ErrMatchNotFound, "no such match")
	assert.Same(t, own, protocol.AsError(errors.Join(errors.New("first"), own)))
	assert.False(t, protocol.Unreachable(own))
	assert.False(t, protocol.Unreachable(nil))
}

// TestUntrustedTextIsClipped limits the length of another agent's text in an error.
func TestUntrustedTextIsClipped(t *testing.T) {
	flood := strings.Repeat("é", 10000)
	e := protocol.AsError(rpcError(1, flood, nil))
	assert.Less(t, len(e.Detail), 100)
	assert.True(t, strings.HasPrefix(flood, strings.TrimSuffix(e.Detail, "…")), "no letter is cut in two")
	broken := protocol.Examine(protocol.TypeGameOver, []byte(`{"protocol":"`+flood+`"}`))
	assert.Less(t, len(broken[0].Got), 100)
	broken = protocol.Examine(flood, []byte(`{}`))
	assert.Less(t, len(broken[0].Got), 100)
}

// carried is the error of a carrier for a response that is not a message.
func carried(wait time.Duration) error {
	return &transport.CallError{Kind: transport.Refused, After: wait, Err: errors.New("HTTP 503 Service Unavailable")}
}

func TestRetryAfter(t *testing.T) {
	for name, test := range map[string]struct {
		e    *protocol.Error
		wait time.Duration
	}{
		"whole seconds, rounded up": {protocol.RateLimited(1200 * time.Millisecond), 2 * time.Second},
		"as JSON has it":            {protocol.Fault(protocol.ErrRateLimited, "").With("retry_after_sec", 1.5), 1500 * time.Millisecond},
		"nothing is said":           {protocol.Fault(protocol.ErrRateLimited, ""), 0},
		"a text":                    {protocol.Fault(protocol.ErrRateLimited, "").With("retry_after_sec", "soon"), 0},
		"the past":                  {protocol.Fault(protocol.ErrRateLimited, "").With("retry_after_sec", -3.0), 0},
		"for ever":                  {protocol.Fault(protocol.ErrRateLimited, "").With("retry_after_sec", 1e300), time.Hour},
		"by the carrier":            {protocol.AsError(fmt.Errorf("call: %w", carried(7*time.Second))), 7 * time.Second},
	} {
		assert.Equal(t, test.wait, test.e.RetryAfter(), name)
	}
	assert.Equal(t, protocol.ErrConnection, protocol.AsError(carried(time.Second)).Code, "no message has the code")
}
