package simulation

// The key of a decision, for tests that recompute a league.
var Derive = derive
