package transport

import (
	"errors"
	"slices"
	"syscall"
)

// Exhausted reports whether a call failed because this process or its system has no more sockets,
// memory or ports.
func Exhausted(err error) bool {
	return slices.ContainsFunc(exhaustion(), func(e syscall.Errno) bool { return errors.Is(err, e) })
}
