package page

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// An audience knows whether browsers load the pages now. It is safe for concurrent use.
type audience struct {
	mu       sync.Mutex
	requests int       // that are answered now, streams included
	last     time.Time // of the end of a request
}

// counted counts the requests of a handler.
func (a *audience) counted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.count(1)
		defer a.count(-1)
		next(w, r)
	}
}

func (a *audience) count(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests += n
	a.last = time.Now()
}

const (
	settled  = 2 * time.Second  // that a browser may take from a page to its files and its stream
	farewell = 10 * time.Second // for browsers that read no further
)

// isLoading tells whether a request is answered now, or another one may follow the last one.
func (a *audience) isLoading() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests > 0 || time.Since(a.last) < settled
}

// Finish waits until each open page of a league that is over has its end, for 10 s at most. A stream ends with the
// league.
func (p *Pages) Finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for p.audience.isLoading() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}
