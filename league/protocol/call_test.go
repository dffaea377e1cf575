package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
)

var somewhere = protocol.Peer{Endpoint: "http://p01/mcp", Bearer: "credential"}

// answering is a carrier of bytes that always returns the same result.
func answering(result string) callerFunc {
	return func(_ context.Context, c sent) (any, error) { return c.Decode([]byte(result)) }
}

// failing is a carrier that always fails.
func failing(err error) callerFunc {
	return func(context.Context, sent) (any, error) { return nil, err }
}

func invite(ctx context.Context, caller protocol.Caller) (*protocol.GameJoinAck, error) {
	return protocol.Invite.Call(ctx, caller, somewhere, samples()[protocol.TypeGameInvitation].(*protocol.GameInvitation))
}

func TestCallPassesItsParameters(t *testing.T) {
	q := &protocol.GameInvitation{MatchID: "R1M1"}
	answer := &protocol.GameJoinAck{PlayerID: "P01"}
	got, err := protocol.Invite.Call(context.Background(), callerFunc(func(_ context.Context, c sent) (any, error) {
		assert.Equal(t, "http://p01/mcp", c.Endpoint)
		assert.Equal(t, "credential", c.Bearer)
		assert.Equal(t, "handle_game_invitation", c.Method)
		assert.Same(t, q, c.Params)
		return answer, nil
	}), somewhere, q)
	require.NoError(t, err)
	assert.Same(t, answer, got, "a carrier of values hands over the very message")
}

// TestResultsAreReadLeniently checks that readable members are decoded and that
// unreadable members are listed in the envelope.
func TestResultsAreReadLeniently(t *testing.T) {
	for _, test := range []struct {
		name, result string
		want         protocol.GameJoinAck
		broken       map[string]string // field to what it was
	}{
		{"all is well", `{"message_type":"GAME_JOIN_ACK","match_id":"R1M1","player_id":"P01","accept":true}`,
			protocol.GameJoinAck{
				Envelope: protocol.Envelope{MessageType: "GAME_JOIN_ACK"},
				MatchID:  "R1M1", PlayerID: "P01", Accept: new(true),
			}, nil},
		{"one member is of the wrong type", `{"match_id":"R1M1","accept":"yes","player_id":"P01"}`,
			protocol.GameJoinAck{MatchID: "R1M1", PlayerID: "P01"}, map[string]string{"accept": `"yes"`}},
		{"several are", `{"match_id":7,"accept":{"value":true},"player_id":"P01","timestamp":0}`,
			protocol.GameJoinAck{PlayerID: "P01"}, map[string]string{"match_id": "7", "accept": "an object", "timestamp": "0"}},
		{"a token of the wrong type is not repeated", `{"match_id":"R1M1","auth_token":["tok-p01-secret"]}`,
			protocol.GameJoinAck{MatchID: "R1M1"}, map[string]string{"auth_token": ""}},
		{"unheard-of members, and nulls", `{"match_id":"R1M1","accept":null,"more":[1],"sender":null}`,
			protocol.GameJoinAck{MatchID: "R1M1"}, nil},
		{"nothing", `{}`, protocol.GameJoinAck{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := invite(context.Background(), answering(test.result))
			require.NoError(t, err)
			assert.Len(t, got.Broken(), len(test.broken))
			for name, was := range test.broken {
				f, ok := got.BrokenField(name)
				assert.True(t, ok, name)
				assert.Equal(t, was, f.Got, name)
				assert.Equal(t, name, f.Field)
			}
			_, ok := got.BrokenField("never_broken")
			assert.False(t, ok)
			want, err := json.Marshal(test.want)
			require.NoError(t, err)
			have, err := json.Marshal(got)
			require.NoError(t, err)
			assert.JSONEq(t, string(want), string(have))
		})
	}
}

func TestResultsThatCannotBeRead(t *testing.T) {
	for _, test := range []struct {
		name   string
		caller callerFunc
	}{
		{"an array", answering(`[]`)},
		{"a string", answering(`"ok"`)},
		{"cut off", answering(`{"match_id":`)},
		{"nothing", answering(``)},
		{"a value of another type", func(context.Context, sent) (any, error) { return &protocol.GameOver{}, nil }},
		{"no value", func(context.Context, sent) (any, error) { return nil, nil }},
		{"a pointer to none", func(context.Context, sent) (any, error) { return (*protocol.GameJoinAck)(nil), nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := invite(context.Background(), test.caller)
			var e *protocol.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, protocol.ErrInvalidFieldType, e.Code)
			assert.False(t, e.Remote, "this side found it")
		})
	}
}

// TestErrorMessageInPlaceOfAResultIsAnError covers spec 003 §8.10.
func TestErrorMessageInPlaceOfAResultIsAnError(t *testing.T) {
	for _, test := range []struct {
		name, result string
		code         protocol.Code
		rpc          int
		detail       string
	}{
		{"LEAGUE_ERROR", `{"message_type":"LEAGUE_ERROR","error_code":"E012","error_description":"AUTH_TOKEN_INVALID","context":{"detail":"no such token"}}`,
			protocol.ErrTokenInvalid, 12, "no such token"},
		{"GAME_ERROR", `{"protocol":"league.v2","message_type":"GAME_ERROR","error_code":"E004"}`, protocol.ErrInvalidParityChoice, 4004, ""},
		{"of no protocol", `{"message_type":"GAME_ERROR","error_code":"E004"}`, "", 0, "E004"},
		{"whose code has another name", `{"protocol":"league.v2","message_type":"LEAGUE_ERROR","error_code":"E003","error_description":"INVALID_FIELD_TYPE"}`, "", 0, "E003 INVALID_FIELD_TYPE"},
		{"of an unknown code", `{"message_type":"LEAGUE_ERROR","error_code":"E999"}`, "", 0, "E999"},
		{"without a code", `{"message_type":"LEAGUE_ERROR"}`, "", 0, "LEAGUE_ERROR"},
		{"that cannot be read", `{"message_type":"LEAGUE_ERROR","error_code":12}`, "", 0, "LEAGUE_ERROR"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := invite(context.Background(), answering(test.result))
			assert.Nil(t, got)
			var e *protocol.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, []any{test.code, test.rpc, test.detail, true}, []any{e.Code, e.RPC, e.Detail, e.Remote})
		})
	}
}

func TestRemoteErrorsAreRead(t *testing.T) {
	league := func(code, detail string) jsontext.Value {
		raw, err := json.Marshal(protocol.LeagueError{
			Envelope: protocol.Envelope{MessageType: "LEAGUE_ERROR"}, ErrorCode: code, Context: map[string]any{"detail": detail}})
		require.NoError(t, err)
		return raw
	}
	for _, test := range []struct {
		name   string
		failed *transport.Error
		code   protocol.Code
		detail string
	}{
		{"with a LEAGUE_ERROR", rpcError(3001, "AUTH_TOKEN_INVALID", league("E012", "no such token")),
			protocol.ErrTokenInvalid, "no such token"},
		{"without a detail", rpcError(3001, "AUTH_TOKEN_INVALID", league("E012", "")), protocol.ErrTokenInvalid, ""},
		{"of an unknown code", rpcError(77, "ODD", league("E077", "odd")), "", "E077 ODD: odd"},
		{"with other data", rpcError(1001, "League full", jsontext.Value(`{"max_referees":2}`)), "", "League full"},
		{"with data that is no object", rpcError(-32603, "Internal error", jsontext.Value(`"boom"`)),
			"", "Internal error"},
		{"with data that is no JSON", rpcError(-32603, "Internal error", 5), "", "Internal error"},
		{"bare", rpcError(-32601, "Method not found", nil), "", "Method not found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := invite(context.Background(), failing(fmt.Errorf("carried: %w", test.failed)))
			var e *protocol.Error
			require.ErrorAs(t, err, &e)
			want := []any{test.code, test.failed.Code, test.detail, true}
			assert.Equal(t, want, []any{e.Code, e.RPC, e.Detail, e.Remote})
			assert.NotEmpty(t, e.Error())
		})
	}
}

// Only errors with the same meaning get the names of the catalogue.
func TestErrorOfAnotherCatalogueKeepsItsName(t *testing.T) {
	for _, test := range []struct {
		name string
		rpc  string // the message of the JSON-RPC error
		data string
		want string
	}{
		{"our name as error_name", "no", `{"error_code":"E003","error_name":"MISSING_REQUIRED_FIELD","error_description":"a field"}`,
			"E003 MISSING_REQUIRED_FIELD: a field"},
		{"our name as error_description", "no", `{"error_code":"E012","error_description":"AUTH_TOKEN_INVALID"}`, "E012 AUTH_TOKEN_INVALID: no"},
		{"our name as the message", "AUTH_TOKEN_INVALID", `{"error_code":"E012"}`, "E012 AUTH_TOKEN_INVALID"},
		{"a whole message", "Unauthorized", `{"protocol":"league.v2","message_type":"LEAGUE_ERROR","error_code":"E012","error_description":"wrong token"}`,
			"E012 AUTH_TOKEN_INVALID: wrong token"},
		{"another error_name", "no", `{"protocol":"league.v2","message_type":"LEAGUE_ERROR","error_code":"E003","error_name":"INVALID_FIELD_TYPE"}`,
			"JSON-RPC error -32602: E003 INVALID_FIELD_TYPE: no"},
		{"another error_name and a sentence", "no", `{"error_code":"E013","error_name":"AUTH_TOKEN_MISSING","error_description":"show your token"}`,
			"JSON-RPC error -32602: E013 AUTH_TOKEN_MISSING: show your token"},
		{"no name, and no message of the protocol", "who are you?", `{"error_code":"E005"}`, "JSON-RPC error -32602: E005: who are you?"},
		{"no name, but a message type", "who are you?", `{"message_type":"LEAGUE_ERROR","error_code":"E005"}`, "JSON-RPC error -32602: E005: who are you?"},
		{"a text that begins with the code", "E012: wrong token", `{"error_code":"E012"}`, "JSON-RPC error -32602: E012: wrong token"},
		{"a detail", "no", `{"error_code":"E099","context":{"detail":"closed"}}`, "JSON-RPC error -32602: E099: closed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := invite(context.Background(), failing(rpcError(-32602, test.rpc, jsontext.Value(test.data))))
			assert.EqualError(t, err, test.want)
		})
	}
}

func TestCarrierErrorsHaveCodes(t *testing.T) {
	lost := errors.New("connection reset")
	for _, test := range []struct {
		name        string
		err         error
		code        protocol.Code
		rpc         int
		unreachable bool
	}{
		{"time is up", context.DeadlineExceeded, protocol.ErrTimeout, -1, false},
		{"time is up, wrapped", fmt.Errorf("post: %w", context.DeadlineExceeded), protocol.ErrTimeout, -1, false},
		{"the connection broke", lost, protocol.ErrConnection, -2, false},
		{"connection refused", fmt.Errorf("post: %w", &transport.CallError{Kind: transport.Unreachable}), protocol.ErrConnection, -2, true},
		{"an error of our own", protocol.Fault(protocol.ErrRateLimited, "wait"), protocol.ErrRateLimited, 22, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := invite(context.Background(), failing(test.err))
			var e *protocol.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, []any{test.code, test.rpc, false}, []any{e.Code, e.RPC, e.Remote})
			assert.Equal(t, test.unreachable, protocol.Unreachable(err))
			if e != test.err {
				assert.ErrorIs(t, err, test.err, "the cause is kept")
			}
		})
	}
}

// TestCancellationByTheCallerIsItsOwnError checks that a call returns context.Canceled after a cancellation
// by the caller, whatever error the carrier returns.
func TestCancellationByTheCallerIsItsOwnError(t *testing.T) {
	for name, failure := range map[string]error{
		"the carrier returns it":     fmt.Errorf("post: %w", context.Canceled),
		"the carrier hides it":       errors.New("use of closed connection"),
		"the other side gave up too": &protocol.Error{RPC: -32603, Detail: "Internal error", Remote: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			_, err := invite(ctx, callerFunc(func(ctx context.Context, _ sent) (any, error) {
				cancel()
				<-ctx.Done()
				return nil, failure
			}))
			assert.ErrorIs(t, err, context.Canceled)
			var e *protocol.Error
			assert.NotErrorAs(t, err, &e)
			assert.Nil(t, protocol.AsError(err))
		})
	}
	assert.Nil(t, protocol.AsError(nil))
}

// TestCallEndsAtTheTimeoutOfItsMethod also covers an earlier deadline of the caller.
func TestCallEndsAtTheTimeoutOfItsMethod(t *testing.T) {
	silent := callerFunc(func(ctx context.Context, _ sent) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ask := func(ctx context.Context) error { _, err := invite(ctx, silent); return err }
	within := func(limit time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			_, _, err := protocol.Invite.CallWithin(ctx, silent, somewhere, &protocol.GameInvitation{}, limit)
			return err
		}
	}
	for name, test := range map[string]struct {
		call func(context.Context) error
		own  time.Duration // the deadline of the caller
		want time.Duration
	}{
		"an invitation":                       {ask, time.Hour, 5 * time.Second},
		"a caller with a longer limit":        {within(time.Minute), time.Hour, time.Minute},
		"a caller whose window is over":       {within(-time.Second), time.Hour, 1},
		"a caller with a deadline of its own": {ask, 2 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(context.Background(), test.own)
				defer stop()
				start := time.Now()
				err := test.call(ctx)
				assert.Equal(t, test.want, time.Since(start))
				assert.Equal(t, protocol.ErrTimeout, protocol.AsError(err).Code)
			})
		})
	}
}

// rpcError is a JSON-RPC error as a carrier returns it.
func rpcError(code int, message string, data any) *transport.Error {
	return &transport.Error{Code: code, Message: message, Data: data}
}

// A fakeMux is an agent's handlers without a carrier.
type fakeMux struct{ routes map[string]route }

type route struct {
	decode func([]byte) (any, error)
	handle func(context.Context, string, any) (any, error)
}

var _ protocol.Mux = (*fakeMux)(nil)

func newMux() *fakeMux { return &fakeMux{map[string]route{}} }

func (m *fakeMux) Handle(method string, decode func([]byte) (any, error), handle func(context.Context, string, any) (any, error)) {
	m.routes[method] = route{decode, handle}
}

func (m *fakeMux) Fallback(func(any) (string, bool)) {}

func (m *fakeMux) OnUnread(func(context.Context, string, error)) {}

// ask calls a method with encoded params, as a carrier of bytes does.
func (m *fakeMux) ask(t require.TestingT, method string, params []byte) (any, error) {
	r, ok := m.routes[method]
	require.True(t, ok, "no handler of %s", method)
	value, err := r.decode(params)
	if err != nil {
		return nil, err
	}
	return r.handle(context.Background(), "", value)
}

// give calls a method with a value, as the value bus does.
func (m *fakeMux) give(t require.TestingT, method string, params any) (any, error) {
	r, ok := m.routes[method]
	require.True(t, ok, "no handler of %s", method)
	return r.handle(context.Background(), "", params)
}

// A callerFunc is a carrier made of one function.
type callerFunc func(ctx context.Context, c sent) (any, error)

// sent is a recorded call.
type sent = protocol.CallRequest

var _ protocol.Caller = callerFunc(nil)

func (f callerFunc) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	answer, err := f(ctx, r)
	return answer, nil, err
}

// stopped is a clock that always shows the same moment.
func stopped() *protocol.Clock {
	moment := time.Date(2025, 1, 15, 10, 30, 0, 0, time.UTC)
	return protocol.NewClock(func() time.Time { return moment },
		func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
}

// serveAll handles every method with an empty result, and counts the accepted requests.
func serveAll() (mux *fakeMux, count *atomic.Int64) {
	count = new(atomic.Int64)
	return handleAll(func() error { count.Add(1); return nil }), count
}

// handleAll handles every method with the error of answer, or with an empty result.
func handleAll(answer func() error) *fakeMux {
	mux := newMux()
	for _, e := range endpoints() {
		e.serve(mux, answer)
	}
	return mux
}

// An endpoint is a method without its Go types: it answers requests and reads replies.
type endpoint struct {
	name, request, result string

	serve func(mux protocol.Mux, answer func() error)
	call  func(protocol.Caller) (messageType string, err error) // that of the reply
}

func endpointOf[Q, R any](m *protocol.Method[Q, R]) endpoint {
	return endpoint{
		name: m.Name, request: m.Request, result: m.Result,
		serve: func(mux protocol.Mux, answer func() error) {
			m.Handle(mux, protocol.NewStamp("league_manager", stopped()), func(context.Context, string, *Q) (*R, error) {
				return new(R), answer()
			})
		},
		call: func(caller protocol.Caller) (string, error) {
			r, err := m.Call(context.Background(), caller, protocol.Peer{}, new(Q))
			if err != nil {
				return "", err
			}
			return any(r).(interface{ Type() string }).Type(), nil
		},
	}
}

// endpoints are all methods of the table. Their order is part of the corpora of fuzzing.
func endpoints() []endpoint {
	return []endpoint{
		endpointOf(&protocol.RegisterReferee), endpointOf(&protocol.RegisterPlayer), endpointOf(&protocol.NotifyRound),
		endpointOf(&protocol.StartMatch), endpointOf(&protocol.Invite), endpointOf(&protocol.ChooseParity),
		endpointOf(&protocol.MakeMove), endpointOf(&protocol.NotifyMatchResult), endpointOf(&protocol.NotifyGameError),
		endpointOf(&protocol.ReportMatchResult), endpointOf(&protocol.UpdateStandings),
		endpointOf(&protocol.NotifyRoundCompleted), endpointOf(&protocol.NotifyLeagueCompleted), endpointOf(&protocol.Query),
		endpointOf(&protocol.GetStandings), endpointOf(&protocol.GetMatchState), endpointOf(&protocol.GetMatchTranscript),
		endpointOf(&protocol.GetPlayerState), endpointOf(&protocol.Ping), endpointOf(&protocol.StartLeague),
		endpointOf(&protocol.OrganiseLeague),
	}
}

func standings() *protocol.StandingsUpdate {
	return samples()[protocol.TypeStandingsUpdate].(*protocol.StandingsUpdate)
}

func TestBroadcastIsEncodedOnce(t *testing.T) {
	q := standings()
	b := protocol.Many(q)
	assert.Equal(t, q.ConversationID, b.Conversation())
	assert.Equal(t, protocol.TypeStandingsUpdate, b.Type())
	want, err := json.Marshal(q)
	require.NoError(t, err)

	encodings := make([][]byte, 20)
	var all sync.WaitGroup
	for i := range encodings {
		all.Go(func() {
			encoded, err := b.Encoded()
			assert.NoError(t, err)
			encodings[i] = encoded
		})
	}
	all.Wait()
	for _, e := range encodings {
		assert.Equal(t, string(want), string(e))
		assert.Same(t, &encodings[0][0], &e[0], "the very same bytes")
	}
}

func TestBroadcastThatCannotBeEncoded(t *testing.T) {
	b := protocol.Many(&protocol.StandingsUpdate{LeagueID: "\xff"})
	_, first := b.Encoded()
	_, second := b.Encoded()
	require.Error(t, first)
	assert.Same(t, first, second)
}

func TestReceiversGetTheBroadcastItself(t *testing.T) {
	b := protocol.Many(standings())
	for range 2 {
		_, err := protocol.UpdateStandings.CallMany(context.Background(), callerFunc(func(_ context.Context, c sent) (any, error) {
			assert.Same(t, b, c.Params)
			assert.Equal(t, "update_standings", c.Method)
			return &protocol.Ack{}, nil
		}), somewhere, b, time.Second)
		require.NoError(t, err)
	}
}
