package simulation

import "evenodd/league/protocol"

// The keys, for tests that recompute a league.
var (
	Derive = derive
)

// Decorated returns the options with a decorator of the caller of each agent.
func Decorated(o Options, decorate func(protocol.Caller) protocol.Caller) Options {
	o.decorate = decorate
	return o
}
