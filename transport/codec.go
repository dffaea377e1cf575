package transport

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxBatch is how many calls one body may hold.
const maxBatch = 100

// An object is a JSON-RPC request or response: its raw members, nil when absent.
type object struct {
	Version jsontext.Value `json:"jsonrpc"`
	Method  jsontext.Value `json:"method"`
	Params  jsontext.Value `json:"params"`
	ID      jsontext.Value `json:"id"`
	Result  jsontext.Value `json:"result"`
	Fail    jsontext.Value `json:"error"`
}

// parse reads an object. Any other JSON value has no members.
func parse(body []byte) (o object, err error) {
	if err = json.Unmarshal(body, &o); err != nil && jsontext.Value(body).IsValid() {
		err = nil
	}
	return o, err
}

// An Answer is the body of a response, and what a carrier may send beside it.
type Answer struct {
	Body  []byte // nil for a notification
	Calls int    // in the request: 1, or those of a batch
	// RetryAfter is how long the error in the body asks to wait, if it has a method of
	// that name; 0 for results and batches.
	RetryAfter time.Duration

	// What a single call returned. Both are nil for a batch, and for a call without a result.
	Result any
	Err    error

	method string // of a single call; "" where the request names none
}

// Serve answers a request body, a single call or a batch, by the rules of JSON-RPC 2.0.
func (m *Mux) Serve(ctx context.Context, bearer string, body []byte) Answer {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) > 0 && body[0] == '[' {
		return m.serveBatch(ctx, bearer, body)
	}
	answer := m.serveOne(ctx, bearer, body)
	answer.Calls = 1
	return answer
}

func (m *Mux) serveBatch(ctx context.Context, bearer string, body []byte) Answer {
	var calls []jsontext.Value
	if err := json.Unmarshal(body, &calls); err != nil {
		return m.unreadable(ctx, "", &Error{Code: CodeParse, Message: "Parse error"}, nil)
	}
	if len(calls) == 0 || len(calls) > maxBatch {
		return m.unreadable(ctx, "", &Error{Code: CodeInvalidRequest, Message: "Invalid Request",
			Data: Problem{"a batch holds 1 to " + strconv.Itoa(maxBatch) + " calls"}}, nil)
	}
	var answers [][]byte
	for _, call := range calls {
		if answer := m.serveOne(ctx, bearer, call).Body; answer != nil {
			answers = append(answers, answer)
		}
	}
	if answers == nil {
		return Answer{Calls: len(calls)}
	}
	return Answer{Body: slices.Concat([]byte{'['}, bytes.Join(answers, []byte{','}), []byte{']'}), Calls: len(calls)}
}

func (m *Mux) serveOne(ctx context.Context, bearer string, body []byte) Answer {
	if m.answered == nil {
		return m.serveCall(ctx, bearer, body)
	}
	begun := time.Now()
	answer := m.serveCall(ctx, bearer, body)
	m.answered(ctx, answer.method, answer.Result, answer.Err, time.Since(begun))
	return answer
}

func (m *Mux) serveCall(ctx context.Context, bearer string, body []byte) Answer {
	if answer, ok := m.servePlain(ctx, bearer, body); ok {
		return answer
	}
	call, err := parse(body)
	if err != nil {
		return m.unreadable(ctx, "", &Error{Code: CodeParse, Message: "Parse error"}, nil)
	}
	method, problem := call.request()
	if problem != "" {
		id := call.ID
		if !ValidID(id) {
			id = nil
		}
		return m.unreadable(ctx, method, &Error{Code: CodeInvalidRequest, Message: "Invalid Request", Data: Problem{problem}}, id)
	}
	return m.answer(method, call.ID, func() (any, error) { return m.dispatchRaw(ctx, bearer, method, call.Params) })
}

// unreadable is the answer to a request that no handler can read.
func (m *Mux) unreadable(ctx context.Context, method string, err *Error, id jsontext.Value) Answer {
	m.unread(ctx, method, err)
	return Answer{Body: encodeError(err, id), Calls: 1, Err: err, method: method}
}

// answer makes a call and encodes its result. A call without an id is a notification,
// and its answer has no body.
func (m *Mux) answer(method string, id jsontext.Value, call func() (any, error)) Answer {
	result, encoded, err := m.encoded(method, id, call)
	switch {
	case err != nil && id != nil:
		return Answer{Body: encodeError(asRPC(err), id), RetryAfter: retryAfter(err), Err: err, method: method}
	case err != nil:
		return Answer{Err: err, method: method}
	}
	return Answer{Body: encoded, Result: result, method: method}
}

// encoded makes a call and encodes its result, unless the call is a notification.
func (m *Mux) encoded(method string, id jsontext.Value, call func() (any, error)) (
	result any, encoded []byte, err error,
) {
	defer m.contain(method, &err)
	if result, err = call(); err != nil || id == nil {
		return result, nil, err
	}
	encoded, err = withEncoded(result, func(text jsontext.Value) ([]byte, error) { return ResultBody(text, id), nil })
	if err != nil {
		m.log.Error().Str("method", method).Err(err).Str("event_type", "RESULT_UNENCODABLE").Msg("a result cannot be encoded")
		return result, nil, err
	}
	return result, encoded, nil
}

// The plain form is the one that EncodeRequest and ResultBody write. Its params or
// result stand between a fixed head and a fixed tail, and are decoded without parsing
// the object. Any other body is parsed as JSON-RPC 2.0 says.
const (
	requestHead  = `{"jsonrpc":"2.0","method":"`
	paramsHead   = `","params":`
	responseHead = `{"jsonrpc":"2.0","result":`
	idHead       = `,"id":`
)

// servePlain answers a request in plain form; ok is false for any other form.
func (m *Mux) servePlain(ctx context.Context, bearer string, body []byte) (answer Answer, ok bool) {
	name, params, id, ok := CutRequest(body)
	r, known := m.routes[string(name)]
	if !ok || !known {
		return Answer{}, false
	}
	var readable bool
	answer = m.answer(r.method, id, func() (any, error) {
		value, err := r.decode(params)
		if readable = err == nil; !readable {
			return nil, err
		}
		return m.run(ctx, r, r.method, bearer, value)
	})
	return answer, readable
}

// CutRequest cuts a request in plain form, without reading its params. It reports false for any
// other form. The caller must check that the params are one JSON value.
func CutRequest(body []byte) (method []byte, params, id jsontext.Value, ok bool) {
	middle, id, ok := cutPlain(body, requestHead)
	method, params, found := bytes.Cut(middle, []byte(paramsHead))
	if !ok || !found || !plainName(method) || len(params) == 0 || params[0] != '{' {
		return nil, nil, nil, false
	}
	return method, params, id, true
}

// cutPlain finds the params or result and the id of an object in plain form. The
// caller must check that the middle is one JSON value.
func cutPlain(body []byte, head string) (middle []byte, id jsontext.Value, ok bool) {
	if len(body) < len(head)+len(idHead)+2 || string(body[:len(head)]) != head || body[len(body)-1] != '}' {
		return nil, nil, false
	}
	end := len(body) - 1
	start := end
	for start > 0 && body[start-1] >= '0' && body[start-1] <= '9' {
		start--
	}
	digits := end - start
	if digits == 0 || digits > 18 || digits > 1 && body[start] == '0' || start < len(head)+len(idHead) ||
		string(body[start-len(idHead):start]) != idHead {
		return nil, nil, false
	}
	return body[len(head) : start-len(idHead)], body[start:end], true
}

// plainName tells whether a method name needs no escaping.
func plainName(name []byte) bool {
	for _, c := range name {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return len(name) > 0
}

// request is the method of a request ("" if it has none) and the problem of the request
// ("" for none).
func (o *object) request() (method, problem string) {
	if string(o.Version) != `"2.0"` {
		return "", `jsonrpc must be "2.0"`
	}
	if o.Method.Kind() != '"' || json.Unmarshal(o.Method, &method) != nil {
		return "", "method must be a string"
	}
	if !ValidID(o.ID) {
		return method, "id must be a string, a number or null"
	}
	if k := o.Params.Kind(); o.Params != nil && k != '{' && k != '[' {
		return method, "params must be an object or an array"
	}
	return method, ""
}

// ValidID tells whether an id is one of JSON-RPC; nil is that of a notification.
func ValidID(id jsontext.Value) bool {
	if id == nil {
		return true
	}
	k := id.Kind()
	return k == '"' || k == '0' || k == 'n'
}

// ResultBody is the response with an encoded result.
func ResultBody(result, id jsontext.Value) []byte {
	return slices.Concat([]byte(responseHead), result, []byte(idHead), id, []byte("}"))
}

// An encodedMessage encodes itself once for many bodies.
type encodedMessage interface{ Encoded() ([]byte, error) }

// An errorObject is the error in a response.
type errorObject struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitzero"`
}

func encodeError(e RPCError, id jsontext.Value) []byte {
	code, message, data := e.RPCError()
	if !utf8.ValidString(message) {
		message = "Internal error"
	}
	object := errorObject{Code: code, Message: message}
	// In a fixed order, because users and tests read errors.
	if data != nil {
		if encoded, err := json.Marshal(data, json.Deterministic(true)); err == nil {
			object.Data = encoded
		}
	}
	b, _ := json.Marshal(struct { // always encodes
		Version string         `json:"jsonrpc"`
		Error   errorObject    `json:"error"`
		ID      jsontext.Value `json:"id"` // nil becomes null
	}{"2.0", object, id}, jsontext.PreserveRawStrings(true))
	return b
}

// buffers are for messages on their way into a body.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// withEncoded returns the body that wrap makes of the JSON of a message. wrap must copy this text, because the next
// message has the same buffer.
func withEncoded(message any, wrap func(text jsontext.Value) ([]byte, error)) ([]byte, error) {
	if m, ok := message.(encodedMessage); ok {
		text, err := m.Encoded()
		if err != nil {
			return nil, err
		}
		return wrap(text)
	}
	buffer := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buffer)
	buffer.Reset()
	if err := json.MarshalWrite(buffer, message); err != nil {
		return nil, err
	}
	return wrap(buffer.Bytes())
}

// EncodeRequest makes the body of a call. Its id is an integer, because some agents
// accept no other. An error means that the parameters cannot be encoded.
func EncodeRequest(method string, params any, id int64) ([]byte, error) {
	var digits [len("-9223372036854775808")]byte
	return withEncoded(params, func(text jsontext.Value) ([]byte, error) {
		return RequestBody(method, text, strconv.AppendInt(digits[:0], id, 10))
	})
}

// RequestBody is EncodeRequest for encoded params. A nil id is that of a notification. An error
// means that the method is not UTF-8.
func RequestBody(method string, params, id jsontext.Value) ([]byte, error) {
	b := make([]byte, 0, len(requestHead)+len(method)+len(paramsHead)+len(params)+len(idHead)+len(id)+len("}"))
	b, err := jsontext.AppendQuote(append(b, requestHead[:len(requestHead)-1]...), method)
	if err != nil {
		return nil, err
	}
	b = append(append(b, paramsHead[1:]...), params...)
	if id != nil {
		b = append(append(b, idHead...), id...)
	}
	return append(b, '}'), nil
}

// DecodeResponse reads the response to a call and passes its result to decode. An error
// object becomes an *Error; so does JSON that is no response, with code 0. A body that
// is not JSON becomes another error. A null error beside a result is ignored. The id is
// not compared, because a request has one response, and some agents always send id 1.
func DecodeResponse(body []byte, decode func(result []byte) (any, error)) (any, error) {
	if result, _, ok := cutPlain(body, responseHead); ok && len(result) > 0 && result[0] == '{' {
		if value, err := decode(result); err == nil {
			return value, nil
		}
	}
	answer, err := parse(body)
	if err != nil {
		return nil, err
	}
	if answer.Fail != nil && answer.Fail.Kind() != 'n' {
		return nil, decodeError(answer.Fail)
	}
	if answer.Result == nil {
		return nil, ErrNoResponse
	}
	return decode(answer.Result)
}

// ErrNoResponse is the error of a body that is JSON, but has neither a result nor an error of JSON-RPC.
var ErrNoResponse error = &Error{Message: "the answer is not a JSON-RPC response"}

func decodeError(raw jsontext.Value) error {
	var e errorObject
	if raw.Kind() != '{' || json.Unmarshal(raw, &e) != nil {
		return &Error{Code: CodeInternal, Message: "an error that is not a JSON-RPC error object"}
	}
	out := &Error{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		out.Data = e.Data
	}
	return out
}

// EncodeError is the response to a call that never reached a mux.
func EncodeError(err error) []byte { return encodeError(asRPC(err), nil) }
