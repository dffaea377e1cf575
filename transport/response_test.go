package transport_test

import (
	"errors"
	"fmt"
	"testing"

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
	t.Run("params that cannot be encoded", func(t *testing.T) {
		_, err := transport.EncodeRequest("ping", func() {}, 1)
		require.Error(t, err)
	})
	t.Run("a method that is no UTF-8", func(t *testing.T) {
		_, err := transport.EncodeRequest("\xff", nil, 1)
		require.Error(t, err)
	})
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

// never is a decode function that must not be called.
func never(t *testing.T) func([]byte) (any, error) {
	return func(result []byte) (any, error) {
		t.Errorf("there is no result to decode, but decode got %q", result)
		return nil, nil //nolint:nilnil // the test has failed
	}
}

func TestDecodeResponseWithAnError(t *testing.T) {
	noObject := &transport.Error{Code: transport.CodeInternal, Message: "an error that is not a JSON-RPC error object"}
	noResponse := &transport.Error{Message: "the answer is not a JSON-RPC response"}
	for _, tt := range []struct {
		name, body string
		want       *transport.Error
		data       string
	}{
		{"an error", `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":7}`,
			&transport.Error{Code: -32601, Message: "Method not found"}, ""},
		{"with data", `{"jsonrpc":"2.0","error":{"code":23,"message":"M","data": {"a" : [1]} },"id":7}`,
			&transport.Error{Code: 23, Message: "M"}, `{"a" : [1]}`},
		{"with null data", `{"jsonrpc":"2.0","error":{"code":23,"message":"M","data":null},"id":7}`,
			&transport.Error{Code: 23, Message: "M"}, `null`},
		{"beside a result", `{"jsonrpc":"2.0","result":5,"error":{"code":23,"message":"M"},"id":7}`,
			&transport.Error{Code: 23, Message: "M"}, ""},
		{"with unknown members", `{"error":{"code":23,"message":"M","stack":["a"]}}`,
			&transport.Error{Code: 23, Message: "M"}, ""},
		{"without members", `{"error":{}}`, &transport.Error{}, ""},
		{"a string", `{"error":"Unknown method"}`, noObject, ""},
		{"a number", `{"error":5}`, noObject, ""},
		{"true", `{"error":true,"result":5}`, noObject, ""},
		{"an array", `{"error":[{"code":1}]}`, noObject, ""},
		{"a code that is a string", `{"error":{"code":"E003","message":"M"}}`, noObject, ""},
		{"a code that is a fraction", `{"error":{"code":1.5,"message":"M"}}`, noObject, ""},
		{"a code out of range", `{"error":{"code":1e99,"message":"M"}}`, noObject, ""},
		{"a message that is an object", `{"error":{"code":1,"message":{}}}`, noObject, ""},
		{"neither result nor error", `{"jsonrpc":"2.0","id":7}`, noResponse, ""},
		{"a null error and no result", `{"jsonrpc":"2.0","error":null,"id":7}`, noResponse, ""},
		{"a bare message", `{"message_type":"PONG"}`, noResponse, ""},
		{"a batch", `[{"jsonrpc":"2.0","result":5,"id":7}]`, noResponse, ""},
		{"a string instead of a response", `"ok"`, noResponse, ""},
		{"null instead of a response", `null`, noResponse, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := transport.DecodeResponse([]byte(tt.body), never(t))
			require.Nil(t, result)
			var e *transport.Error
			require.ErrorAs(t, err, &e)
			data := ""
			if e.Data != nil {
				data = fmt.Sprint(e.Data)
			}
			assert.Equal(t, tt.data, data)
			assert.Equal(t, tt.want, &transport.Error{Code: e.Code, Message: e.Message})
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
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, string(transport.EncodeError(tt.err)))
		})
	}
}
