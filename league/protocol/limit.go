package protocol

import (
	"context"
	"sync"
	"time"
)

// Limit is context.WithTimeout for calls. It costs one small allocation where
// nobody asks for Done: a carrier that keeps timers of its own finds the limit
// by the method Limit, and needs no other. Stop releases it; it also ends it.
func Limit(parent context.Context, length time.Duration) *Limited {
	l := &Limited{Context: parent, deadline: time.Now().Add(length)}
	if d, ok := parent.Deadline(); ok && d.Before(l.deadline) {
		l.deadline = d
	}
	return l
}

// A Limited is a context that ends at a deadline, or with its parent.
type Limited struct {
	context.Context //nolint:containedctx // it is one

	deadline time.Time

	mu     sync.Mutex
	inner  context.Context //nolint:containedctx // made when somebody waits
	cancel context.CancelFunc
	err    error // why it has ended, once that is known; it never changes then
}

// Deadline is when the context ends.
func (l *Limited) Deadline() (time.Time, bool) { return l.deadline, true }

// Limit is what a carrier waits for in place of Done: the end of the parent,
// or the deadline.
func (l *Limited) Limit() (parent <-chan struct{}, deadline time.Time) {
	return l.Context.Done(), l.deadline
}

// Done is closed when the context ends.
func (l *Limited) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inner == nil {
		ended := l.ended()
		l.inner, l.cancel = context.WithDeadline(l.Context, l.deadline)
		if ended != nil {
			l.cancel()
		}
	}
	return l.inner.Done()
}

// Err says why the context has ended; nil while it has not.
func (l *Limited) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended()
}

// ended is Err while the lock is held.
func (l *Limited) ended() error {
	switch {
	case l.err != nil:
	case l.inner != nil:
		l.err = l.inner.Err()
	case l.Context.Err() != nil:
		l.err = l.Context.Err()
	case !time.Now().Before(l.deadline):
		l.err = context.DeadlineExceeded
	}
	return l.err
}

// Stop ends the context and releases what it holds.
func (l *Limited) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended() == nil {
		l.err = context.Canceled
	}
	if l.cancel != nil {
		l.cancel()
	}
}
