package simulation

import "fmt"

// descriptors is the number of file descriptors that the league needs over HTTP at most,
// besides those of the program: each agent has a listener and gets one broadcast at a
// time, and each match has four calls at a time. Both ends of a connection are here.
func (o *Options) descriptors() int {
	const listener, connection, callsOfMatch = 1, 2, 4
	agents := 1 + o.Referees + o.Players
	return agents*(listener+connection) + o.Concurrency*callsOfMatch*connection
}

// checkDescriptors returns an error if the league over HTTP needs more file descriptors
// than this process may open; 0 is an unknown limit. Without the check the league would
// begin and lose matches.
func (o *Options) checkDescriptors(limit uint64) error {
	const program = 64 // the files, the standard streams and the poller
	need := o.descriptors() + program
	if o.Transport != HTTP || limit == 0 || uint64(need) <= limit { //nolint:gosec // both are positive
		return nil
	}
	return fmt.Errorf("%d players over http need about %d file descriptors, but this process may open %d: raise the limit (ulimit -n %d), or use --transport memory",
		o.Players, need, limit, need)
}
