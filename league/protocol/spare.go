package protocol

import "sync/atomic"

// A Spare is a value that is allocated with the struct that has it, because an allocation for each message takes longer
// than filling it in. It serves once: a message never changes after it is sent. It is safe for concurrent use.
type Spare[T any] struct {
	value T
	taken atomic.Bool
}

// New returns a zero value: the spare one, and after that another one.
func (s *Spare[T]) New() *T {
	if s.taken.Swap(true) {
		return new(T)
	}
	return &s.value
}
