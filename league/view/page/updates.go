package page

import (
	"bytes"
	"fmt"
	"sync"
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

// updatePause is the pause after an update.
const updatePause = 500 * time.Millisecond

// An update is what a stream sends of one version of the league: all fragments of the overview.
// Streams share its bytes.
type update struct {
	at   int
	over bool
	text []byte
}

// latest returns the update of the present version; changed is closed when there is another
// version. During the pause after an update it returns that update, with the rest of the pause.
func (u *updates) latest() (now *update, changed <-chan struct{}, pause time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.current != nil {
		at, changed := u.pages.board.View(func(*record.League) {})
		if at == u.current.at {
			return u.current, changed, 0
		}
		if rest := updatePause - time.Since(u.rendered); rest > 0 {
			return u.current, nil, rest
		}
	}
	changed = u.render()
	return u.current, changed, 0
}

// render makes the update of the present version. The caller holds mu.
func (u *updates) render() (changed <-chan struct{}) {
	var html bytes.Buffer
	var failed error
	next := &update{}
	next.at, changed = u.pages.board.View(func(l *record.League) {
		next.over = l.Completed != nil
		failed = safely(func() error {
			return u.pages.templates["overview"].ExecuteTemplate(&html, "live", overviewOf(l, live))
		})
	})
	if failed != nil { // pages keep what they have
		u.pages.failed("overview", failed)
	} else {
		next.text = append(next.text, "event: update\n"...)
		for line := range bytes.Lines(html.Bytes()) {
			next.text = fmt.Appendf(next.text, "data: %s\n", bytes.TrimRight(line, "\r\n"))
		}
	}
	if next.over { // the page needs no stream any more
		next.text = append(next.text, "\nevent: over\ndata: over\n"...)
	}
	next.text = fmt.Appendf(next.text, "id: %d\n\n", next.at)
	u.current, u.rendered = next, time.Now()
	return changed
}
