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

// A Caller calls a method at an endpoint and waits for the answer, until ctx
// ends. A carrier of bytes encodes params and gives the encoded result to
// decode, which must fail for anything that is not one whole JSON value; a
// carrier of values hands both over as they are. Safe for concurrent use.
type Caller interface {
	Call(ctx context.Context, endpoint, bearer, method string, params any, decode func(result []byte) (any, error)) (any, error)
}

// A Stopwatch is a context that wants to know where the time of a call goes.
// Carriers look whether the context they are given is one, and not at those it
// was made of. Its methods are called one after the other, though not always by
// the goroutine that calls, and never after the call has returned.
//
// A call that fails tells what is known: one that never departed how long it
// queued and tried to connect, one without an answer how long it waited for
// it. The figures that were told last add up to the time of the whole call. The
// memory bus, where nothing is queued and nothing travels, tells nothing.
type Stopwatch interface {
	context.Context

	// Departed: a connection stands and the request begins to be written.
	// Queued is the time spent waiting at this side, for a slot among its
	// connections or for a worker; connecting that for DNS, TCP and TLS. It is
	// told again, counted from the beginning, when a carrier had to turn to
	// another connection.
	Departed(queued, connecting time.Duration)
	// Answered: the answer has been read. Waiting is the time until its first
	// byte, reading that until its last.
	Answered(waiting, reading time.Duration)
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
