package protocol

import (
	"context"
	"net/netip"
	"time"
)

// A Caller calls a method at an endpoint and waits for the result. A carrier
// (HTTP, memory) implements it. Implementations are safe for concurrent use.
//
// A carrier of bytes encodes the params and passes the encoded result to Decode.
// A carrier of values passes the params on unchanged and returns the handler's
// result unchanged.
//
// Call returns when the result is there, the limit is over or ctx ends. The error
// of the limit is context.DeadlineExceeded. An error that the other side sent has
// the method RPCError; an endpoint where nobody listens has the method Unreachable.
// The timing is nil when the carrier measures none.
type Caller interface {
	Call(ctx context.Context, request CallRequest) (result any, timing *CallTiming, err error)
}

// CallRequest is one call. It is an alias of an unnamed type because the package
// transport, which must not be imported here, declares the same interface.
type CallRequest = struct {
	Endpoint string
	Bearer   string // credential that travels beside the message; "" for none
	Method   string
	Params   any                              // the message
	Decode   func(result []byte) (any, error) // fails for anything that is not one JSON value
	Limit    time.Duration                    // from now; 0 for no limit
	// ExtendByQueue adds to Limit the time that the request waits at this side
	// before it is sent, as soon as it is sent.
	ExtendByQueue bool
	// Networks are the only ones in which the endpoint may be, against SSRF; nil for all.
	// A carrier without addresses ignores them.
	Networks []netip.Prefix
}

// CallTiming says where the time of a call went; see Timing.
type CallTiming = struct {
	Queued, Connecting, Waiting, Reading time.Duration
	Departed                             time.Time
	Body                                 []byte
}

// A Mux holds an agent's handlers by method. A carrier of bytes calls decode on
// the params before handle; a carrier of values passes them to handle directly.
type Mux interface {
	// Handle registers a method. All methods are registered before the first
	// call arrives. Decode fails for anything that is not one whole JSON
	// value, because the carrier does not check that again.
	Handle(method string, decode func(params []byte) (any, error), handle func(ctx context.Context, bearer string, params any) (any, error))
	// Fallback names the method of a call whose method is not registered, from
	// its params: []byte from a carrier of bytes, else the value.
	Fallback(resolve func(params any) (method string, ok bool))
	// OnUnread makes a carrier of bytes call f, from any goroutine, for every
	// request that it refuses because no handler can read it, also for one whose
	// method is not registered. The method is "" where the request names none.
	OnUnread(f func(ctx context.Context, method string, err error))
}

// A Peer is another agent as a caller sees it: its endpoint, and the credential
// that proves this side to it ("" if it wants none). An endpoint that another agent chose
// may only be in the networks that this side allows.
type Peer struct {
	Endpoint string
	Bearer   string
	Networks []netip.Prefix // nil for all
}
