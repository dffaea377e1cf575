package page

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/view/record"
)

// Updates render the overview after changes of a board, once for all streams. They are safe for
// concurrent use.
type updates struct {
	pages *Pages

	mu       sync.Mutex
	current  *update // nil before the first
	rendered time.Time
}

const (
	updatePause = 500 * time.Millisecond // after an update
	silentPause = 2 * time.Second        // between two looks at what pings to silent agents meet, which is no event
)

// An update is what a stream sends of one version of the league: all fragments of the overview.
// Streams share its bytes.
type update struct {
	at     int
	over   bool
	silent bool // there are agents that have not answered
	text   []byte
}

// latest returns the update of the present version; changed is closed when there is another
// version. During the pause after an update it returns that update, with the rest of the pause.
// So it does while agents have not answered.
func (u *updates) latest() (now *update, changed <-chan struct{}, pause time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.current != nil {
		at, changed := u.pages.board.View(func(*record.League) {})
		switch age := time.Since(u.rendered); {
		case at == u.current.at && !u.current.silent:
			return u.current, changed, 0
		case at == u.current.at && age < silentPause:
			return u.current, changed, silentPause - age
		case age < updatePause:
			return u.current, nil, updatePause - age
		}
	}
	if changed = u.render(); u.current.silent {
		pause = silentPause
	}
	return u.current, changed, pause
}

// render makes the update of the present version. The caller holds mu.
func (u *updates) render() (changed <-chan struct{}) {
	var html bytes.Buffer
	next := &update{}
	next.at, changed = u.pages.board.View(func(l *record.League) { next.over = l.Completed != nil })
	failed := safely(func() error {
		v := u.pages.board.overview(nil, live) // perhaps of a later version, whose update follows
		next.silent = v.Standings.Crowd != nil && len(v.Standings.Crowd.Silent) > 0
		return u.pages.templates["overview"].ExecuteTemplate(&html, "live", v)
	})
	if failed != nil { // pages keep what they have
		u.pages.failed("overview", failed)
	} else {
		next.text = appendUpdate(next.text, html.Bytes())
	}
	if next.over { // the page needs no stream any more
		next.text = append(next.text, eventOver...)
	}
	next.text = fmt.Appendf(next.text, "id: %d\n\n", next.at)
	if u.rendered = time.Now(); u.current == nil || !bytes.Equal(next.text, u.current.text) {
		u.current = next
	}
	return changed
}

const (
	heartbeat = 15 * time.Second  // between comments, which show that the stream is open
	retry     = "retry: 2000\n\n" // milliseconds until a client opens a stream again
	eventOver = "\nevent: over\ndata: over\n"
)

// appendUpdate appends the event with a part of a page.
func appendUpdate(text, html []byte) []byte {
	text = append(text, "event: update\n"...)
	for line := range bytes.Lines(html) {
		text = fmt.Appendf(text, "data: %s\n", bytes.TrimRight(line, "\r\n"))
	}
	return text
}

// foreign refuses a stream for the page of another server.
func foreign(w http.ResponseWriter, r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "cross-site" && site != "same-site" {
		return false
	}
	http.Error(w, "only pages of this server may open a stream", http.StatusForbidden)
	return true
}

// begin begins a stream with the time until a client opens it again. It returns false if nothing may follow.
func begin(w http.ResponseWriter, r *http.Request, retry string) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a reverse proxy must not wait for more
	return r.Method != http.MethodHead && send(w, []byte(retry))
}

// stream answers GET /events with an update if the client has an earlier version, and then after
// each change. When the league is over, the last event is "over" and the
// stream ends; a client that has everything gets status 204, so that it does not ask again.
func (p *Pages) stream(w http.ResponseWriter, r *http.Request) {
	if foreign(w, r) {
		return
	}
	if p.board.Ready(r.Context()) != nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "the league cannot be shown now", http.StatusServiceUnavailable)
		return
	}
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		id = r.URL.Query().Get("after")
	}
	has, err := strconv.Atoi(id)
	if at, _ := p.board.View(func(*record.League) {}); err != nil || has > at {
		has = 0 // of another server
	}
	if u, _, _ := p.updates.latest(); u.over && u.at == has {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if begin(w, r, retry) {
		p.follow(r.Context(), w, has)
	}
}

// follow sends the updates after a version until the client has gone, reads too slowly, or has the
// end of the league.
func (p *Pages) follow(ctx context.Context, w http.ResponseWriter, has int) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	var sent *update
	for {
		u, changed, pause := p.updates.latest()
		// Else the page is newer than the last update. What pings have met has no version.
		if u.at > has || u.at == has && u.silent && u != sent {
			sent = u
			if !send(w, u.text) {
				return
			}
			if has = u.at; u.over {
				return
			}
		}
		var over <-chan time.Time
		if pause > 0 {
			over = time.After(pause)
		}
		select {
		case <-changed:
		case <-over:
		case <-beat.C:
			if !send(w, []byte(":\n\n")) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// send writes to a stream. The server ends the stream of a client that does not read.
func send(w http.ResponseWriter, text []byte) bool {
	_, err := w.Write(text)
	return err == nil && http.NewResponseController(w).Flush() == nil
}

// An audience knows whether browsers load the pages now. It is safe for concurrent use.
type audience struct {
	requests atomic.Int64 // being answered, streams included
	last     atomic.Int64 // the end of a request, in nanoseconds of Unix time
}

// counted counts the requests of a handler. A page that is complete asks only whether the server is there, with HEAD.
func (a *audience) counted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			a.requests.Add(1)
			defer func() {
				a.last.Store(time.Now().UnixNano())
				a.requests.Add(-1)
			}()
		}
		next(w, r)
	}
}

const (
	settled  = 2 * time.Second  // that a browser may take from a page to its files and its stream
	farewell = 10 * time.Second // for browsers that read no further
)

// Finish waits until each open page of a league that is over has its end, for 10 s at most. A stream ends with the
// league.
func (p *Pages) Finish(ctx context.Context) { p.audience.finish(ctx) }

// finish waits until no request is being answered, and none has been for a while, for 10 s at most.
func (a *audience) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for a.requests.Load() > 0 || time.Since(time.Unix(0, a.last.Load())) < settled {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
