// Package transport carries calls between agents as JSON-RPC 2.0. Each package in it
// is one carrier, which connects a Caller to a Mux. All carriers of bytes use the codec
// of this package: Mux.Serve on the server's side, EncodeRequest and DecodeResponse on
// the client's.
//
// The package knows no message, only values that can be encoded. It must not depend on
// the protocol, so that other protocols can use it.
package transport

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
)

// A Caller calls a method at an endpoint and waits for the result. It is safe for
// concurrent use.
//
// Call returns when the result is there, the limit is over (the error is then
// context.DeadlineExceeded) or ctx ends. The timing is nil when the carrier
// measures none: the memory bus neither queues nor connects. An error that the other
// side sent has the method RPCError. KindOf says why a call failed.
type Caller interface {
	Call(ctx context.Context, request Request) (result any, timing *Timing, err error)
}

// A Request is one call.
type Request struct {
	Endpoint string
	Bearer   string // credential that travels beside the message; "" for none
	Method   string
	// Params is the message. A carrier of bytes encodes it, and passes the encoded
	// result to Decode, which must fail for anything that is not one whole JSON
	// value. A carrier of values passes params and result on unchanged.
	Params any
	Decode func(result []byte) (any, error)
	// MaxReply is how many bytes the result may have, if that is more than the carrier reads.
	MaxReply int64
	Limit    time.Duration // from now; 0 for no limit, negative for one that is over
	// ExtendByQueue adds Timing.Queued to Limit when the request is sent.
	ExtendByQueue bool
	// Networks are the only ones in which the endpoint may be, against SSRF; nil for all.
	// A carrier without addresses ignores them.
	Networks []netip.Prefix
}

// A Post makes one POST with further headers; nil for none. Its error is that of a POST without a response.
type Post func(ctx context.Context, url string, header map[string]string, body []byte) (Posted, error)

// Posted is the response to a POST.
type Posted struct {
	Status  int
	Session string // the header Mcp-Session-Id; "" for none
	Body    []byte
	Arrived []byte // Body before a dialect translated it; nil for none
}

// Bearer is the bearer credential in a header Authorization, "" for none and for other schemes
// (RFC 6750 §2.1; a scheme is not case-sensitive).
func Bearer(authorization string) string {
	scheme, credential, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return credential
}

// Codes of JSON-RPC 2.0.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// An Error is a JSON-RPC error object. Data is raw JSON when it was received.
type Error struct {
	Code    int
	Message string
	Data    any
}

// A Problem is the data of an Error that says what is wrong with a request.
type Problem struct {
	Detail string `json:"detail"`
}

// Error has code and message, and the data if it is a string or a Problem.
func (e *Error) Error() string {
	text := fmt.Sprintf("JSON-RPC error %d: %s", e.Code, e.Message)
	switch data := e.Data.(type) {
	case string:
		text += ": " + data
	case Problem:
		text += ": " + data.Detail
	}
	return text
}

// RPCError is the error's three parts.
func (e *Error) RPCError() (code int, message string, data any) { return e.Code, e.Message, e.Data }

// An RPCError is an error with the parts of a JSON-RPC error object.
type RPCError interface {
	error
	RPCError() (code int, message string, data any)
}

// retryAfter is how long an error asks its receiver to wait, 0 for not at all.
func retryAfter(err error) time.Duration {
	var e interface{ RetryAfter() time.Duration }
	if errors.As(err, &e) {
		return max(0, e.RetryAfter())
	}
	return 0
}

// asRPC converts any error of a handler to a JSON-RPC error object. The text of an
// error without RPCError is not sent.
func asRPC(err error) RPCError {
	if e, ok := errors.AsType[RPCError](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Message: "Internal error"}
}

// A Timing says where the time of a call went. The four parts are consecutive and
// add up to the whole call, without the encoding of the request and the decoding of
// the result. A call that failed has the parts that are known: one that was never
// sent how long it was queued and tried to connect, one without a response how long
// it waited.
//
// As JSON it has queued_ms, connecting_ms, waiting_ms and reading_ms, rounded to a tenth
// of a millisecond.
type Timing struct {
	Queued     time.Duration // at this side, for a slot among its connections
	Connecting time.Duration // DNS, TCP and TLS
	Waiting    time.Duration // until the first byte of the response
	Reading    time.Duration // until its last byte
	Departed   time.Time     // when the request began to be written, for the last time; zero when it never was
	Body       []byte        // of the response as it arrived, before a dialect translated it; nil without one
}

type timingJSON struct {
	Queued     float64 `json:"queued_ms"`
	Connecting float64 `json:"connecting_ms"`
	Waiting    float64 `json:"waiting_ms"`
	Reading    float64 `json:"reading_ms"`
}

// MarshalJSON writes milliseconds.
func (t Timing) MarshalJSON() ([]byte, error) {
	return json.Marshal(timingJSON{
		Queued: Milliseconds(t.Queued), Connecting: Milliseconds(t.Connecting),
		Waiting: Milliseconds(t.Waiting), Reading: Milliseconds(t.Reading),
	})
}

// UnmarshalJSON reads milliseconds.
func (t *Timing) UnmarshalJSON(raw []byte) error {
	var ms timingJSON
	if err := json.Unmarshal(raw, &ms); err != nil {
		return err
	}
	*t = Timing{
		Queued: FromMilliseconds(ms.Queued), Connecting: FromMilliseconds(ms.Connecting),
		Waiting: FromMilliseconds(ms.Waiting), Reading: FromMilliseconds(ms.Reading),
	}
	return nil
}

// Total is the sum of the four parts.
func (t Timing) Total() time.Duration { return t.Queued + t.Connecting + t.Waiting + t.Reading }

// Milliseconds converts a duration to the form in files and messages: rounded to
// a tenth.
func Milliseconds(d time.Duration) float64 {
	return math.Round(float64(d)/float64(100*time.Microsecond)) / 10
}

// FromMilliseconds is the reverse of Milliseconds.
func FromMilliseconds(ms float64) time.Duration {
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}

// Logged is next with a debug line for every message that it sends or receives, and one for a broadcast. It is next
// itself when log is not at debug level.
func Logged(next Caller, log zerolog.Logger) Caller {
	if log.GetLevel() > zerolog.DebugLevel {
		return next
	}
	return &loggedCaller{next, log}
}

type loggedCaller struct {
	next Caller
	log  zerolog.Logger
}

func (l *loggedCaller) Call(ctx context.Context, r Request) (any, *Timing, error) {
	broadcast, many := r.Params.(interface{ FirstCall() bool })
	switch {
	case !many:
		describe(l.log.Debug(), r.Params).Str("method", r.Method).Str("recipient", r.Endpoint).
			Str("event_type", "MESSAGE_SENT").Msg("sent")
	case broadcast.FirstCall():
		describe(l.log.Debug(), r.Params).Str("method", r.Method).Str("recipient", "all").
			Str("event_type", "MESSAGE_SENT").Msg("sent to all receivers")
	}
	start := time.Now()
	result, timing, err := l.next.Call(ctx, r)
	about, event, text := result, "MESSAGE_RECEIVED", "received the answer"
	if err != nil {
		about, event, text = r.Params, "CALL_FAILED", "failed"
	} else if many { // the acknowledgements of a broadcast are no lines
		return result, timing, nil
	}
	describe(l.log.Debug(), about).Str("method", r.Method).Str("endpoint", r.Endpoint).Dur("took_ms", time.Since(start)).
		Err(err).Str("event_type", event).Msg(text)
	return result, timing, err
}

// describe adds the type and the conversation of a message, but not its content, which
// may contain tokens.
func describe(e *zerolog.Event, value any) *zerolog.Event {
	if v, ok := value.(interface{ Type() string }); ok {
		e = e.Str("message_type", v.Type())
	}
	if v, ok := value.(interface{ Conversation() string }); ok {
		e = e.Str("conversation_id", v.Conversation())
	}
	return e
}
