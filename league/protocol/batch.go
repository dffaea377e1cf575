package protocol

import "sync"

// batchSize is the number of values that a Batch allocates together.
const batchSize = 8

// A Batch allocates values in groups, because an allocation for each message takes
// longer than filling it in. No value is used again: a group is collected when none of
// its values is reachable. Safe for concurrent use.
type Batch[T any] struct {
	mu   sync.Mutex
	rest []T
}

// New returns a zero value.
func (b *Batch[T]) New() *T {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.rest) == 0 {
		b.rest = make([]T, batchSize)
	}
	v := &b.rest[0]
	b.rest = b.rest[1:]
	return v
}
