package transport

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// A Kind says why a call has no result.
type Kind int

// The kinds of a failed call.
const (
	Unknown     Kind = iota // another error, such as that of TLS
	Failed                  // the other side reports a failure, by a JSON-RPC error
	Refused                 // a response with an HTTP status that is no success, and without a JSON-RPC error
	Unreadable              // a response whose body is no JSON-RPC response, or is too large
	Closed                  // the other side accepted the connection, and closed it without a byte of a response
	Broken                  // the other side accepted the connection, and sent no whole response
	Unreachable             // nobody listens at the endpoint
	Local                   // this side has no file descriptors, memory or ports left; the attempt is void
	Forbidden               // this side does not call the endpoint, because of its address (SSRF) or its subject
	Held                    // this side did not call the endpoint, because the calls before have failed
	Timeout                 // the limit of the call is over: context.DeadlineExceeded
	Canceled                // the caller gave up: context.Canceled
)

// A CallError is a call that failed, with all that its carrier knows about it. The end of a context and the errors of
// handlers in the same process are no CallErrors; KindOf has their kinds, too.
type CallError struct {
	Kind     Kind
	Endpoint string        // Unreachable, Forbidden, Held; "" from a dialer
	Address  netip.Addr    // Forbidden: of the endpoint; zero on carriers without addresses
	Status   int           // of HTTP; 0 without a response, and on other carriers
	After    time.Duration // for which the other side asks to wait; 0 for none
	Vacant   bool          // Refused: the server has no agent at this path
	Foreign  bool          // the answer is that of another program than an agent, and stays so; Unreadable ones are, too
	Err      error         // the cause; an *Error if Failed
}

// Error describes the failure. An endpoint that is reached is not named.
func (e *CallError) Error() string {
	switch e.Kind {
	case Closed:
		return "connection closed without an answer"
	case Local:
		return "this side cannot make connections: " + e.Err.Error()
	case Unreachable:
		if e.Err == nil {
			return "nobody listens at " + e.Endpoint
		}
		return fmt.Sprintf("nobody listens at %s: %v", e.Endpoint, e.Err)
	case Forbidden:
		switch {
		case !e.Address.IsValid():
			return e.Endpoint + " is an endpoint that must not be called"
		case e.Endpoint == "":
			return e.Address.String() + " is an address that must not be called"
		}
		return fmt.Sprintf("%s is at %s, an address that must not be called", e.Endpoint, e.Address)
	case Held:
		return fmt.Sprintf("%s has failed too often; %v", e.Endpoint, e.Err)
	}
	return e.Err.Error()
}

// Unwrap is the cause; nil for none.
func (e *CallError) Unwrap() error { return e.Err }

// RetryAfter is the time to wait before a retry; 0 when none was given.
func (e *CallError) RetryAfter() time.Duration { return e.After }

// KindOf says why a call failed.
func KindOf(err error) Kind {
	e, failed := errors.AsType[*CallError](err)
	switch {
	case failed:
		return e.Kind
	case is[RPCError](err):
		return Failed
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Canceled
	}
	return Unknown
}

// StatusOf returns the HTTP status of the response to a failed call; 0 without one, and on other carriers.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*CallError](err); ok {
		return e.Status
	}
	return 0
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
