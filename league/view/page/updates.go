package page

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// Updates render the fragments after each change of a board, while streams are open: once for
// all of them. They are safe for concurrent use.
type updates struct {
	pages *Pages
	start func()
	end   context.CancelFunc
	done  sync.WaitGroup
	woken chan struct{} // has an element when the first stream was opened

	mu      sync.Mutex
	streams int           // open ones
	current *update       // nil before the first
	recent  []string      // versions of the last updates; the last one belongs to current
	fresh   chan struct{} // closed when current is not older than the first open stream
}

const (
	updatePause     = 500 * time.Millisecond // after an update
	longUpdatePause = time.Second            // with more than fewPlayers
	fewPlayers      = 50
	mostRecent      = 128 // updates that a client can continue from
)

func newUpdates(p *Pages) *updates {
	u := &updates{pages: p, woken: make(chan struct{}, 1)}
	ctx, end := context.WithCancel(context.Background())
	u.end = end
	u.start = sync.OnceFunc(func() { u.done.Go(func() { u.run(ctx) }) })
	return u
}

// close ends the rendering. No stream may be open.
func (u *updates) close() {
	u.end()
	u.done.Wait()
}

// enter opens a stream; leave must follow. It returns the present update, and the number of the
// one that the client has: 0 if the client must get everything. The update is nil if ctx ends.
func (u *updates) enter(ctx context.Context, has string) (now *update, number int) {
	u.start()
	u.mu.Lock()
	if u.streams++; u.streams == 1 {
		u.fresh = make(chan struct{})
		select {
		case u.woken <- struct{}{}:
		default:
		}
	}
	wait := u.fresh
	u.mu.Unlock()
	for wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, 0
		}
		// A page may be newer than the last update. The next one comes soon.
		if now, wait = u.latest(), nil; now.at.before(parseVersion(has)) && now.at.before(u.pages.board.version()) {
			wait = now.next
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if i := slices.Index(u.recent, has); i >= 0 {
		number = u.current.number - (len(u.recent) - 1 - i)
	}
	return u.current, number
}

// leave closes a stream.
func (u *updates) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.streams--
}

func (u *updates) latest() *update {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.current
}

// run renders while streams are open, until ctx ends.
func (u *updates) run(ctx context.Context) {
	var changed <-chan struct{}
	for {
		select {
		case <-u.woken:
		case <-changed:
		case <-ctx.Done():
			return
		}
		u.mu.Lock()
		open := u.streams > 0
		u.mu.Unlock()
		if changed = nil; !open {
			continue
		}
		var pause time.Duration
		changed, pause = u.update()
		if protocol.SystemClock().Sleep(ctx, pause) != nil {
			return
		}
	}
}

// update renders the fragments, if the board has changed since the last time. Changed is closed
// with the next change.
func (u *updates) update() (changed <-chan struct{}, pause time.Duration) {
	var view *overview
	next := &update{number: 1, next: make(chan struct{})}
	pause = updatePause
	before := u.latest()
	same, failed := false, error(nil)
	next.at, changed = u.pages.board.view(func(l *record.League, at version) {
		if same = before != nil && before.at == at; same {
			return
		}
		next.over = l.Completed != nil
		if len(l.Agents) > fewPlayers {
			pause = longUpdatePause
		}
		failed = safely(func() error {
			view = overviewOf(l, u.pages.board.memory.of(l), live)
			return nil
		})
	})
	if same {
		u.publish(before)
		return changed, pause
	}
	if before != nil {
		next.number = before.number + 1
		next.parts = slices.Clone(before.parts)
	}
	if failed != nil {
		u.pages.failed("overview", failed)
	}
	u.pages.renderFragments(next, view)
	next.last = next.since(next.number - 1)
	u.publish(next)
	return changed, pause
}

// publish makes an update the present one.
func (u *updates) publish(next *update) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if before := u.current; before != next {
		u.current = next
		u.recent = append(u.recent, next.at.String())
		if len(u.recent) > mostRecent {
			u.recent = slices.Delete(u.recent, 0, 1)
		}
		if before != nil {
			close(before.next)
		}
	}
	select {
	case <-u.fresh:
	default:
		close(u.fresh)
	}
}

// overEvent tells pages that the league is over: they need no stream any more.
const overEvent = "event: over\ndata: over\n"

// renderFragments renders the fragments of an update, whose parts are those of the one before.
func (p *Pages) renderFragments(u *update, view *overview) {
	names := fragments()
	if u.parts == nil {
		u.parts = make([]part, len(names)+1)
	}
	for i, name := range names {
		if view == nil { // the parts before are the best that there is
			break
		}
		text, err := p.fragmentEvent(name, view)
		if err != nil {
			p.failed(name, err)
			continue
		}
		u.replace(i, text)
	}
	var end []byte // none for a league that has replaced one that was over
	if u.over {
		end = []byte(overEvent)
	}
	u.replace(len(names), end)
}

// replace replaces a part, if it has changed.
func (u *update) replace(i int, event []byte) {
	if !bytes.Equal(event, u.parts[i].event) {
		u.parts[i] = part{u.number, event}
	}
}

// fragmentEvent is a fragment as an event of a stream, without its id.
func (p *Pages) fragmentEvent(name string, view *overview) (event []byte, err error) {
	var text bytes.Buffer
	err = safely(func() error { return p.templates["overview"].ExecuteTemplate(&text, name, view) })
	if err != nil {
		return nil, err
	}
	event = append(event, "event: "+name+"\n"...)
	for line := range bytes.Lines(bytes.TrimSpace(text.Bytes())) {
		event = append(append(event, "data: "...), bytes.TrimRight(line, "\r\n")...)
		event = append(event, '\n')
	}
	return event, nil
}
