package protocol

import "context"

// A Caller calls a method at an endpoint and waits for the answer. It is one
// of the two things the protocol needs of whatever carries it.
//
// Bearer is a credential that travels beside the message ("" for none). Params
// is the message as a value; a carrier of bytes encodes it, and gives the
// encoded result to decode, which fails for anything but one JSON value; a carrier of values hands params over as it is,
// and returns what the handler returned. Call returns when there is an answer
// or ctx ends, and is safe for concurrent use. Errors: what the other side
// answered is found by its method RPCError, an endpoint where nobody listens by
// Unreachable, the end of ctx by errors.Is.
type Caller interface {
	Call(ctx context.Context, endpoint, bearer, method string, params any, decode func(result []byte) (any, error)) (any, error)
}

// A Mux holds an agent's handlers by method. A carrier of bytes calls decode on
// the params before handle; a carrier of values gives them to handle directly.
type Mux interface {
	// Handle registers a method. All methods are registered before the first
	// call arrives. Decode fails for anything that is not one whole JSON
	// value: what it takes, nobody reads again.
	Handle(method string, decode func(params []byte) (any, error), handle func(ctx context.Context, bearer string, params any) (any, error))
	// Fallback names the method of a call whose method nobody handles, from
	// its params: []byte from a carrier of bytes, else the value.
	Fallback(resolve func(params any) (method string, ok bool))
	// OnUnread has f called, from any goroutine, with every request that a carrier of
	// bytes refuses because no handler can read it. The method is "" where the request
	// names none.
	OnUnread(f func(ctx context.Context, method string, err error))
}

// A Peer is another agent as a caller sees it: where it is, and the credential
// that proves this side to it, if it wants one.
type Peer struct {
	Endpoint string
	Bearer   string
}
