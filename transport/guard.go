package transport

import "runtime/debug"

// A Guard is told of a panic in a handler or in a goroutine of an agent, with the stack, so that the other agents of
// the process go on. What becomes of the agent is up to the guard: a lock may be held, and the state may be half
// changed. Without a guard, which is nil, a panic of a goroutine ends the process. It must be safe for concurrent use.
type Guard func(reason any, stack []byte)

// Of returns work that tells the guard of its panic and returns. Each goroutine of an agent runs such work.
func (g Guard) Of(work func()) func() {
	if g == nil {
		return work
	}
	return func() {
		defer func() {
			if reason := recover(); reason != nil {
				g(reason, debug.Stack())
			}
		}()
		work()
	}
}
