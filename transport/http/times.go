package http

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"evenodd/transport"
)

// times tells a stopwatch where the time of a call goes. Nil tells nobody.
type times struct {
	stopwatch transport.Stopwatch

	mu       sync.Mutex    // dials and answers come from goroutines of net/http
	sought   time.Time     // when the search for a connection began
	queued   time.Duration // in the searches
	dialled  time.Time     // when a connection began to be made for this call; zero for one that was there
	departed time.Time     // zero until a connection stands
	answered time.Time     // zero until the first byte of the answer
	over     bool
}

// A timesKey is where a dialer finds the times of the call it dials for.
type timesKey struct{}

// timed gives a call times, if its context is a stopwatch; any other context
// costs it nothing.
func timed(ctx context.Context) (context.Context, *times) {
	stopwatch, ok := ctx.(transport.Stopwatch)
	if !ok {
		return ctx, nil
	}
	t := &times{stopwatch: stopwatch, sought: time.Now()}
	return httptrace.WithClientTrace(context.WithValue(ctx, timesKey{}, t), &httptrace.ClientTrace{
		GetConn:              t.seek,
		GotConn:              t.depart,
		GotFirstResponseByte: t.answer,
	}), t
}

// timedDial notes when a dial begins: until then a call waits for a slot among
// the connections to its endpoint.
func timedDial(dial Dialer) Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if t, ok := ctx.Value(timesKey{}).(*times); ok {
			t.mu.Lock()
			t.dialled = time.Now()
			t.mu.Unlock()
		}
		return dial(ctx, network, address)
	}
}

// seek begins the search for a connection; more than once, when one that was
// kept turned out to be closed. What passed since it was found is not counted: it
// was the other side's to say so.
func (t *times) seek(string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.dialled.IsZero() || !t.departed.IsZero() {
		t.sought = time.Now()
	}
	t.dialled, t.departed, t.answered = time.Time{}, time.Time{}, time.Time{}
}

// depart is when a connection was found: the one that was dialled for the call, or
// one that another call has left meanwhile. Either way the time since it was
// dialled was the other side's, which could else make it this side's by letting
// go of the one and not taking up the other.
func (t *times) depart(httptrace.GotConnInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.departed = time.Now()
	t.tellDeparted(t.departed)
}

// tellDeparted tells the time until the departure, or until a call failed
// before it.
func (t *times) tellDeparted(until time.Time) {
	if t.over {
		return
	}
	var connecting time.Duration
	if !t.dialled.IsZero() {
		connecting = until.Sub(t.dialled)
	}
	t.queued += until.Sub(t.sought) - connecting
	t.stopwatch.Departed(t.queued, connecting)
}

func (t *times) answer() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answered = time.Now()
}

// done tells the rest, once.
func (t *times) done() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	now := time.Now()
	switch {
	case t.departed.IsZero():
		t.tellDeparted(now)
	case t.answered.IsZero():
		t.stopwatch.Answered(now.Sub(t.departed), 0)
	default:
		t.stopwatch.Answered(t.answered.Sub(t.departed), now.Sub(t.answered))
	}
	t.over = true
}
