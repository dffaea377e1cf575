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

// Tell tells the guard of a panic, which goes on, if it is deferred. A function needs it whose other deferred functions
// take a lock or wait for goroutines that do: they may wait forever for a lock that is held in the panic, and Of would
// never hear of it.
func (g Guard) Tell() {
	if g == nil {
		return
	}
	if reason := recover(); reason != nil {
		g(reason, debug.Stack())
		panic(reason)
	}
}
