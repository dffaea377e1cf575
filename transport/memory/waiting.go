package memory

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/transport"
)

// A call is one call on its way through the bus. Its caller waits for done alone, because
// a select with the context and a timer costs three times as much. The answer of the
// handler arrives there, or the end of the call before it.
type call struct {
	ctx            context.Context //nolint:containedctx // of the handler; a call in a channel is a parameter list
	bearer, method string
	params         any
	body           []byte           // method and params in wire mode
	response       transport.Answer // in wire mode; valid with an answer of the handler
	done           chan answer      // buffered, so that nobody waits for a caller
	answered       atomic.Bool      // by the handler or by the end of the call, whichever is first

	caller   context.Context  //nolint:containedctx // of the caller
	deadline time.Duration    // since waiting.start; 0 for none
	index    int              // in waiting.calls
	handling *handlerContext  // ctx; nil if ctx is the caller's
	contexts []handlerContext // for this call and later ones, allocated together
}

type answer struct {
	value any
	err   error
	ended error // why the call ended without an answer; nil for an answer
}

// answer sends the caller the first answer. Later ones are dropped.
func (c *call) answer(a answer) {
	if c.answered.CompareAndSwap(false, true) {
		c.done <- a
	}
}

// waiting holds the calls in progress. It ends each call whose deadline passes or whose
// context ends, with one timer for all calls and one function for each context.
type waiting struct {
	start time.Time

	mu      sync.Mutex
	calls   []*call                      // in progress
	idle    []*call                      // answered, for later calls
	watched map[<-chan struct{}]struct{} // the contexts that end their calls, by Done
	timer   *time.Timer                  // nil before the first limit
	next    time.Duration                // when the timer fires; 0 if it is not set
}

// begin returns a call that ends when ctx does, or after the limit if it is not 0.
func (w *waiting) begin(ctx context.Context, limit time.Duration) *call {
	var deadline time.Duration
	if limit != 0 {
		deadline = max(time.Since(w.start)+limit, 1)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.unused()
	c.ctx, c.caller, c.deadline, c.index = ctx, ctx, deadline, len(w.calls)
	w.calls = append(w.calls, c)
	if deadline != 0 {
		w.limit(c)
		if w.next == 0 || deadline < w.next {
			w.wakeAt(deadline, limit)
		}
	}
	w.watch(ctx)
	return c
}

// unused returns a call that is not in progress; w.mu is held.
func (w *waiting) unused() *call {
	last := len(w.idle) - 1
	if last < 0 {
		return &call{done: make(chan answer, 1)}
	}
	c := w.idle[last]
	w.idle = w.idle[:last]
	return c
}

// wakeAt sets the timer; w.mu is held.
func (w *waiting) wakeAt(deadline, left time.Duration) {
	w.next = deadline
	if w.timer == nil {
		w.timer = time.AfterFunc(left, w.expire)
	} else {
		w.timer.Reset(left)
	}
}

// expire ends the calls whose deadline has passed. The timer is rarely set: not for a
// deadline later than the next one, and not when a call ends.
func (w *waiting) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Since(w.start)
	w.next = 0
	for _, c := range w.calls {
		switch {
		case c.deadline == 0:
		case c.deadline <= now:
			c.answer(answer{ended: context.DeadlineExceeded})
		case w.next == 0 || c.deadline < w.next:
			w.next = c.deadline
		}
	}
	if w.next != 0 {
		w.wakeAt(w.next, w.next-now)
	}
}

// watch makes the end of ctx end its calls. Contexts with the same end are watched once;
// w.mu is held.
func (w *waiting) watch(ctx context.Context) {
	done := ctx.Done()
	if done == nil {
		return
	}
	if _, watched := w.watched[done]; watched {
		return
	}
	w.watched[done] = struct{}{}
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watched, done)
		for _, c := range w.calls {
			if c.caller.Done() == done {
				c.answer(answer{ended: c.caller.Err()})
			}
		}
	})
}

// end removes a call, which ended without an answer because of err. If err is nil the
// call is used again; else its handler may still hold it.
func (w *waiting) end(c *call, err error) {
	if c.handling != nil {
		c.handling.end(errors.Is(err, context.DeadlineExceeded) && c.caller.Err() == nil)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	last := len(w.calls) - 1
	w.calls[c.index] = w.calls[last]
	w.calls[c.index].index = c.index
	w.calls[last] = nil
	w.calls = w.calls[:last]
	if err == nil {
		c.ctx, c.caller, c.params, c.body, c.handling = nil, nil, nil, nil, nil
		c.response = transport.Answer{}
		c.answered.Store(false)
		w.idle = append(w.idle, c)
	}
}

// limit gives the handler a context with a deadline. W.mu is held.
func (w *waiting) limit(c *call) {
	const together = 16
	if len(c.contexts) == 0 {
		c.contexts = make([]handlerContext, together)
	}
	c.handling, c.contexts = &c.contexts[0], c.contexts[1:]
	c.handling.Context, c.handling.start, c.handling.deadline = c.caller, &w.start, c.deadline
	c.ctx = c.handling
}

// A handlerContext is the context of a handler whose caller has a limit. It ends
// with the caller's context, and when the caller waits no more. It makes a channel
// only for handlers that ask for Done. It is not used again, because a handler may keep
// it.
type handlerContext struct {
	context.Context //nolint:containedctx // the caller's

	start    *time.Time
	deadline time.Duration // since start

	mu    sync.Mutex
	ended bool // the caller waits no more
	late  bool // its limit was over
	// inner has the Done of the handlerContext
	inner  context.Context //nolint:containedctx // its whole purpose
	cancel context.CancelFunc
}

// Deadline is the end of the limit, or of the caller's context.
func (h *handlerContext) Deadline() (time.Time, bool) {
	deadline := h.start.Add(h.deadline)
	if d, ok := h.Context.Deadline(); ok && d.Before(deadline) {
		return d, true
	}
	return deadline, true
}

// Done is closed when the context ends.
func (h *handlerContext) Done() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inner == nil {
		h.inner, h.cancel = context.WithCancel(h.Context)
		if h.ended {
			h.cancel()
		}
	}
	return h.inner.Done()
}

// Err is why the context has ended; nil while it has not.
func (h *handlerContext) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.late:
		return context.DeadlineExceeded
	case h.Context.Err() != nil:
		return h.Context.Err()
	case h.ended:
		return context.Canceled
	}
	return nil
}

// end ends the context: the limit is over, or the caller waits no more.
func (h *handlerContext) end(late bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.late = true, late
	if h.inner != nil {
		h.cancel()
	}
}
