// Package transport carries calls between agents as JSON-RPC 2.0. It carries,
// and does not understand: a message is a value that can be encoded, nothing
// more. Its rooms are one carrier each.
//
// A carrier joins a Caller to a Mux. The codec here is the same for all
// carriers of bytes: Mux.Serve answers a request body, and EncodeRequest and
// DecodeResponse are its other side.
package transport

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// A Caller calls a method at an endpoint and waits for the result. It is safe for
// concurrent use.
//
// Call returns when the result is there, the limit is over (the error is then
// context.DeadlineExceeded) or ctx ends. The timing is nil when the carrier
// measures none: the memory bus neither queues nor connects.
type Caller interface {
	Call(ctx context.Context, request Request) (result any, timing *Timing, err error)
}

// A Request is one call. Request and Timing are aliases of unnamed types, so that a
// package that does not import this one can declare the same Caller.
type Request = struct {
	Endpoint string
	Bearer   string // credential that travels beside the message; "" for none
	Method   string
	// Params is the message. A carrier of bytes encodes it, and passes the encoded
	// result to Decode, which must fail for anything that is not one whole JSON
	// value. A carrier of values passes params and result on unchanged.
	Params any
	Decode func(result []byte) (any, error)
	Limit  time.Duration // from now; 0 for no limit, negative for one that is over
	// ExtendByQueue adds Timing.Queued to Limit when the request is sent.
	ExtendByQueue bool
}

// A Timing says where the time of a call went. The four parts are consecutive and
// add up to the whole call, without the encoding of the request and the decoding of
// the result. A call that failed has the parts that are known: one that was never
// sent how long it was queued and tried to connect, one without a response how long
// it waited.
type Timing = struct {
	Queued     time.Duration // at this side, for a slot among its connections
	Connecting time.Duration // DNS, TCP and TLS
	Waiting    time.Duration // until the first byte of the response
	Reading    time.Duration // until its last byte
	Departed   time.Time     // when the request began to be written, for the last time; zero when it never was
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
	After   time.Duration // wait so long before the next try; beside the object (HTTP: Retry-After)
	Status  int           // the HTTP status of the response; 0 on other carriers
}

// Error says code and message, and the data if it is a text.
func (e *Error) Error() string {
	text := fmt.Sprintf("JSON-RPC error %d: %s", e.Code, e.Message)
	if data, ok := e.Data.(string); ok {
		text += ": " + data
	}
	return text
}

// RPCError is the error's three parts.
func (e *Error) RPCError() (code int, message string, data any) { return e.Code, e.Message, e.Data }

// RetryAfter is how long to wait before the next try; 0 when nothing was said.
func (e *Error) RetryAfter() time.Duration { return e.After }

// HTTPStatus is the HTTP status of the response; 0 on other carriers.
func (e *Error) HTTPStatus() int { return e.Status }

// An rpcError is any error that knows itself as a JSON-RPC error object.
type rpcError interface {
	error
	RPCError() (code int, message string, data any)
}

// An UnreachableError says that nobody listens at an endpoint.
type UnreachableError struct {
	Endpoint string
	Err      error
}

// Error names the endpoint.
func (e *UnreachableError) Error() string {
	if e.Err == nil {
		return "nobody listens at " + e.Endpoint
	}
	return fmt.Sprintf("nobody listens at %s: %v", e.Endpoint, e.Err)
}

// Unwrap is the cause, if the carrier had one.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Unreachable is true.
func (e *UnreachableError) Unreachable() bool { return true }

// A LocalError is a failure of this side: it has run out of file descriptors,
// of memory or of ports, and the endpoint may be in the best of health.
type LocalError struct{ Err error }

// Error says what is missing.
func (e *LocalError) Error() string { return "this side cannot make connections: " + e.Err.Error() }

// Unwrap is the cause.
func (e *LocalError) Unwrap() error { return e.Err }

// Local is true.
func (e *LocalError) Local() bool { return true }

// A ForbiddenError says that an endpoint is at an address which this side does
// not call.
type ForbiddenError struct {
	Endpoint string
	Address  netip.Addr
}

// Error names endpoint and address.
func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("%s is at %s, an address that must not be called", e.Endpoint, e.Address)
}

// Forbidden is true.
func (e *ForbiddenError) Forbidden() bool { return true }

// retryAfter is how long an error asks its receiver to wait, 0 when it does
// not.
func retryAfter(err error) time.Duration {
	var e interface{ RetryAfter() time.Duration }
	if errors.As(err, &e) {
		return max(0, e.RetryAfter())
	}
	return 0
}

// asRPC turns any error of a handler into a JSON-RPC error object. What the
// handler did not mean for others stays here.
func asRPC(err error) rpcError {
	var e rpcError
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Message: "Internal error"}
}
