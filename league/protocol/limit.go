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

// Window is Limit for a question whose time belongs to the one who is asked: it
// ends later by what the request has waited at this side, as the carrier tells
// by Departed. It never outlasts its parent.
func Window(parent context.Context, length time.Duration) *Limited {
	l := Limit(parent, length)
	l.movable = true
	return l
}

// A Limited is a context that ends at a deadline, or with its parent. A carrier
// may tell it where the time of its call goes, by Departed and Answered.
type Limited struct {
	context.Context //nolint:containedctx // it is one

	movable bool // what is queued moves the deadline

	mu       sync.Mutex
	deadline time.Time
	extended time.Duration   // by so much the deadline was moved, for all calls
	inner    context.Context //nolint:containedctx // made when somebody waits
	cancel   context.CancelFunc
	timer    *time.Timer // of inner
	err      error       // why it has ended, once that is known; it never changes then

	call *progress // nil while the carrier told nothing
}

// Again is the same window for the next call in it, of which nothing is known
// yet. The call before must be over: its own part is stopped.
func (l *Limited) Again() *Limited {
	l.mu.Lock()
	next := &Limited{Context: l.Context, movable: l.movable, deadline: l.deadline, extended: l.extended}
	l.mu.Unlock()
	l.Stop()
	return next
}

// Deadline is when the context ends. It may be moved, but never back.
func (l *Limited) Deadline() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline, true
}

// Extended is by how much the deadline was moved, for all calls of the window.
func (l *Limited) Extended() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.extended
}

// Limit is what a carrier waits for in place of Done: the end of the parent,
// or the deadline. Who calls Departed while it waits must ask again.
func (l *Limited) Limit() (parent <-chan struct{}, deadline time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Context.Done(), l.deadline
}

// Done is closed when the context ends.
func (l *Limited) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inner == nil {
		ended := l.ended()
		l.inner, l.cancel = context.WithCancel(l.Context)
		if ended != nil {
			l.cancel()
		} else {
			l.timer = time.AfterFunc(time.Until(l.deadline), l.expire)
		}
	}
	return l.inner.Done()
}

// expire ends the context at its deadline, which may have been moved meanwhile.
func (l *Limited) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended() == nil {
		l.timer.Reset(time.Until(l.deadline))
	}
}

// Err says why the context has ended; nil while it has not.
func (l *Limited) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended()
}

// ended is Err while the lock is held. Who waits for Done learns it too.
func (l *Limited) ended() error {
	switch {
	case l.err != nil:
		return l.err
	case l.inner != nil && l.inner.Err() != nil: // it had this end before any other
		l.err = l.inner.Err()
	case l.Context.Err() != nil:
		l.err = l.Context.Err()
	case !time.Now().Before(l.deadline):
		l.err = context.DeadlineExceeded
	}
	if l.err != nil && l.cancel != nil {
		l.cancel()
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
	if l.timer != nil {
		l.timer.Stop()
	}
}
