package page_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/league/view/record"
)

// A tape is the journal of a league in testdata, of which a source gives as much as the test has
// played. No match has a transcript unless the test says so.
type tape struct {
	lines      []string
	change     func(*journal.Event)
	transcript func(league.Attempt) (*store.Match, error)

	mu       sync.Mutex
	played   int
	replaced bool // the next call for events says so
	more     chan struct{}
}

func newTape(t testing.TB, name string) *tape {
	folder := record.NewFolder(store.In("../../../testdata/leagues/"+name), "league_2025_even_odd")
	lines, err := folder.Lines(t.Context(), 1)
	require.NoError(t, err)
	return &tape{
		lines: lines, more: make(chan struct{}), change: func(*journal.Event) {},
		transcript: func(league.Attempt) (*store.Match, error) { return nil, page.ErrNotRecorded },
	}
}

// play gives the next events to the board, as many as there are at most.
func (s *tape) play(events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.played = min(s.played+events, len(s.lines))
	close(s.more)
	s.more = make(chan struct{})
}

// replace begins the league again, with some of its events.
func (s *tape) replace(events int) {
	s.mu.Lock()
	s.replaced, s.played = true, 0
	s.mu.Unlock()
	s.play(events)
}

// find returns the number of the first event of a type.
func (s *tape) find(t testing.TB, kind string, which int) int {
	for i, line := range s.lines {
		if strings.Contains(line, `"type":"`+kind+`"`) {
			if which--; which == 0 {
				return i + 1
			}
		}
	}
	require.Fail(t, "no event "+kind)
	return 0
}

func (s *tape) Events(_ context.Context, from int) (events []*journal.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replaced {
		s.replaced = false
		return nil, page.ErrReplaced
	}
	for i := from - 1; i < s.played; i++ {
		e, err := journal.Decode([]byte(s.lines[i]))
		if err != nil {
			return nil, err
		}
		s.change(e)
		events = append(events, e)
	}
	return events, nil
}

func (s *tape) Stopped() bool { return false }

func (s *tape) Wait(ctx context.Context, from int) error {
	for {
		s.mu.Lock()
		enough, more := s.replaced || s.played >= from, s.more
		s.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *tape) Transcript(_ context.Context, at league.Attempt) (*store.Match, error) {
	return s.transcript(at)
}

// A reader is a page that reads a stream.
type reader struct {
	http.Flusher

	header http.Header
	status int
	stop   context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	text  bytes.Buffer
	block chan struct{} // a write waits for it
}

func (r *reader) Header() http.Header    { return r.header }
func (r *reader) WriteHeader(status int) { r.status = status }
func (r *reader) Flush()                 {}

func (r *reader) Write(b []byte) (int, error) {
	if r.block != nil {
		<-r.block
		return 0, io.ErrClosedPipe
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

// take returns what was sent since the last time.
func (r *reader) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.text.Reset()
	return strings.TrimPrefix(r.text.String(), "retry: 2000\n\n")
}

// stream opens a stream.
func (s *server) stream(has string) *reader { return s.open(has, nil) }

// open opens a stream whose reader reads only when block is nil.
func (s *server) open(has string, block chan struct{}) *reader {
	ctx, stop := context.WithCancel(context.Background())
	r := &reader{header: http.Header{}, status: http.StatusOK, stop: stop, done: make(chan struct{}), block: block}
	q := httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", http.NoBody)
	if has != "" {
		q.Header.Set("Last-Event-ID", has)
	}
	go func() {
		defer close(r.done)
		s.ServeHTTP(r, q)
	}()
	return r
}

// close ends a stream.
func (r *reader) close() {
	r.stop()
	<-r.done
}

// id is the last id of a text.
func id(text string) string {
	at := strings.LastIndex(text, "\nid: ")
	if at < 0 {
		return ""
	}
	last, _, _ := strings.Cut(text[at+len("\nid: "):], "\n")
	return last
}

// inBubble runs a test in virtual time with the pages of a tape.
func inBubble(t *testing.T, test func(t *testing.T, s *server, tape *tape)) {
	tape := newTape(t, "finished")
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, tape)
		test(t, s, tape)
	})
}

// watch opens a stream before the first result, until the test ends.
func (s *server) watch(t *testing.T, tape *tape) *reader {
	tape.play(tape.find(t, "match_reported", 1) - 1)
	r := s.stream("")
	t.Cleanup(r.close)
	synctest.Wait()
	return r
}

func TestStreamSendsWhatAnEventChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server, tape *tape) {
		r := s.watch(t, tape)
		first := r.take()
		assert.True(t, strings.HasPrefix(first, "event: update\ndata: "), first)
		assert.Contains(t, first, `<section id="standings"`)
		time.Sleep(2 * time.Second)
		assert.Empty(t, r.take(), "nothing has changed")
		tape.play(1)
		synctest.Wait()
		second := r.take()
		assert.Contains(t, second, "event: update\n")
		assert.NotEqual(t, id(first), id(second))
	})
}

func TestUpdatesAreThrottled(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server, tape *tape) {
		r := s.watch(t, tape)
		r.take()
		started, updates := time.Now(), 0
		for tape.played < len(tape.lines)-5 {
			tape.play(1)
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if r.take() != "" {
				updates++
			}
		}
		assert.Greater(t, updates, 1)
		assert.LessOrEqual(t, updates, 1+int(time.Since(started)/(500*time.Millisecond)))
	})
}

func TestReconnectGetsExactlyWhatChanged(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server, tape *tape) {
		watching := s.watch(t, tape) // keeps the updates going
		has := id(watching.take())

		again := s.stream(has)
		synctest.Wait()
		assert.Empty(t, again.take(), "nothing has changed")
		again.close()

		time.Sleep(time.Second)
		tape.play(1) // a result
		synctest.Wait()
		missed := watching.take()
		again = s.stream(has)
		synctest.Wait()
		assert.Equal(t, missed, again.take())
		again.close()

		unknown := s.stream("7.777")
		synctest.Wait()
		assert.Contains(t, unknown.take(), "event: update\n", "a client with an unknown version gets everything")
		unknown.close()
	})
}

// A page can be newer than the last update. The stream must not take it back.
func TestStreamNeverSendsWhatIsOlderThanThePage(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server, tape *tape) {
		watching := s.watch(t, tape)
		tape.play(1) // within the pause after the first update
		synctest.Wait()
		watching.take()
		tag := s.get("/").Header().Get("ETag")
		_, has, _ := strings.Cut(strings.Trim(tag, `"`), "-")
		r := s.stream(has)
		defer r.close()
		synctest.Wait()
		assert.Empty(t, r.take())
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Empty(t, r.take(), "the page has what the update shows")
		tape.play(tape.find(t, "match_reported", 2) - tape.played)
		synctest.Wait()
		assert.Greater(t, id(r.take()), has)
	})
}

func TestPageThatDoesNotReadDelaysNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server, tape *tape) {
		tape.play(tape.find(t, "match_reported", 1) - 1)
		block := make(chan struct{})
		slow, fast := s.open("", block), s.stream("")
		defer fast.close()
		synctest.Wait()
		assert.NotEmpty(t, fast.take())
		time.Sleep(time.Second)
		tape.play(1)
		synctest.Wait()
		assert.NotEmpty(t, fast.take())
		assert.Equal(t, http.StatusOK, s.get("/").Code)
		close(block)
		<-slow.done // a failed write ends its stream
	})
}

// What pings to an agent meet is no event, and no page waits for the next one.
func TestStreamTellsWhyAgentsCannotBeReached(t *testing.T) {
	tape := newTape(t, "finished")
	tape.change = func(e *journal.Event) {
		if registered, ok := e.Data.(*journal.AgentRegistered); ok {
			registered.AwaitsAnswer = true
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var met atomic.Value
		met.Store("")
		s := serveWith(t, tape, page.Options{Obstacles: func() map[string]string {
			return map[string]string{"P01": met.Load().(string), "REF01": met.Load().(string)}
		}})
		tape.play(tape.find(t, "registered", 2))
		r := s.stream("")
		defer r.close()
		synctest.Wait()
		assert.Contains(t, r.take(), "nothing has answered at its address yet")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Empty(t, r.take(), "nothing has changed")
		met.Store("connection refused at 192.0.2.9:8101")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Contains(t, r.take(), "connection refused at (an address)</bdi>. Nothing listens there")
	})
}

func TestStreamHasHeartbeats(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server, tape *tape) {
		tape.play(3)
		r := s.stream("")
		defer r.close()
		synctest.Wait()
		r.take()
		time.Sleep(31 * time.Second)
		synctest.Wait()
		assert.Equal(t, ":\n\n:\n\n", r.take())
	})
}

func TestStreamEndsWithTheLeague(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server, tape *tape) {
		tape.play(tape.find(t, "completed", 1) - 1)
		r := s.stream("")
		synctest.Wait()
		last := id(r.take())
		time.Sleep(time.Second)
		tape.play(len(tape.lines))
		<-r.done
		end := r.take()
		assert.True(t, strings.HasSuffix(end, "event: over\ndata: over\nid: "+id(end)+"\n\n"), end)
		assert.NotEqual(t, last, id(end))
		again := s.stream("")
		<-again.done
		assert.Equal(t, http.StatusOK, again.status)
		assert.Contains(t, again.take(), "event: over\n")
		last = id(end)
		again = s.stream(last)
		<-again.done
		assert.Equal(t, http.StatusNoContent, again.status, "the client must not ask again")
		assert.Empty(t, again.take())
	})
}

func TestStreamIsRefusedToOtherSites(t *testing.T) {
	s := serveFolder(t, "finished")
	assert.Equal(t, http.StatusForbidden, s.get("/events", "Sec-Fetch-Site", "cross-site").Code)
}
