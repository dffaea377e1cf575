package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
)

// A panickingValue panics when it is encoded.
type panickingValue struct{}

func (panickingValue) MarshalJSON() ([]byte, error) { panic("secret of the encoder") }

// failingMux returns a mux whose methods fail in all ways. It counts the calls that reach
// failing code.
func failingMux() (mux *transport.Mux, reached *atomic.Int64) {
	mux, reached = transport.NewMux(zerolog.Nop()), new(atomic.Int64)
	registerFailures(mux, reached)
	return mux, reached
}

func registerFailures(mux *transport.Mux, reached *atomic.Int64) {
	plain := func(params []byte) (any, error) { return params, nil }
	on := func(method string, h func() (any, error)) {
		mux.Handle(method, plain, func(context.Context, string, any) (any, error) {
			reached.Add(1)
			return h()
		})
	}
	on("fine", func() (any, error) { return "fine", nil })
	on("nothing", func() (any, error) { return nil, nil }) //nolint:nilnil // that is the case
	on("fails", func() (any, error) { return nil, fmt.Errorf("open /etc/secret: %w", fs.ErrPermission) })
	on("panics", func() (any, error) { panic("secret of the handler") })
	on("panics with an error", func() (any, error) { panic(&transport.Error{Code: 1, Message: "secret"}) })
	on("unencodable", func() (any, error) { return make(chan int), nil })
	on("faithless", func() (any, error) { return panickingValue{}, nil })
	mux.Handle("unreadable", func([]byte) (any, error) {
		reached.Add(1)
		return nil, errors.New("secret of the decoder")
	}, nil)
	mux.Handle("unreadable, by panic", func([]byte) (any, error) {
		reached.Add(1)
		panic("secret of the decoder")
	}, nil)
}

// A failure inside a handler fails its own call alone. The caller learns no details.
func TestFailedCallFailsAlone(t *testing.T) {
	const internal = `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":2}`
	for _, method := range []string{
		"fails", "panics", "panics with an error", "unencodable", "faithless", "unreadable", "unreadable, by panic",
	} {
		t.Run(method, func(t *testing.T) {
			mux, reached := failingMux()
			call := `{"jsonrpc":"2.0","method":"` + method + `","id":2}`
			require.Equal(t, internal, answerTo(mux, call))

			batch := `[{"jsonrpc":"2.0","method":"fine","id":1},` + call + `,{"jsonrpc":"2.0","method":"fine","id":3}]`
			require.Equal(t, `[{"jsonrpc":"2.0","result":"fine","id":1},`+internal+`,`+
				`{"jsonrpc":"2.0","result":"fine","id":3}]`, answerTo(mux, batch))
			assert.EqualValues(t, 4, reached.Load())
		})
	}
}

func TestFallbackThatPanicsFailsThatCallAlone(t *testing.T) {
	mux, _ := failingMux()
	mux.Fallback(func(any) (string, bool) { panic("secret") })
	require.Equal(t, `[{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":1},`+
		`{"jsonrpc":"2.0","result":"fine","id":2}]`,
		answerTo(mux, `[`+callTo("x")+`,{"jsonrpc":"2.0","method":"fine","id":2}]`))
	_, err := mux.Dispatch(context.Background(), "", "x", nil)
	require.Equal(t, &transport.Error{Code: transport.CodeInternal, Message: "Internal error"}, err)
}

func TestPanicsAreLogged(t *testing.T) {
	var log bytes.Buffer
	mux := transport.NewMux(zerolog.New(&log))
	registerFailures(mux, new(atomic.Int64))
	mux.Serve(context.Background(), "", []byte(`{"jsonrpc":"2.0","method":"panics","id":2}`))
	assert.Contains(t, log.String(), "secret of the handler")
	assert.Contains(t, log.String(), "mux_test.go", "the stack tells where")
	assert.Contains(t, log.String(), `"method":"panics"`)
}

func TestGuardIsToldOfPanics(t *testing.T) {
	var told []any
	guard := transport.Guard(func(reason any, stack []byte) {
		assert.Contains(t, string(stack), "mux_test.go", "the stack tells where")
		told = append(told, reason)
	})
	mux := transport.NewMux(zerolog.Nop())
	mux.Guarded(guard)
	registerFailures(mux, new(atomic.Int64))
	mux.Serve(context.Background(), "", []byte(`{"jsonrpc":"2.0","method":"panics","id":2}`))
	mux.Serve(context.Background(), "", []byte(`{"jsonrpc":"2.0","method":"fails","id":2}`))
	workers := transport.NewWorkers(guard)
	workers.Start(func() { panic("of a job") })
	workers.Stop()
	guard.Of(func() { panic("of a goroutine") })()
	require.Equal(t, []any{"secret of the handler", "of a job", "of a goroutine"}, told)
	guard.Of(func() {
		defer func() { told = append(told, "a deferred function") }()
		defer guard.Tell()
		panic("of a function")
	})()
	assert.Equal(t, []any{"of a function", "a deferred function", "of a function"}, told[3:])
	assert.PanicsWithValue(t, "of a goroutine", transport.Guard(nil).Of(func() { panic("of a goroutine") }))
}

// A codedError has the parts of a JSON-RPC error object, like the errors of the protocol.
type codedError struct {
	code int
	data any
}

func (e codedError) Error() string                { return "coded" }
func (e codedError) RPCError() (int, string, any) { return e.code, "CODED", e.data }

// An encodedMessage is encoded already.
type encodedMessage string

func (s encodedMessage) Encoded() ([]byte, error) { return []byte(s), nil }

func TestErrorsOfHandlers(t *testing.T) {
	const internal = `{"code":-32603,"message":"Internal error"}`
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"of JSON-RPC", &transport.Error{Code: -32602, Message: "Invalid params"}, `{"code":-32602,"message":"Invalid params"}`},
		{"with data", &transport.Error{Code: 4004, Message: "INVALID", Data: map[string]any{"allowed": []string{"even", "odd"}}},
			`{"code":4004,"message":"INVALID","data":{"allowed":["even","odd"]}}`},
		{"of another package", codedError{code: 23, data: "too large"}, `{"code":23,"message":"CODED","data":"too large"}`},
		{"wrapped", fmt.Errorf("refused: %w", codedError{code: 23}), `{"code":23,"message":"CODED"}`},
		{"joined", errors.Join(errors.New("secret"), codedError{code: 23}), `{"code":23,"message":"CODED"}`},
		{"with data that cannot be encoded", codedError{code: 23, data: func() {}}, `{"code":23,"message":"CODED"}`},
		{"with code 0", codedError{}, `{"code":0,"message":"CODED"}`},
		{"with quotes in the message", &transport.Error{Code: 1, Message: `say "odd"` + "\n"}, `{"code":1,"message":"say \"odd\"\n"}`},
		{"with a message that is no UTF-8", &transport.Error{Code: 1, Message: "\xff"}, `{"code":1,"message":"Internal error"}`},
		{"plain", errors.New("secret"), internal},
		{"plain, wrapped", fmt.Errorf("reading: %w", fs.ErrNotExist), internal},
		{"end of a context", context.DeadlineExceeded, internal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mux := transport.NewMux(zerolog.Nop())
			handle(mux, "fail", func(context.Context, any) (any, error) { return nil, tt.err })
			require.Equal(t, `{"jsonrpc":"2.0","error":`+tt.want+`,"id":1}`, answerTo(mux, callTo("fail")))
		})
	}
}

// Dispatch, which takes values, returns the same errors as Serve, which takes bytes.
func TestDispatchHidesWhatServeHides(t *testing.T) {
	internal := &transport.Error{Code: transport.CodeInternal, Message: "Internal error"}
	for _, tt := range []struct {
		method string
		result any
		err    error
	}{
		{"fails", nil, internal},
		{"panics", nil, internal},
		{"panics with an error", nil, internal},
		{"missing", nil, &transport.Error{Code: transport.CodeMethodNotFound, Message: "Method not found"}},
		{"fine", "fine", nil},
		{"nothing", nil, nil},
	} {
		t.Run(tt.method, func(t *testing.T) {
			mux, _ := failingMux()
			result, err := mux.Dispatch(context.Background(), "", tt.method, nil)
			require.Equal(t, tt.result, result)
			require.Equal(t, tt.err, err)
		})
	}
	t.Run("a coded error comes as it is", func(t *testing.T) {
		mux := transport.NewMux(zerolog.Nop())
		want := &transport.Error{Code: 23, Message: "too large"}
		handle(mux, "fail", func(context.Context, any) (any, error) { return nil, fmt.Errorf("refused: %w", want) })
		_, err := mux.Dispatch(context.Background(), "", "fail", nil)
		require.Same(t, want, err)
	})
}

func TestHandlersGetTheCallersContextAndBearer(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, "value")
	mux := transport.NewMux(zerolog.Nop())
	mux.Handle("who", func([]byte) (any, error) { return "params", nil }, func(ctx context.Context, bearer string, params any) (any, error) {
		return fmt.Sprint(ctx.Value(key{}), " ", bearer, " ", params), nil
	})
	require.Equal(t, `{"jsonrpc":"2.0","result":"value token params","id":1}`,
		string(mux.Serve(ctx, "token", []byte(callTo("who"))).Body))
	result, err := mux.Dispatch(ctx, "token", "who", "params")
	require.NoError(t, err)
	require.Equal(t, "value token params", result)
}

func TestFallback(t *testing.T) {
	const notFound = `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`
	for _, tt := range []struct{ name, method, params, want string }{
		{"names the method of an unknown one", "mcp_message", `{"message_type":"fine"}`, `{"jsonrpc":"2.0","result":"fine","id":1}`},
		{"knows no name", "mcp_message", `{"message_type":""}`, notFound},
		{"names a method that does not exist", "mcp_message", `{"message_type":"missing"}`, notFound},
		{"names the unknown method itself", "loop", `{"message_type":"loop"}`, notFound},
		{"is asked without params too", "mcp_message", ``, notFound},
		{"is not asked for a known method", "nothing", `{"message_type":"fine"}`, `{"jsonrpc":"2.0","result":null,"id":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mux, _ := failingMux()
			mux.Fallback(func(params any) (string, bool) {
				raw, ok := params.([]byte)
				require.True(t, ok, "a carrier of bytes gives bytes, not %T", params)
				_, name, _ := strings.Cut(string(raw), `"message_type":"`)
				name = strings.TrimRight(name, `"}`)
				return name, name != ""
			})
			params := ""
			if tt.params != "" {
				params = `,"params":` + tt.params
			}
			require.Equal(t, tt.want, answerTo(mux, `{"jsonrpc":"2.0","method":"`+tt.method+`"`+params+`,"id":1}`))
		})
	}
	t.Run("sees values of a carrier of values", func(t *testing.T) {
		mux, _ := failingMux()
		mux.Fallback(func(params any) (string, bool) { name, ok := params.(string); return name, ok })
		result, err := mux.Dispatch(context.Background(), "", "mcp_message", "fine")
		require.NoError(t, err)
		require.Equal(t, "fine", result)
		_, err = mux.Dispatch(context.Background(), "", "mcp_message", 7)
		require.Equal(t, &transport.Error{Code: transport.CodeMethodNotFound, Message: "Method not found"}, err)
	})
	t.Run("is not needed", func(t *testing.T) {
		mux, _ := failingMux()
		require.Equal(t, notFound, answerTo(mux, callTo("mcp_message")))
	})
}

// A letter is a message with a type and a token.
type letter struct{ Name, Token string }

func (l *letter) Type() string         { return l.Name }
func (l *letter) Conversation() string { return "conv-r1m1" }

func TestLogged(t *testing.T) {
	invitation, joined := &letter{"GAME_INVITATION", "tok-secret"}, &letter{"GAME_JOIN_ACK", "tok-secret"}
	failure := errors.New("connection reset")
	for _, tt := range []struct {
		name    string
		level   zerolog.Level
		carrier *fakeCaller
		want    []string
	}{
		{"call and answer", zerolog.DebugLevel, &fakeCaller{result: joined}, []string{
			`"message_type":"GAME_INVITATION"`, `"message_type":"GAME_JOIN_ACK"`, `"conversation_id":"conv-r1m1"`,
			`"method":"invite"`, `"endpoint":"http://p"`, `"message":"sent"`, `"message":"received the answer"`, `"took_ms":`}},
		{"call and error", zerolog.DebugLevel, &fakeCaller{err: failure}, []string{
			`"message_type":"GAME_INVITATION"`, `"error":"connection reset"`, `"message":"failed"`}},
		{"nothing above debug level", zerolog.InfoLevel, &fakeCaller{result: joined}, nil},
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
		mux.Serve(context.Background(), "", []byte(callTo("invite")))
		assert.Contains(t, log.String(), `"message":"call refused"`)
	})
	t.Run("a result that cannot be encoded", func(t *testing.T) {
		var log bytes.Buffer
		mux := transport.NewMux(zerolog.New(&log))
		mux.Handle("invite", func([]byte) (any, error) { return nil, nil }, func(context.Context, string, any) (any, error) { return func() {}, nil }) //nolint:nilnil // params do not matter
		mux.Serve(context.Background(), "", []byte(callTo("invite")))
		assert.Contains(t, log.String(), `"message":"a result cannot be encoded"`)
	})
}
