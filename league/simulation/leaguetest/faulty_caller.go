package leaguetest

import "evenodd/transport"

// NoDescriptors is a local failure of a caller: no file descriptors.
type NoDescriptors struct{}

func (NoDescriptors) Error() string { return "too many open files" }

func (e NoDescriptors) Unwrap() error { return &transport.LocalError{} }
