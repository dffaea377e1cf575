package memory

import (
	"context"
	"sync"
	"time"

	"evenodd/transport"
)

// A watch tells a stopwatch where the time of a call goes. There is nothing to
// connect here, and nothing to read: a call waits for a worker, then for its
// answer. A nil watch tells nobody.
type watch struct {
	stopwatch transport.Stopwatch
	start     time.Time

	mu    sync.Mutex // the worker may come when the caller has left
	begun time.Time  // zero until a worker has the call
	over  bool
}

func watchOf(ctx context.Context) *watch {
	stopwatch, ok := ctx.(transport.Stopwatch)
	if !ok {
		return nil
	}
	return &watch{stopwatch: stopwatch, start: time.Now()}
}

// departed is told by the worker that has the call.
func (w *watch) departed() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.begun = time.Now()
	w.stopwatch.Departed(w.begun.Sub(w.start), 0)
}

// answered is told by the caller, who has the answer or waits no longer.
func (w *watch) answered() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.begun.IsZero() {
		w.stopwatch.Departed(time.Since(w.start), 0)
		return
	}
	w.stopwatch.Answered(time.Since(w.begun), 0)
}
