package page

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// An audience knows whether browsers load the pages now. It is safe for concurrent use.
type audience struct {
	requests atomic.Int64 // that are answered now, streams included
	last     atomic.Int64 // the end of a request, in nanoseconds of Unix time
}

// counted counts the requests of a handler.
func (a *audience) counted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.requests.Add(1)
		defer func() {
			a.last.Store(time.Now().UnixNano())
			a.requests.Add(-1)
		}()
		next(w, r)
	}
}

const (
	settled  = 2 * time.Second  // that a browser may take from a page to its files and its stream
	farewell = 10 * time.Second // for browsers that read no further
)

// Finish waits until each open page of a league that is over has its end, for 10 s at most. A stream ends with the
// league.
func (p *Pages) Finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for p.audience.requests.Load() > 0 || time.Since(time.Unix(0, p.audience.last.Load())) < settled {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}
