package page_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/store"
	"evenodd/league/view/page"
)

// A changer is a tape that another league can replace.
type changer struct {
	*tape

	replaced bool // the next call says so
	read     []league.Attempt
	names    func(name string) string
}

func (s *changer) Events(ctx context.Context, from int) ([]*journal.Event, error) {
	if s.replaced {
		s.replaced = false
		return nil, page.ErrReplaced
	}
	events, err := s.tape.Events(ctx, from)
	for _, e := range events {
		if d, ok := e.Data.(*journal.AgentRegistered); ok && s.names != nil {
			d.DisplayName = s.names(d.DisplayName)
		}
	}
	return events, err
}

func (s *changer) Transcript(_ context.Context, at league.Attempt, _ string) (*store.Match, error) {
	s.read = append(s.read, at)
	return &store.Match{}, nil
}

// replace begins the league again, with other names and some of its events.
func (s *changer) replace(events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = func(name string) string { return "New " + name }
	s.replaced, s.played = true, events
	close(s.more)
	s.more = make(chan struct{})
}

func (s *changer) Wait(ctx context.Context, from int) error {
	s.mu.Lock()
	ready, more := s.replaced || s.played >= from, s.more
	s.mu.Unlock()
	if ready {
		return nil
	}
	select {
	case <-more:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A league that replaces another one shows nothing of it, also if it has as many rounds.
func TestLeagueThatReplacesAnotherShowsItsOwnNumbers(t *testing.T) {
	source := &changer{tape: newTape(t, "finished", "league_2025_even_odd")}
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, source)
		source.play(len(source.lines))
		require.NotContains(t, s.get("/statistics").Body.String(), "New ")
		source.replace(len(source.lines))
		synctest.Wait()
		assert.Contains(t, s.get("/statistics").Body.String(), "New ")
	})
}

func TestStreamOfALeagueThatReplacesOneThatIsOverStaysOpen(t *testing.T) {
	source := &changer{tape: newTape(t, "finished", "league_2025_even_odd")}
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, source)
		source.play(len(source.lines))
		over := s.stream("")
		<-over.done
		require.Contains(t, over.take(), "event: over\n")
		source.replace(source.find(t, "completed", 1) - 1)
		synctest.Wait()
		time.Sleep(time.Second)
		r := s.stream("")
		defer r.close()
		synctest.Wait()
		text := r.take()
		assert.Contains(t, text, "event: update\n")
		assert.NotContains(t, text, "event: over\n")
	})
}

// A slowSource reads a transcript until it may go on.
type slowSource struct {
	*tape

	reading int // at once
	most    int
	next    chan struct{}
}

func (s *slowSource) Transcript(context.Context, league.Attempt, string) (*store.Match, error) {
	s.mu.Lock()
	s.reading++
	s.most = max(s.most, s.reading)
	s.mu.Unlock()
	<-s.next
	s.mu.Lock()
	s.reading--
	s.mu.Unlock()
	return &store.Match{}, nil
}

// Transcripts cost the processor that the agents of the league need, too.
func TestManyRequestsReadFewTranscriptsAtOnce(t *testing.T) {
	source := &slowSource{tape: newTape(t, "finished", "league_2025_even_odd"), next: make(chan struct{})}
	synctest.Test(t, func(t *testing.T) {
		source.next = make(chan struct{})
		s := serve(t, source)
		source.play(len(source.lines))
		for range 20 {
			go s.get("/matches/R1M1")
		}
		synctest.Wait()
		assert.Equal(t, 2, source.most)
		close(source.next)
		synctest.Wait()
		assert.Equal(t, 2, source.most)
		assert.Equal(t, http.StatusOK, s.get("/agents").Code)
	})
}

// Reasons are texts of third-party referees, which can name the endpoint of an agent.
func TestNoPageShowsAnAddressInAReason(t *testing.T) {
	tape := newTape(t, "half_played", "league_2025_even_odd")
	for i, line := range tape.lines {
		if strings.Contains(line, `"type":"match_reported"`) {
			tape.lines[i] = withReason(t, line, "no answer of http://10.9.8.7:8101/mcp, 10.9.8.7:8101")
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, tape)
		tape.play(len(tape.lines))
		shown := 0
		for path, text := range s.crawl(starts()...) {
			assert.NotContains(t, text, "10.9.8.7", path)
			shown += strings.Count(text, "(an address)")
		}
		assert.Positive(t, shown)
	})
}

// withReason makes an event a technical loss without faults, with a reason.
func withReason(t *testing.T, line, reason string) string {
	e, err := journal.Decode([]byte(line))
	require.NoError(t, err)
	d := e.Data.(*journal.MatchReported)
	d.Reason, d.Faults = reason, nil
	text, err := journal.Encode(e)
	require.NoError(t, err)
	return string(text)
}
