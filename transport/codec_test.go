package transport_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/transport"
)

const (
	parseError  = `{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}`
	okWithIDOne = `{"jsonrpc":"2.0","result":19,"id":1}`
)

// handle registers a method of one request type and one result type.
func handle[Q, R any](mux *transport.Mux, method string, h func(ctx context.Context, q Q) (R, error)) {
	decode := func(params []byte) (any, error) {
		var q Q
		if len(params) > 0 && jsonv2.Unmarshal(params, &q) != nil {
			return nil, &transport.Error{Code: transport.CodeInvalidParams, Message: "Invalid params"}
		}
		return q, nil
	}
	mux.Handle(method, decode, func(ctx context.Context, _ string, params any) (any, error) {
		q, _ := params.(Q) // nil where Q is an interface
		return h(ctx, q)
	})
}

// operands are the params of the specification's subtract, by name or by
// position.
type operands struct{ Minuend, Subtrahend int }

func (o *operands) UnmarshalJSON(raw []byte) error {
	if raw[0] == '[' {
		return json.Unmarshal(raw, &[]any{&o.Minuend, &o.Subtrahend})
	}
	type named operands
	return json.Unmarshal(raw, (*named)(o))
}

// calculator is the server of the specification's examples; it counts the
// calls that reach a handler.
func calculator() (mux *transport.Mux, calls *atomic.Int64) {
	mux, calls = transport.NewMux(zerolog.Nop()), new(atomic.Int64)
	handle(mux, "subtract", func(_ context.Context, o operands) (int, error) {
		calls.Add(1)
		return o.Minuend - o.Subtrahend, nil
	})
	sum := func(_ context.Context, numbers []int) (total int, err error) {
		calls.Add(1)
		for _, n := range numbers {
			total += n
		}
		return total, nil
	}
	for _, method := range []string{"sum", "update", "notify_sum", "notify_hello"} {
		handle(mux, method, sum)
	}
	handle(mux, "get_data", func(context.Context, any) ([]any, error) {
		calls.Add(1)
		return []any{"hello", 5}, nil
	})
	handle(mux, "echo", func(_ context.Context, params jsontext.Value) (jsontext.Value, error) {
		calls.Add(1)
		return params, nil
	})
	return mux, calls
}

// answerTo is the answer of a mux to a body.
func answerTo(mux *transport.Mux, body string) string {
	return string(mux.Serve(context.Background(), "", []byte(body)).Body)
}

// serve answers a body with the calculator.
func serve(body string) string {
	mux, _ := calculator()
	return answerTo(mux, body)
}

// callTo is a call of a method without params.
func callTo(method string) string { return `{"jsonrpc":"2.0","method":"` + method + `","id":1}` }

// dataOfError matches the data at the end of an error, which the specification leaves to the server.
var dataOfError = regexp.MustCompile(`,"data":("(\\.|[^"\\])*"|\{"detail":"(\\.|[^"\\])*"\})},"id":`)

// Section 7 of the JSON-RPC 2.0 specification, example by example.
func TestSpecificationExamples(t *testing.T) {
	const invalid = `{"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}`
	for _, tt := range []struct{ name, body, want string }{
		{"call with positional parameters", `{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}`,
			`{"jsonrpc": "2.0", "result": 19, "id": 1}`},
		{"call with positional parameters, the other way round", `{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}`,
			`{"jsonrpc": "2.0", "result": -19, "id": 2}`},
		{"call with named parameters", `{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}`,
			`{"jsonrpc": "2.0", "result": 19, "id": 3}`},
		{"call with named parameters in another order", `{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}`,
			`{"jsonrpc": "2.0", "result": 19, "id": 4}`},
		{"notification", `{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}`, ""},
		{"notification of a method that does not exist", `{"jsonrpc": "2.0", "method": "foobar"}`, ""},
		{"call of a method that does not exist", `{"jsonrpc": "2.0", "method": "foobar", "id": "1"}`,
			`{"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "1"}`},
		{"call with invalid JSON", `{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]`, parseError},
		{"call with an invalid request object", `{"jsonrpc": "2.0", "method": 1, "params": "bar"}`, invalid},
		{"batch, invalid JSON", `[
			{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
			{"jsonrpc": "2.0", "method"
		]`, parseError},
		{"empty batch", `[]`, invalid},
		{"batch that is invalid but not empty", `[1]`, `[` + invalid + `]`},
		{"invalid batch", `[1,2,3]`, `[` + invalid + `,` + invalid + `,` + invalid + `]`},
		{"batch", `[
			{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
			{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
			{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
			{"foo": "boo"},
			{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
			{"jsonrpc": "2.0", "method": "get_data", "id": "9"}
		]`, `[
			{"jsonrpc": "2.0", "result": 7, "id": "1"},
			{"jsonrpc": "2.0", "result": 19, "id": "2"},
			` + invalid + `,
			{"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "5"},
			{"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"}
		]`},
		{"batch of notifications", `[
			{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
			{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}
		]`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := serve(tt.body)
			if tt.want == "" {
				require.Empty(t, answer, "a notification has no answer")
				return
			}
			require.JSONEq(t, tt.want, dataOfError.ReplaceAllString(answer, `},"id":`))
		})
	}
}

func TestIDsAreEchoedByteForByte(t *testing.T) {
	for _, tt := range []struct{ name, id string }{
		{"integer", `1`},
		{"zero", `0`},
		{"minus zero", `-0`},
		{"negative", `-17`},
		{"fraction", `1.5`},
		{"fraction of zeros", `1.000`},
		{"exponent", `1e3`},
		{"exponent in capitals", `1E+3`},
		{"larger than a float can tell apart", `9007199254740993`},
		{"larger than any integer type", `123456789012345678901234567890`},
		{"larger than any float", `1e999`},
		{"null", `null`},
		{"string", `"abc"`},
		{"empty string", `""`},
		{"string of a number", `"1"`},
		{"string with escapes", `"\u0061\/\n\""`},
		{"string of other scripts", `"שלום 🎲"`},
	} {
		call := `{"jsonrpc":"2.0","id": ` + tt.id + ` ,"method":"subtract","params":{"minuend":42,"subtrahend":23}}`
		result := `{"jsonrpc":"2.0","result":19,"id":` + tt.id + `}`
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, result, serve(call))
			assert.Equal(t, "["+result+","+result+"]", serve("[ "+call+" ,\n"+call+" ]"), "in a batch")
			assert.Equal(t, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":`+tt.id+`}`,
				serve(`{"jsonrpc":"2.0","id":`+tt.id+`,"method":"no"}`), "beside an error")
		})
	}
}

func TestInvalidRequests(t *testing.T) {
	const (
		version = `jsonrpc must be "2.0"`
		method  = "method must be a string"
		id      = "id must be a string, a number or null"
		params  = "params must be an object or an array"
	)
	for _, tt := range []struct{ name, body, problem, id string }{
		{"no object but a number", `1`, version, "null"},
		{"no object but a string", `"call"`, version, "null"},
		{"no object but null", `null`, version, "null"},
		{"empty object", `{}`, version, "null"},
		{"no version", `{"method":"sum","id":7}`, version, "7"},
		{"version 1.0", `{"jsonrpc":"1.0","method":"sum","id":7}`, version, "7"},
		{"version as a number", `{"jsonrpc":2.0,"method":"sum","id":"a"}`, version, `"a"`},
		{"no method", `{"jsonrpc":"2.0","id":7}`, method, "7"},
		{"method null", `{"jsonrpc":"2.0","method":null,"id":7}`, method, "7"},
		{"method a number", `{"jsonrpc":"2.0","method":1,"id":7}`, method, "7"},
		{"method an object", `{"jsonrpc":"2.0","method":{},"id":7}`, method, "7"},
		{"method of a call without id", `{"jsonrpc":"2.0","method":1}`, method, "null"},
		{"id true", `{"jsonrpc":"2.0","method":"sum","id":true}`, id, "null"},
		{"id false", `{"jsonrpc":"2.0","method":"sum","id":false}`, id, "null"},
		{"id an object", `{"jsonrpc":"2.0","method":"sum","id":{"a":1}}`, id, "null"},
		{"id an array", `{"jsonrpc":"2.0","method":"sum","id":[1]}`, id, "null"},
		{"id and version wrong", `{"jsonrpc":"1.0","method":"sum","id":[1]}`, version, "null"},
		{"params a string", `{"jsonrpc":"2.0","method":"sum","params":"bar","id":7}`, params, "7"},
		{"params a number", `{"jsonrpc":"2.0","method":"sum","params":1,"id":7}`, params, "7"},
		{"params true", `{"jsonrpc":"2.0","method":"sum","params":true,"id":7}`, params, "7"},
		{"params null", `{"jsonrpc":"2.0","method":"sum","params":null,"id":7}`, params, "7"},
		{"members in capitals", `{"JSONRPC":"2.0","METHOD":"sum","ID":7}`, version, "null"},
	} {
		problem, err := json.Marshal(tt.problem)
		require.NoError(t, err)
		want := `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request","data":{"detail":` + string(problem) + `}},"id":` + tt.id + `}`
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, want, serve(tt.body))
			assert.Equal(t, "["+want+"]", serve("["+tt.body+"]"), "in a batch")
		})
	}
}

func TestBodiesThatAreNotJSON(t *testing.T) {
	const call = `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":1}`
	for _, tt := range []struct{ name, body string }{
		{"empty", ""},
		{"white space", " \r\n\t "},
		{"plain text", "hello"},
		{"HTML", "<html></html>"},
		{"cut off", call[:len(call)-1]},
		{"cut off batch", "[" + call},
		{"garbage behind", call + "x"},
		{"another call behind", call + call},
		{"garbage behind a batch", "[" + call + "]]"},
		{"comma at the end", `{"jsonrpc":"2.0","method":"echo","id":1,}`},
		{"comment", `{"jsonrpc":"2.0","method":"echo","id":1/**/}`},
		{"single quotes", `{'jsonrpc':'2.0'}`},
		{"byte order mark", "\ufeff" + call},
		{"control character in a string", "{\"jsonrpc\":\"2.0\",\"method\":\"ec\nho\",\"id\":1}"},
		{"number with a leading zero", `{"jsonrpc":"2.0","method":"echo","id":01}`},
		{"NaN", `{"jsonrpc":"2.0","method":"echo","params":[NaN],"id":1}`},
		{"name without quotes", `{jsonrpc:"2.0"}`},
		{"the same member twice", `{"jsonrpc":"2.0","method":"echo","method":"sum","id":1}`},
		{"the same id twice", `{"jsonrpc":"2.0","method":"echo","id":1,"id":1}`},
		{"the same member twice, once escaped", `{"jsonrpc":"2.0","method":"echo","id":1,"\u0069d":2}`},
		{"the same member twice in params", `{"jsonrpc":"2.0","method":"echo","params":{"a":1,"a":2},"id":1}`},
		{"the same member twice deep in params", `{"jsonrpc":"2.0","method":"echo","params":{"a":[{"b":1,"b":1}]},"id":1}`},
		{"the same member twice in an unknown member", `{"jsonrpc":"2.0","method":"echo","x":{"b":1,"b":1},"id":1}`},
		{"the same member twice in a batch", `[` + call + `,{"jsonrpc":"2.0","jsonrpc":"2.0"}]`},
		{"bad UTF-8 in the method", "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\",\"id\":1}"},
		{"bad UTF-8 in params", "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":[\"\xc3\x28\"],\"id\":1}"},
		{"bad UTF-8 in a name", "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"\x80\":1,\"id\":1}"},
		{"bad UTF-8 in the id", "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"id\":\"\xed\xa0\x80\"}"},
		{"bad UTF-8 in an unknown member", "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"x\":\"\xfe\",\"id\":1}"},
		{"half a surrogate pair", `{"jsonrpc":"2.0","method":"echo","params":["\ud800"],"id":1}`},
		{"bad UTF-8 in a batch", "[" + call + ",\"\xff\"]"},
		{"a hundred thousand brackets", strings.Repeat("[", 100_000)},
		{"a hundred thousand objects in each other", strings.Repeat(`{"a":`, 100_000)},
		{"params a hundred thousand deep", `{"jsonrpc":"2.0","method":"echo","params":` +
			strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `,"id":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mux, calls := calculator()
			require.Equal(t, parseError, answerTo(mux, tt.body))
			require.Zero(t, calls.Load(), "no handler is called")
		})
	}
}

func TestWellFormedCalls(t *testing.T) {
	const deep = 1000
	nested := strings.Repeat("[", deep) + strings.Repeat("]", deep)
	for _, tt := range []struct{ name, body, want string }{
		{"unknown members are ignored",
			`{"jsonrpc":"2.0","auth":{"x":[1]},"method":"subtract","params":[42,23],"trace":null,"id":1,"message_type":"X"}`, okWithIDOne},
		{"members of a response are ignored",
			`{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1,"result":5,"error":{"code":1}}`, okWithIDOne},
		{"white space everywhere",
			" \r\n{ \"jsonrpc\"\t:\n\"2.0\" , \"method\" : \"subtract\" ,\r\n \"params\" :\t[ 42 , 23 ] , \"id\" : 1 }\n\n", okWithIDOne},
		{"white space before a batch",
			"\n\t [ " + `{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}` + " ] \n", "[" + okWithIDOne + "]"},
		{"members in any order", `{"id":1,"params":[42,23],"method":"subtract","jsonrpc":"2.0"}`, okWithIDOne},
		{"escapes in the method", `{"jsonrpc":"2.0","method":"sub\u0074ract","params":[42,23],"id":1}`, okWithIDOne},
		{"escapes in a member's name", `{"jsonrpc":"2.0","\u006dethod":"subtract","params":[42,23],"id":1}`, okWithIDOne},
		{"params an empty object", `{"jsonrpc":"2.0","method":"echo","params":{},"id":1}`, `{"jsonrpc":"2.0","result":{},"id":1}`},
		{"params a thousand deep", `{"jsonrpc":"2.0","method":"echo","params":` + nested + `,"id":1}`,
			`{"jsonrpc":"2.0","result":` + nested + `,"id":1}`},
		{"no params", `{"jsonrpc":"2.0","method":"get_data","id":1}`, `{"jsonrpc":"2.0","result":["hello",5],"id":1}`},
		{"params that the method cannot read", `{"jsonrpc":"2.0","method":"subtract","params":{"minuend":"x"},"id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params"},"id":1}`},
		{"an empty method does not exist", `{"jsonrpc":"2.0","method":"","id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`},
		{"method names are case-sensitive", `{"jsonrpc":"2.0","method":"Subtract","id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`},
		{"the same id twice in a batch", `[{"jsonrpc":"2.0","method":"sum","params":[1],"id":1},{"jsonrpc":"2.0","method":"sum","params":[2],"id":1}]`,
			`[{"jsonrpc":"2.0","result":1,"id":1},{"jsonrpc":"2.0","result":2,"id":1}]`},
		{"a batch in a batch is no call", `[[{"jsonrpc":"2.0","method":"sum","params":[1],"id":1}]]`,
			`[{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request","data":{"detail":"jsonrpc must be \"2.0\""}},"id":null}]`},
	} {
		assert.Equal(t, tt.want, serve(tt.body), tt.name)
	}
}

func TestBatchLimit(t *testing.T) {
	batch := func(calls int) string {
		return "[" + strings.Repeat(`{"jsonrpc":"2.0","method":"sum","params":[1],"id":1},`, calls-1) +
			`{"jsonrpc":"2.0","method":"sum","params":[1],"id":2}]`
	}
	t.Run("a hundred calls are answered in order", func(t *testing.T) {
		mux, calls := calculator()
		var answers []struct{ ID, Result int }
		require.NoError(t, json.Unmarshal([]byte(answerTo(mux, batch(100))), &answers))
		require.Len(t, answers, 100)
		assert.Equal(t, 2, answers[99].ID)
		assert.EqualValues(t, 100, calls.Load())
	})
	t.Run("one more is refused as a whole", func(t *testing.T) {
		mux, calls := calculator()
		require.Equal(t, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request",`+
			`"data":{"detail":"a batch holds 1 to 100 calls"}},"id":null}`, answerTo(mux, batch(101)))
		assert.Zero(t, calls.Load())
	})
}

func TestNotificationsAreNeverAnswered(t *testing.T) {
	for _, tt := range []struct{ name, method string }{
		{"handler that succeeds", "fine"},
		{"handler that fails", "fails"},
		{"handler that panics", "panics"},
		{"params that cannot be read", "unreadable"},
		{"result that cannot be encoded", "unencodable"},
		{"method that does not exist", "missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mux, reached := failingMux()
			body := `{"jsonrpc":"2.0","method":"` + tt.method + `","params":{}}`
			require.Nil(t, mux.Serve(context.Background(), "", []byte(body)).Body)
			require.Nil(t, mux.Serve(context.Background(), "", []byte("["+body+"]")).Body)
			if tt.method != "missing" {
				assert.EqualValues(t, 2, reached.Load(), "the handler runs nevertheless")
			}
		})
	}
}

// changed is a body with a few bytes replaced, after its first one.
func changed(t *rapid.T, body string) string {
	pieces := rapid.SampledFrom([]string{
		`"`, `{`, `}`, `[`, `]`, `,`, `:`, `\`, ` `, `0`, `1`, `-`, `null`, "\xff",
		`,"id":`, `,"id":2`, `,"id":2}`, `","params":{`, `,"params":{"a":1}`, `,"method":"sum"`, `,"a":1`, `,"error":{"code":1}`, `,"result":{}`,
	})
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		from := rapid.IntRange(1, len(body)).Draw(t, "from")
		to := min(from+rapid.IntRange(0, 8).Draw(t, "bytes"), len(body))
		body = body[:from] + strings.Join(rapid.SliceOfN(pieces, 0, 2).Draw(t, "instead"), "") + body[to:]
	}
	return body
}

// The codec reads a body in the form of EncodeRequest in a shorter way. The answer is the
// same as in the general way, which the codec uses for a body with white space.
func TestPlainFormMeansTheSame(t *testing.T) {
	tests := []struct{ name, body string }{
		{"a call", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":1}`},
		{"a large id", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":123456789012345678}`},
		{"a larger id", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":12345678901234567890}`},
		{"a negative id", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":-1}`},
		{"an id that is no number", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":01}`},
		{"two ids", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":2,"id":1}`},
		{"another id inside", `{"jsonrpc":"2.0","method":"echo","params":{"a":1,"id":2},"id":1}`},
		{"an id inside alone", `{"jsonrpc":"2.0","method":"echo","params":{"a":1,"id":2}}`},
		{"params twice", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"params":{"a":2},"id":1}`},
		{"a method in the middle", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"method":"sum","id":1}`},
		{"an unknown member in the middle", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"x":{"b":2},"id":1}`},
		{"an unknown member before params", `{"jsonrpc":"2.0","method":"echo","x":{},"params":{"a":1},"id":1}`},
		{"params whose member looks like params", `{"jsonrpc":"2.0","method":"echo","params":{"b":"\",\"params\":{","a":1},"id":1}`},
		{"params cut off", `{"jsonrpc":"2.0","method":"echo","params":{"a":1,"id":1}`},
		{"params closed twice", `{"jsonrpc":"2.0","method":"echo","params":{"a":1}},"id":1}`},
		{"params with garbage behind", `{"jsonrpc":"2.0","method":"echo","params":{"a":1}x,"id":1}`},
		{"params with the same member twice", `{"jsonrpc":"2.0","method":"echo","params":{"a":1,"a":2},"id":1}`},
		{"params that are no UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":{\"a\":\"\xff\"},\"id\":1}"},
		{"params of the wrong type", `{"jsonrpc":"2.0","method":"subtract","params":{"minuend":"x"},"id":1}`},
		{"empty params", `{"jsonrpc":"2.0","method":"echo","params":{},"id":1}`},
		{"no params", `{"jsonrpc":"2.0","method":"echo","params":,"id":1}`},
		{"params an array", `{"jsonrpc":"2.0","method":"sum","params":[1],"id":1}`},
		{"params null", `{"jsonrpc":"2.0","method":"echo","params":null,"id":1}`},
		{"an unknown method", `{"jsonrpc":"2.0","method":"no","params":{"a":1},"id":1}`},
		{"no method", `{"jsonrpc":"2.0","method":"","params":{"a":1},"id":1}`},
		{"an escaped method", `{"jsonrpc":"2.0","method":"\u0065cho","params":{"a":1},"id":1}`},
		{"garbage behind", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":1}x`},
		{"a number behind", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":1}1}`},
		{"the head alone", `{"jsonrpc":"2.0","method":"`},
		{"head and tail alone", `{"jsonrpc":"2.0","method":","id":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, serve("{ "+tt.body[1:]), serve(tt.body))
		})
	}
	t.Run("random changes", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			body := changed(t, rapid.SampledFrom(tests).Draw(t, "seed").body)
			require.Equal(t, serve("{ "+body[1:]), serve(body), "%q", body)
		})
	})
}
