// Package memory carries calls between agents of one process. In its ordinary mode it
// passes values on unchanged. In wire mode it encodes and decodes them by the same codec
// as a network carrier. It must not depend on the protocol.
package memory

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/transport"
)

// A Bus connects the agents of one process. It is safe for concurrent use.
type Bus struct {
	wire   bool
	lastID atomic.Int64
	start  time.Time // a time since then is faster to read than a time

	peers sync.Map // *listener by endpoint
}

var _ transport.Caller = (*Bus)(nil)

// NewBus makes a bus that passes values on unchanged.
func NewBus() *Bus { return &Bus{start: time.Now()} }

// NewWireBus makes a bus that encodes every request and response.
func NewWireBus() *Bus { return &Bus{wire: true, start: time.Now()} }

// Listen serves an endpoint with mux until stop is called, which waits for running
// handlers. A second listener of an endpoint gets all new calls. Handlers of a prompt mux
// (see transport.Mux.SetPrompt) run in the goroutines of their callers.
func (b *Bus) Listen(endpoint string, mux *transport.Mux) (stop func()) {
	l := &listener{mux: mux, bus: b, workers: transport.NewWorkers(nil)}
	b.peers.Store(endpoint, l)
	return sync.OnceFunc(func() {
		b.peers.CompareAndDelete(endpoint, l)
		l.stop()
	})
}

// Call has the endpoint's listener handle the call, and waits for the result. It
// measures no timing, because it neither queues nor connects. An endpoint without a listener
// is transport.Unreachable.
func (b *Bus) Call(ctx context.Context, r transport.Request) (any, *transport.Timing, error) {
	l, ok := b.reach(r.Endpoint)
	if !ok {
		return nil, nil, &transport.CallError{Kind: transport.Unreachable, Endpoint: r.Endpoint}
	}
	defer l.running.Done()
	var body []byte
	if b.wire {
		var err error
		if body, err = transport.EncodeRequest(r.Method, r.Params, b.lastID.Add(1)); err != nil {
			return nil, nil, err
		}
	}
	var a answer
	var ended error
	if l.mux.Prompt() {
		a, ended = l.callHere(ctx, r, body)
	} else {
		a, ended = l.call(ctx, r, body)
	}
	switch {
	case ended != nil:
		return nil, nil, ended
	case b.wire:
		value, err := read(a.encoded, r.Decode)
		return value, nil, err
	}
	return a.value, nil, a.err
}

// reach returns the listener of an endpoint, with one running call more.
func (b *Bus) reach(endpoint string) (l *listener, ok bool) {
	peer, ok := b.peers.Load(endpoint)
	if !ok {
		return nil, false
	}
	l = peer.(*listener)
	ok = l.begin()
	return l, ok
}

// read decodes an answer. Its error gets the time to wait that was sent beside it.
func read(answer transport.Answer, decode func([]byte) (any, error)) (any, error) {
	value, err := transport.DecodeResponse(answer.Body, decode)
	if refused, ok := errors.AsType[*transport.Error](err); ok && answer.RetryAfter > 0 {
		err = &transport.CallError{Kind: transport.Failed, After: answer.RetryAfter, Err: refused}
	}
	return value, err
}

// A listener serves one endpoint.
type listener struct {
	mux     *transport.Mux
	bus     *Bus
	workers *transport.Workers // of handlers that are not prompt

	mu       sync.Mutex // orders new calls before stop
	stopped  bool
	running  sync.WaitGroup   // calls, and handlers that outlast them
	contexts []limitedContext // for later calls, allocated together
}

// An answer is what a handler returned.
type answer struct {
	value   any
	err     error
	encoded transport.Answer // both in wire mode
}

// begin counts a call. It returns false when the listener has stopped.
func (l *listener) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		l.running.Add(1)
	}
	return !l.stopped
}

func (l *listener) stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.running.Wait()
	l.workers.Stop()
}

func (l *listener) handle(ctx context.Context, r transport.Request, body []byte) (a answer) {
	if l.bus.wire {
		a.encoded = l.mux.Serve(ctx, r.Bearer, body)
	} else {
		a.value, a.err = l.mux.Dispatch(ctx, r.Bearer, r.Method, r.Params)
	}
	return a
}

// call runs the handler on a worker, and returns why the call has ended before the handler.
func (l *listener) call(ctx context.Context, r transport.Request, body []byte) (a answer, ended error) {
	var cancel context.CancelFunc
	if r.Limit == 0 {
		ctx, cancel = context.WithCancel(ctx)
	} else {
		ctx, cancel = context.WithTimeout(ctx, r.Limit)
	}
	defer cancel()
	done := make(chan answer, 1) // nobody may wait for it
	l.running.Add(1)
	l.workers.Start(func() {
		defer l.running.Done()
		done <- l.handle(ctx, r, body)
	})
	select {
	case a = <-done:
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

// callHere runs the handler in this goroutine. If the end of its context ended the handler, the call has
// ended, too. An answer that is late because this process stalls is an answer all the same.
func (l *listener) callHere(ctx context.Context, r transport.Request, body []byte) (a answer, ended error) {
	if r.Limit == 0 {
		a = l.handle(ctx, r, body)
		return a, ctx.Err()
	}
	limited := l.limit(ctx, time.Since(l.bus.start)+r.Limit)
	a = l.handle(limited, r, body)
	return a, limited.end()
}

// limit returns a context that ends at a deadline.
func (l *listener) limit(ctx context.Context, deadline time.Duration) *limitedContext {
	const together = 16
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.contexts) == 0 {
		l.contexts = make([]limitedContext, together)
	}
	c := &l.contexts[0]
	l.contexts = l.contexts[1:]
	c.Context, c.bus, c.deadline = ctx, l.bus, deadline
	return c
}

// A limitedContext is the context of a handler whose caller waits until a deadline. It is a
// context.WithDeadline that sets a timer only for a handler that looks at it: few do. It is not
// used again, because a handler may keep it.
type limitedContext struct {
	context.Context //nolint:containedctx // the caller's

	bus      *Bus
	deadline time.Duration // since bus.start

	mu     sync.Mutex
	inner  context.Context //nolint:containedctx // with the deadline; nil until a handler looks
	cancel context.CancelFunc
	ended  bool // the call has
}

// timed returns the context with the deadline.
func (c *limitedContext) timed() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithDeadline(c.Context, c.bus.start.Add(c.deadline))
		if c.ended {
			c.cancel()
		}
	}
	return c.inner
}

// Deadline is the end of the limit, or of the caller's context.
func (c *limitedContext) Deadline() (time.Time, bool) { return c.timed().Deadline() }

// Done is closed when the context ends.
func (c *limitedContext) Done() <-chan struct{} { return c.timed().Done() }

// Err is why the context has ended; nil while it has not.
func (c *limitedContext) Err() error { return c.timed().Err() }

// end ends the context, when its handler has returned. It returns why the context had ended before; nil if it had not.
func (c *limitedContext) end() (before error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.inner == nil {
		return c.Context.Err()
	}
	before = c.inner.Err()
	c.cancel()
	return before
}
