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
)

// A Caller calls a method at an endpoint and waits for the answer, until ctx
// ends. A carrier of bytes encodes params and gives the encoded result to
// decode, which must fail for anything that is not one whole JSON value; a
// carrier of values hands both over as they are. Safe for concurrent use.
type Caller interface {
	Call(ctx context.Context, endpoint, bearer, method string, params any, decode func(result []byte) (any, error)) (any, error)
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

// Error says code and message.
func (e *Error) Error() string { return fmt.Sprintf("JSON-RPC error %d: %s", e.Code, e.Message) }

// RPCError is the error's three parts.
func (e *Error) RPCError() (code int, message string, data any) { return e.Code, e.Message, e.Data }

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

// asRPC turns any error of a handler into a JSON-RPC error object. What the
// handler did not mean for others stays here.
func asRPC(err error) rpcError {
	var e rpcError
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Message: "Internal error"}
}
