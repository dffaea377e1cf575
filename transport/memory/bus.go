// Package memory carries calls between agents of one process through channels. In its
// ordinary mode it passes values on unchanged. In wire mode it encodes and decodes them
// by the same codec as a network carrier. It must not depend on the protocol.
package memory

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/transport"
)

// A Bus connects the agents of one process. It is safe for concurrent use.
type Bus struct {
	wire   bool
	lastID atomic.Int64
	calls  sync.Pool // of *call, which answered calls give back

	mu    sync.Mutex                           // held while peers is replaced
	peers atomic.Pointer[map[string]*listener] // by endpoint; replaced, never changed
}

var _ transport.Caller = (*Bus)(nil)

// NewBus makes a bus that passes values on unchanged.
func NewBus() *Bus {
	b := &Bus{}
	b.calls.New = func() any {
		return &call{done: make(chan answer, 1), timer: time.NewTimer(time.Hour)}
	}
	b.peers.Store(&map[string]*listener{})
	return b
}

// NewWireBus makes a bus that encodes every request and response.
func NewWireBus() *Bus {
	b := NewBus()
	b.wire = true
	return b
}

// Listen serves an endpoint with mux until stop is called, which waits for running
// handlers. A second listener of an endpoint gets all new calls.
func (b *Bus) Listen(endpoint string, mux *transport.Mux) (stop func()) {
	l := &listener{mux: mux, wire: b.wire, inbox: make(chan *call)}
	b.change(func(peers map[string]*listener) { peers[endpoint] = l })
	return sync.OnceFunc(func() {
		b.change(func(peers map[string]*listener) {
			if peers[endpoint] == l {
				delete(peers, endpoint)
			}
		})
		l.stop()
	})
}

func (b *Bus) change(edit func(map[string]*listener)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := maps.Clone(*b.peers.Load())
	edit(next)
	b.peers.Store(&next)
}

// Call hands the call to the endpoint's listener and waits for the result. It
// measures no timing, because it neither queues nor connects.
func (b *Bus) Call(ctx context.Context, r transport.Request) (any, *transport.Timing, error) {
	l := (*b.peers.Load())[r.Endpoint]
	if l == nil {
		return nil, nil, &transport.UnreachableError{Endpoint: r.Endpoint}
	}
	c := b.calls.Get().(*call)
	c.ctx, c.bearer, c.method, c.params = ctx, r.Bearer, r.Method, r.Params
	if b.wire {
		body, err := transport.EncodeRequest(r.Method, r.Params, b.lastID.Add(1))
		if err != nil {
			return nil, nil, err
		}
		c.params = body
	}
	var handling *handlerContext
	if r.Limit != 0 {
		handling = &handlerContext{Context: ctx, deadline: time.Now().Add(r.Limit)}
		c.ctx = handling
	}
	if !l.deliver(c) {
		return nil, nil, &transport.UnreachableError{Endpoint: r.Endpoint}
	}
	a, err := c.wait(ctx, r.Limit)
	if handling != nil {
		handling.end(err)
	}
	if err != nil {
		return nil, nil, err // the handler may still hold c
	}
	*c = call{done: c.done, timer: c.timer}
	b.calls.Put(c)
	if b.wire {
		value, err := read(a.value.(transport.Answer), r.Decode)
		return value, nil, err
	}
	return a.value, nil, a.err
}

// read decodes an answer. Its error gets the time to wait that was sent beside it.
func read(answer transport.Answer, decode func([]byte) (any, error)) (any, error) {
	value, err := transport.DecodeResponse(answer.Body, decode)
	if refused, ok := errors.AsType[*transport.Error](err); ok {
		refused.After = answer.RetryAfter
	}
	return value, err
}

type call struct {
	ctx            context.Context //nolint:containedctx // a call in a channel is a parameter list
	bearer, method string
	params         any
	done           chan answer // buffered, so that a worker never waits for a caller that left
	timer          *time.Timer
}

// wait returns the answer, or an error when ctx ends or the limit is over. It uses
// the call's own timer: a context with a timer for every call costs more than the
// call.
func (c *call) wait(ctx context.Context, limit time.Duration) (answer, error) {
	var over <-chan time.Time
	if limit != 0 {
		c.timer.Reset(limit)
		defer c.timer.Stop()
		over = c.timer.C
	}
	select {
	case a := <-c.done:
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-over:
		return answer{}, context.DeadlineExceeded
	}
}

// A handlerContext is the context of a handler whose caller has a limit. It ends
// with the caller's context, and when the caller waits no more. It makes a channel
// only for handlers that ask for Done.
type handlerContext struct {
	context.Context //nolint:containedctx // the caller's

	deadline time.Time

	mu     sync.Mutex
	err    error              // why it has ended; nil while the caller waits
	inner  context.Context    //nolint:containedctx // its Done is the one of this context; nil until the first use
	cancel context.CancelFunc // of inner
}

// Deadline is the end of the limit, or of the caller's context.
func (h *handlerContext) Deadline() (time.Time, bool) {
	if d, ok := h.Context.Deadline(); ok && d.Before(h.deadline) {
		return d, true
	}
	return h.deadline, true
}

// Done is closed when the context ends.
func (h *handlerContext) Done() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inner == nil {
		h.inner, h.cancel = context.WithCancel(h.Context)
		if h.err != nil {
			h.cancel()
		}
	}
	return h.inner.Done()
}

// Err is why the context has ended; nil while it has not.
func (h *handlerContext) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	return h.Context.Err()
}

// end ends the context, because of err, or because the call was answered.
func (h *handlerContext) end(err error) {
	if err == nil {
		err = context.Canceled
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
	if h.cancel != nil {
		h.cancel()
	}
}

type answer struct {
	value any
	err   error
}

// A listener serves one endpoint. It has as many workers as it had calls at once; idle
// workers wait for the next call.
type listener struct {
	mux   *transport.Mux
	wire  bool
	inbox chan *call // nil stops a worker

	mu      sync.Mutex // orders new workers before stop
	stopped bool
	count   int
	workers sync.WaitGroup
}

// deliver passes c to an idle worker, or to a new one. It returns false when the
// listener has stopped.
func (l *listener) deliver(c *call) bool {
	select {
	case l.inbox <- c:
		return true
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	l.count++
	l.workers.Go(func() { l.work(c) })
	return true
}

func (l *listener) work(c *call) {
	for ; c != nil; c = <-l.inbox {
		c.done <- l.answer(c)
	}
}

func (l *listener) answer(c *call) answer {
	if l.wire {
		return answer{value: l.mux.Serve(c.ctx, c.bearer, c.params.([]byte))}
	}
	value, err := l.mux.Dispatch(c.ctx, c.bearer, c.method, c.params)
	return answer{value, err}
}

func (l *listener) stop() {
	l.mu.Lock()
	l.stopped = true
	count := l.count
	l.mu.Unlock()
	for range count {
		l.inbox <- nil // each worker takes one when it is idle
	}
	l.workers.Wait()
}
