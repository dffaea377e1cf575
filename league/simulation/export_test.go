package simulation

// The keys, for tests that recompute a league.
var (
	Derive = derive
)
