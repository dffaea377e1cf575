package simulation

// The keys, for tests that compute a league again.
var (
	Derive = derive
)
