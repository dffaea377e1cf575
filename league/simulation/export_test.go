package simulation

import (
	"context"

	"evenodd/league/protocol"
	"evenodd/transport"
)

// The key of a decision, for tests that recompute a league.
var Derive = derive

// RunSeen is Run on a network that tells of each message before it delivers it, from any goroutine.
func RunSeen(ctx context.Context, o Options, seen func(protocol.Caller, transport.Request)) (*Result, error) {
	return runBy(ctx, o, func() network { return &seenNetwork{newNetwork(o.Transport), seen} })
}

type seenNetwork struct {
	network
	seen func(protocol.Caller, transport.Request)
}

func (n *seenNetwork) Call(ctx context.Context, r transport.Request) (any, *transport.Timing, error) {
	n.seen(n.network, r)
	return n.network.Call(ctx, r)
}
