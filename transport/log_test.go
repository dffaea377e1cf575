package transport_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
)

// A letter is a message with a type and a token.
type letter struct{ Name, Token string }

func (l *letter) Type() string         { return l.Name }
func (l *letter) Conversation() string { return "conv-r1m1" }

// A postman is a caller that returns the same result for every call.
type postman struct {
	result any
	err    error
}

func (p *postman) Call(context.Context, transport.Request) (any, *transport.Timing, error) {
	return p.result, nil, p.err
}

func TestLogged(t *testing.T) {
	invitation, joined := &letter{"GAME_INVITATION", "tok-secret"}, &letter{"GAME_JOIN_ACK", "tok-secret"}
	failure := errors.New("connection reset")
	for _, tt := range []struct {
		name    string
		level   zerolog.Level
		carrier *postman
		want    []string
	}{
		{"call and answer", zerolog.DebugLevel, &postman{result: joined}, []string{
			`"message_type":"GAME_INVITATION"`, `"message_type":"GAME_JOIN_ACK"`, `"conversation_id":"conv-r1m1"`,
			`"method":"invite"`, `"endpoint":"http://p"`, `"message":"sent"`, `"message":"received the answer"`, `"took_ms":`}},
		{"call and error", zerolog.DebugLevel, &postman{err: failure}, []string{
			`"message_type":"GAME_INVITATION"`, `"error":"connection reset"`, `"message":"failed"`}},
		{"nothing above debug level", zerolog.InfoLevel, &postman{result: joined}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			caller := transport.Logged(tt.carrier, zerolog.New(&log).Level(tt.level))
			result, _, err := caller.Call(context.Background(), transport.Request{Endpoint: "http://p", Bearer: "tok-secret", Method: "invite", Params: invitation})
			assert.Equal(t, tt.carrier.result, result)
			assert.Equal(t, tt.carrier.err, err)
			for _, part := range tt.want {
				assert.Contains(t, log.String(), part)
			}
			if tt.want == nil {
				assert.Empty(t, log.String())
				assert.Same(t, transport.Caller(tt.carrier), caller, "a disabled log costs nothing")
			}
			assert.NotContains(t, log.String(), "secret", "tokens are never logged")
		})
	}
}

func TestMuxLog(t *testing.T) {
	for _, tt := range []struct {
		name   string
		result any
		err    error
		want   []string
	}{
		{"an answer", &letter{"GAME_JOIN_ACK", "tok-secret"}, nil, []string{
			`"message_type":"GAME_INVITATION"`, `"message":"received"`, `"message_type":"GAME_JOIN_ACK"`, `"message":"answered"`}},
		{"an error", nil, &transport.Error{Code: 4004, Message: "INVALID"}, []string{
			`"message":"answered with an error"`, `"error":"JSON-RPC error 4004: INVALID"`}},
		{"a value without a type", 5, nil, []string{`"message":"answered"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			mux := transport.NewMux(zerolog.New(&log))
			mux.Handle("invite", nil, func(context.Context, string, any) (any, error) { return tt.result, tt.err })
			result, err := mux.Dispatch(context.Background(), "tok-secret", "invite", &letter{"GAME_INVITATION", "tok-secret"})
			require.Equal(t, tt.result, result)
			require.Equal(t, tt.err, err)
			for _, part := range append(tt.want, `"method":"invite"`) {
				assert.Contains(t, log.String(), part)
			}
			assert.NotContains(t, log.String(), "secret", "tokens are never logged")
		})
	}
	t.Run("params that cannot be read", func(t *testing.T) {
		var log bytes.Buffer
		mux := transport.NewMux(zerolog.New(&log))
		mux.Handle("invite", func([]byte) (any, error) { return nil, errors.New("broken") }, nil)
		mux.Serve(context.Background(), "", []byte(`{"jsonrpc":"2.0","method":"invite","id":1}`))
		assert.Contains(t, log.String(), `"message":"call refused"`)
	})
	t.Run("a result that cannot be encoded", func(t *testing.T) {
		var log bytes.Buffer
		mux := transport.NewMux(zerolog.New(&log))
		mux.Handle("invite", func([]byte) (any, error) { return nil, nil }, func(context.Context, string, any) (any, error) { return func() {}, nil }) //nolint:nilnil // params do not matter
		mux.Serve(context.Background(), "", []byte(`{"jsonrpc":"2.0","method":"invite","id":1}`))
		assert.Contains(t, log.String(), `"message":"a result cannot be encoded"`)
	})
}
