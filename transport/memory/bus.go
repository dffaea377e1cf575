// Package memory carries calls between agents of one process through channels. In its
// ordinary mode it passes values on unchanged. In wire mode it encodes and decodes them
// by the same codec as a network carrier. It must not depend on the protocol.
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
	wire    bool
	lastID  atomic.Int64
	waiting *waiting

	peers sync.Map // *listener by endpoint
}

var _ transport.Caller = (*Bus)(nil)

// NewBus makes a bus that passes values on unchanged.
func NewBus() *Bus {
	return &Bus{waiting: &waiting{start: time.Now(), watched: map[<-chan struct{}]struct{}{}}}
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
	b.peers.Store(endpoint, l)
	return sync.OnceFunc(func() {
		b.peers.CompareAndDelete(endpoint, l)
		l.stop()
	})
}

// Call hands the call to the endpoint's listener and waits for the result. It
// measures no timing, because it neither queues nor connects. An endpoint without a listener
// is transport.Unreachable.
func (b *Bus) Call(ctx context.Context, r transport.Request) (any, *transport.Timing, error) {
	peer, ok := b.peers.Load(r.Endpoint)
	if !ok {
		return nil, nil, &transport.CallError{Kind: transport.Unreachable, Endpoint: r.Endpoint}
	}
	l := peer.(*listener)
	var body []byte
	if b.wire {
		var err error
		if body, err = transport.EncodeRequest(r.Method, r.Params, b.lastID.Add(1)); err != nil {
			return nil, nil, err
		}
	}
	c := b.waiting.begin(ctx, r.Limit)
	c.bearer, c.method, c.params, c.body = r.Bearer, r.Method, r.Params, body
	if !l.deliver(c) {
		unreachable := &transport.CallError{Kind: transport.Unreachable, Endpoint: r.Endpoint}
		b.waiting.end(c, unreachable)
		return nil, nil, unreachable
	}
	a := <-c.done
	if a.ended != nil {
		b.waiting.end(c, a.ended)
		return nil, nil, a.ended
	}
	response := c.response
	b.waiting.end(c, nil)
	if b.wire {
		value, err := read(response, r.Decode)
		return value, nil, err
	}
	return a.value, nil, a.err
}

// read decodes an answer. Its error gets the time to wait that was sent beside it.
func read(answer transport.Answer, decode func([]byte) (any, error)) (any, error) {
	value, err := transport.DecodeResponse(answer.Body, decode)
	if refused, ok := errors.AsType[*transport.Error](err); ok && answer.RetryAfter > 0 {
		err = &transport.CallError{Kind: transport.Failed, After: answer.RetryAfter, Err: refused}
	}
	return value, err
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
	transport.GrowStack()
	for ; c != nil; c = <-l.inbox {
		c.answer(l.handle(c))
	}
}

func (l *listener) handle(c *call) answer {
	if l.wire {
		c.response = l.mux.Serve(c.ctx, c.bearer, c.body)
		return answer{}
	}
	value, err := l.mux.Dispatch(c.ctx, c.bearer, c.method, c.params)
	return answer{value: value, err: err}
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
