package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
)

// raw is a decode function that returns the result unchanged.
func raw(result []byte) (any, error) { return string(result), nil }

func TestEncodeRequest(t *testing.T) {
	for _, tt := range []struct {
		name   string
		method string
		params any
		id     int64
		want   string
	}{
		{"params an object", "ping", map[string]int{"a": 1}, 1, `{"jsonrpc":"2.0","method":"ping","params":{"a":1},"id":1}`},
		{"params that have encoded themselves", "ping", encodedMessage(`{"b":2}`), -5, `{"jsonrpc":"2.0","method":"ping","params":{"b":2},"id":-5}`},
		{"a method that needs quoting", `a"b\`, []int{}, 1 << 62, `{"jsonrpc":"2.0","method":"a\"b\\","params":[],"id":4611686018427387904}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, err := transport.EncodeRequest(tt.method, tt.params, tt.id)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(body))
		})
	}
	_, err := transport.EncodeRequest("ping", func() {}, 1)
	require.Error(t, err, "params that cannot be encoded")
	_, err = transport.EncodeRequest("\xff", nil, 1)
	require.Error(t, err, "a method that is no UTF-8")
}

func TestDecodeResponse(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"a result", `{"jsonrpc":"2.0","result":{"a":1},"id":7}`, `{"a":1}`},
		{"id 1 whatever was asked", `{"jsonrpc":"2.0","result":5,"id":1}`, `5`},
		{"no id", `{"jsonrpc":"2.0","result":5}`, `5`},
		{"no version", `{"result":5,"id":7}`, `5`},
		{"a null error beside the result", `{"jsonrpc":"2.0","error":null,"result":5,"id":7}`, `5`},
		{"a null result", `{"jsonrpc":"2.0","result":null,"id":7}`, `null`},
		{"unknown members", `{"jsonrpc":"2.0","x":{"result":6},"result":5,"id":7,"y":1}`, `5`},
		{"white space", " {\n\"result\" :\t5 ,\"id\":7 } \n", `5`},
		{"a result with white space", `{"result": {"a" : "\u0061"} }`, `{"a" : "\u0061"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := transport.DecodeResponse([]byte(tt.body), raw)
			require.NoError(t, err)
			require.Equal(t, tt.want, result)
		})
	}
	t.Run("the error of decode is the call's", func(t *testing.T) {
		want := errors.New("no pong")
		_, err := transport.DecodeResponse([]byte(`{"result":5}`), func([]byte) (any, error) { return nil, want })
		require.Equal(t, want, err)
	})
}

func TestDecodeResponseWithAnError(t *testing.T) {
	noObject := &transport.Error{Code: transport.CodeInternal, Message: "an error that is not a JSON-RPC error object"}
	noResponse := &transport.Error{Message: "the answer is not a JSON-RPC response"}
	for _, tt := range []struct {
		name, body string
		want       *transport.Error
	}{
		{"an error", `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":7}`,
			&transport.Error{Code: -32601, Message: "Method not found"}},
		{"with data", `{"jsonrpc":"2.0","error":{"code":23,"message":"M","data": {"a" : [1]} },"id":7}`,
			&transport.Error{Code: 23, Message: "M", Data: jsontext.Value(`{"a" : [1]}`)}},
		{"with null data", `{"jsonrpc":"2.0","error":{"code":23,"message":"M","data":null},"id":7}`,
			&transport.Error{Code: 23, Message: "M", Data: jsontext.Value("null")}},
		{"beside a result", `{"jsonrpc":"2.0","result":5,"error":{"code":23,"message":"M"},"id":7}`,
			&transport.Error{Code: 23, Message: "M"}},
		{"with unknown members", `{"error":{"code":23,"message":"M","stack":["a"]}}`,
			&transport.Error{Code: 23, Message: "M"}},
		{"without members", `{"error":{}}`, &transport.Error{}},
		{"a string", `{"error":"Unknown method"}`, noObject},
		{"a number", `{"error":5}`, noObject},
		{"true", `{"error":true,"result":5}`, noObject},
		{"an array", `{"error":[{"code":1}]}`, noObject},
		{"a code that is a string", `{"error":{"code":"E003","message":"M"}}`, noObject},
		{"a code that is a fraction", `{"error":{"code":1.5,"message":"M"}}`, noObject},
		{"a code out of range", `{"error":{"code":1e99,"message":"M"}}`, noObject},
		{"a message that is an object", `{"error":{"code":1,"message":{}}}`, noObject},
		{"neither result nor error", `{"jsonrpc":"2.0","id":7}`, noResponse},
		{"a null error and no result", `{"jsonrpc":"2.0","error":null,"id":7}`, noResponse},
		{"a bare message", `{"message_type":"PONG"}`, noResponse},
		{"a batch", `[{"jsonrpc":"2.0","result":5,"id":7}]`, noResponse},
		{"a string instead of a response", `"ok"`, noResponse},
		{"null instead of a response", `null`, noResponse},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := transport.DecodeResponse([]byte(tt.body), func([]byte) (any, error) {
				t.Error("there is no result to decode")
				return nil, nil
			})
			require.Nil(t, result)
			require.Equal(t, tt.want, err)
		})
	}
}

func TestEncodeError(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"with data", codedError{code: 23, data: []int{10240}}, `{"jsonrpc":"2.0","error":{"code":23,"message":"CODED","data":[10240]},"id":null}`},
		{"plain", errors.New("secret"), `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":null}`},
	} {
		assert.Equal(t, tt.want, string(transport.EncodeError(tt.err)), tt.name)
	}
}

// The seeds of these fuzz tests are in testdata/fuzz: cases of the other tests,
// captured messages of third-party agents, and findings of the fuzzer.

// recordingMux is a mux that records its calls.
func recordingMux() (mux *transport.Mux, calls *[]string) {
	mux, calls = transport.NewMux(zerolog.Nop()), new([]string)
	decode := func(params []byte) (any, error) {
		var members map[string]jsontext.Value
		if err := jsonv2.Unmarshal(params, &members); err != nil {
			return nil, &transport.Error{Code: transport.CodeInvalidParams, Message: "Invalid params"}
		}
		return members, nil
	}
	for _, method := range []string{"ping", "handle_game_invitation", "choose_parity", "notify_match_result", "register_player", "fails"} {
		mux.Handle(method, decode, func(_ context.Context, _ string, params any) (any, error) {
			text, err := jsonv2.Marshal(params, jsonv2.Deterministic(true))
			*calls = append(*calls, fmt.Sprint(method, string(text), err))
			if method == "fails" {
				return nil, errors.New("no")
			}
			return jsontext.Value(text), nil
		})
	}
	return mux, calls
}

// For any request, nothing panics and the answer is JSON or empty. The codec decodes a
// body in our form like any other, which a space before its last brace enforces.
func FuzzServe(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		mux, calls := recordingMux()
		answer := mux.Serve(t.Context(), "", body)
		require.Zero(t, answer.RetryAfter)
		if answer.Body != nil {
			require.True(t, jsontext.Value(answer.Body).IsValid(), "%q is answered with %q", body, answer.Body)
		}
		end := bytes.LastIndexByte(body, '}')
		if end < 0 || bytes.IndexByte(body[end:], '"') >= 0 {
			return // no object, or one within a string
		}
		book, slow := recordingMux()
		spaced := append(append(bytes.Clone(body[:end]), ' '), body[end:]...)
		require.Equal(t, string(answer.Body), string(book.Serve(t.Context(), "", spaced).Body))
		require.Equal(t, *calls, *slow)
	})
}

// For any response, nothing panics, a decoded result is JSON, and both ways of decoding
// agree.
func FuzzDecodeResponse(f *testing.F) {
	whole := func(result []byte) (any, error) {
		v := jsontext.Value(result)
		if !v.IsValid() {
			return nil, errors.New("no JSON value")
		}
		return string(bytes.TrimSpace(v)), nil
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		value, err := transport.DecodeResponse(body, whole)
		if err == nil {
			require.True(t, jsontext.Value(value.(string)).IsValid())
		}
		var refused *transport.Error
		if errors.As(err, &refused) {
			require.True(t, jsontext.Value(transport.EncodeError(refused)).IsValid(), "an error can be passed on")
		}
		end := bytes.LastIndexByte(body, '}')
		if end < 0 || bytes.IndexByte(body[end:], '"') >= 0 {
			return
		}
		spaced := append(append(bytes.Clone(body[:end]), ' '), body[end:]...)
		byTheBook, other := transport.DecodeResponse(spaced, whole)
		require.Equal(t, value, byTheBook)
		require.Equal(t, err == nil, other == nil)
	})
}
