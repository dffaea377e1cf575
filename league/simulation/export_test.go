package simulation

import "evenodd/league/protocol"

// The keys, for tests that compute a league again.
var (
	Derive = derive
)

// Decorated is the options with a decorator of the caller of each agent.
func Decorated(o Options, decorate func(protocol.Caller) protocol.Caller) Options {
	o.decorate = decorate
	return o
}
