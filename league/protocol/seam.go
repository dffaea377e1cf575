package protocol

import (
	"context"
	"net/netip"
	"time"

	"evenodd/transport"
)

// The seam of package transport, under names that roles may use: they import no carrier.
type (
	// Caller is transport.Caller.
	Caller = transport.Caller
	// CallRequest is transport.Request.
	CallRequest = transport.Request
	// Timing is transport.Timing.
	Timing = transport.Timing
	// Workers is transport.Workers.
	Workers = transport.Workers
	// Guard is transport.Guard.
	Guard = transport.Guard
)

// NewWorkers is transport.NewWorkers.
func NewWorkers(guard Guard) *Workers { return transport.NewWorkers(guard) }

// Milliseconds converts a duration to the form in files and messages, which is rounded to a tenth.
func Milliseconds(d time.Duration) float64 { return transport.Milliseconds(d) }

// FromMilliseconds is the reverse of Milliseconds.
func FromMilliseconds(ms float64) time.Duration { return transport.FromMilliseconds(ms) }

// A Mux holds an agent's handlers by method. A carrier of bytes calls decode on
// the params before handle; a carrier of values passes them to handle directly.
type Mux interface {
	// Handle registers a method. All methods are registered before the first
	// call arrives. Decode fails for anything that is not one whole JSON
	// value, because the carrier does not check that again.
	Handle(method string, decode func(params []byte) (any, error),
		handle func(ctx context.Context, bearer string, params any) (any, error))
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
