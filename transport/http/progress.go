package http

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync"
	"time"

	"evenodd/transport"
)

// A progress is the context of one call. It ends with the caller's context or at the
// deadline, and measures where the time of the call goes. Safe for concurrent use,
// because net/http dials and reads in goroutines of its own.
type progress struct {
	context.Context //nolint:containedctx // cancelled at the deadline

	cancel        context.CancelCauseFunc
	extendByQueue bool
	networks      []netip.Prefix // the only ones to call; nil for all

	trace httptrace.ClientTrace

	mu       sync.Mutex
	deadline time.Time   // zero for none
	timer    *time.Timer // ends the context at the deadline; nil for none
	sought   time.Time   // when the search for a connection began
	dialed   time.Time   // when a connection began to be made for this call; zero for one that was there
	answered time.Time   // when the first byte of the response came; zero until then
	timing   transport.Timing
	finished bool // timing does not change any more
}

// A progressKey is where a dialer finds the progress of the call that it dials for.
type progressKey struct{}

// begin starts the time of a call.
func begin(parent context.Context, limit time.Duration, extendByQueue bool, networks []netip.Prefix) *progress {
	now := time.Now()
	p := &progress{extendByQueue: extendByQueue, networks: networks, sought: now}
	p.trace.GetConn, p.trace.GotConn, p.trace.GotFirstResponseByte = p.seek, p.depart, p.answer
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithCancelCause(parent)
	p.cancel = cancel
	p.Context = httptrace.WithClientTrace(ctx, &p.trace)
	if limit != 0 {
		p.deadline = now.Add(limit)
		p.timer = time.AfterFunc(limit, p.expire)
	}
	return p
}

// Value returns p to the dialer, and else the value of the caller's context.
func (p *progress) Value(key any) any {
	if key == (progressKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// release frees what the context holds.
func (p *progress) release() {
	p.cancel(context.Canceled)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
}

// expire ends the context, unless the deadline has been moved.
func (p *progress) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if left := time.Until(p.deadline); left > 0 {
		p.timer.Reset(left)
		return
	}
	p.cancel(context.DeadlineExceeded)
}

// Deadline is when the context ends. It can move to a later time.
func (p *progress) Deadline() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	end, limited := p.Context.Deadline()
	if !p.deadline.IsZero() && (!limited || p.deadline.Before(end)) {
		return p.deadline, true
	}
	return end, limited
}

// Err is why the context has ended; nil while it has not.
func (p *progress) Err() error {
	err := p.Context.Err()
	if err != nil && errors.Is(context.Cause(p.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// measuredDial notes when a dial begins. Until then a call waits for a slot among
// the connections to its endpoint.
func measuredDial(dial Dialer) Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if p, ok := ctx.Value(progressKey{}).(*progress); ok {
			p.mu.Lock()
			p.dialed = time.Now()
			p.mu.Unlock()
		}
		return dial(ctx, network, address)
	}
}

// seek begins the search for a connection. It happens again when a kept connection
// turns out to be closed. The time since that was found is not counted as queued,
// because the other side closed it.
func (p *progress) seek(string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished {
		return
	}
	if !p.dialed.IsZero() || !p.timing.Departed.IsZero() {
		p.sought = time.Now()
	}
	p.dialed, p.timing.Departed, p.answered = time.Time{}, time.Time{}, time.Time{}
}

// depart notes that a connection was found: the one that was dialed for the call, or
// one that another call has left meanwhile. In both cases the time since the dial
// counts as connecting, not as queued: the other side decides how long a dial takes,
// and could otherwise blame its delay on this side.
func (p *progress) depart(got httptrace.GotConnInfo) {
	p.checkReused(got.Conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished {
		return
	}
	now := time.Now()
	queued := p.countQueued(now)
	p.timing.Departed = now
	if p.extendByQueue && p.timer != nil && queued > 0 && p.Context.Err() == nil {
		p.deadline = p.deadline.Add(queued)
		p.timer.Reset(time.Until(p.deadline))
	}
}

// countQueued measures the time of a search that ends now.
func (p *progress) countQueued(now time.Time) (queued time.Duration) {
	p.timing.Connecting = 0
	if !p.dialed.IsZero() {
		p.timing.Connecting = now.Sub(p.dialed)
	}
	queued = now.Sub(p.sought) - p.timing.Connecting
	p.timing.Queued += queued
	return queued
}

func (p *progress) answer() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = time.Now()
}

// reached tells whether a connection was made, and whether a byte of the response came.
func (p *progress) reached() (connected, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.timing.Departed.IsZero(), !p.answered.IsZero()
}

// finish ends the measurement, and returns it.
func (p *progress) finish() *transport.Timing {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = true
	now := time.Now()
	switch t := &p.timing; {
	case t.Departed.IsZero():
		p.countQueued(now)
	case p.answered.IsZero():
		t.Waiting = now.Sub(t.Departed)
	default:
		t.Waiting, t.Reading = p.answered.Sub(t.Departed), now.Sub(p.answered)
	}
	return &p.timing
}
