package page

import (
	"context"
	"net/http"
	"time"
)

// An update is the fragments of one version of the league. Streams share its bytes.
type update struct {
	number int // from 1
	at     version
	over   bool
	parts  []part
	last   []byte        // the events of the fragments that this update changed
	next   chan struct{} // closed when there is a newer update
}

// A part is a fragment as an event of a stream, without its id.
type part struct {
	changed int // the number of the update
	event   []byte
}

// since returns the events of the fragments that changed after the update with a number. The last
// one has the id, so that a client that misses a part of them asks for all of them again.
func (u *update) since(number int) []byte {
	if number == u.number-1 && u.last != nil {
		return u.last
	}
	var text []byte
	end := 0 // of the last event, before its empty line
	for _, p := range u.parts {
		if p.changed > number && len(p.event) > 0 {
			text = append(text, p.event...)
			end = len(text)
			text = append(text, '\n')
		}
	}
	if end == 0 {
		return nil
	}
	return append(append(append(text[:end], "id: "...), u.at.String()...), "\n\n"...)
}

const (
	heartbeat = 15 * time.Second  // between comments, which show that the stream is open
	retry     = "retry: 2000\n\n" // milliseconds until a client opens a stream again
)

// stream answers GET /events with the fragments that changed since the version that the client
// has, and then with each change. When the league is over, the last event is "over" and the
// stream ends; a client that has everything gets status 204, so that it does not ask again.
func (p *Pages) stream(w http.ResponseWriter, r *http.Request) {
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		http.Error(w, "only pages of this server may open a stream", http.StatusForbidden)
		return
	}
	if p.board.Ready(r.Context()) != nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "the league cannot be shown now", http.StatusServiceUnavailable)
		return
	}
	has := r.Header.Get("Last-Event-ID")
	if has == "" {
		has = r.URL.Query().Get("after")
	}
	defer p.updates.leave()
	u, number := p.updates.enter(r.Context(), has)
	switch {
	case u == nil: // the client or the server has gone
		return
	case u.over && len(u.since(number)) == 0:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a reverse proxy must not wait for more
	if r.Method == http.MethodHead || !send(w, []byte(retry)) {
		return
	}
	p.follow(r.Context(), w, u, number)
}

// follow sends the updates after the one with a number until the client has gone, reads too
// slowly, or has the end of the league.
func (p *Pages) follow(ctx context.Context, w http.ResponseWriter, u *update, number int) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		if text := u.since(number); len(text) > 0 && !send(w, text) {
			return
		}
		if number = u.number; u.over {
			return
		}
		for u.number == number {
			select {
			case <-u.next:
				u = p.updates.latest()
			case <-beat.C:
				if !send(w, []byte(":\n\n")) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// send writes to a stream. The server ends the stream of a client that does not read.
func send(w http.ResponseWriter, text []byte) bool {
	_, err := w.Write(text) //nolint:gosec // html/template has escaped it
	return err == nil && http.NewResponseController(w).Flush() == nil
}
