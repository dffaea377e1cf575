package page_test

import (
	"context"
	"html"
	"net/http"
	"regexp"
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

// secret marks everything that no page may contain.
const secret = "SECRET-7f3a"

// A leakyTape is a tape whose events have a secret in each member that journal.Public removes,
// and that has a transcript of each attempt.
type leakyTape struct {
	*tape

	t        *testing.T
	recorded map[league.MatchID]bool // by the events that were played
}

func (s *leakyTape) Events(ctx context.Context, from int) ([]*journal.Event, error) {
	events, err := s.tape.Events(ctx, from)
	for _, e := range events {
		switch d := e.Data.(type) {
		case *journal.Created:
			d.Simulation = &journal.Simulation{Strategies: []string{secret}, Faults: secret}
		case *journal.AgentRegistered:
			d.Endpoint, d.Registration = "http://"+secret+"/mcp", secret
		case *journal.AgentReturned:
			d.Endpoint = "http://" + secret + "/mcp"
		case *journal.AgentFailed:
			d.Reason = secret
		case *journal.MatchDeclined:
			d.Reason = secret
		case *journal.AttemptLost:
			d.Reason, d.Report = secret, &journal.MatchReported{Result: league.Result{Reason: secret}}
		case *journal.MatchReported:
			s.recorded[d.MatchID] = true
		}
	}
	return events, err
}

// Transcript must not be called for a match without a recorded result.
func (s *leakyTape) Transcript(_ context.Context, at league.Attempt) (*store.Match, error) {
	assert.True(s.t, s.recorded[at.MatchID], "a page asks for the transcript of %v", at)
	return nil, page.ErrNotRecorded
}

var linked = regexp.MustCompile(`(?:href|action|src|hx-get)="(/[^"]*)"`)

// crawl visits all pages of this server that links lead to, from some paths on, and returns their
// texts by path.
func (s *server) crawl(paths ...string) map[string]string {
	s.t.Helper()
	texts := map[string]string{}
	for len(paths) > 0 {
		path := paths[0]
		paths = paths[1:]
		path, _, _ = strings.Cut(path, "#")
		if _, seen := texts[path]; seen || strings.HasPrefix(path, "/assets/") {
			continue
		}
		r := s.get(path)
		assert.Less(s.t, r.Code, http.StatusInternalServerError, path)
		texts[path] = r.Body.String()
		for _, found := range linked.FindAllStringSubmatch(r.Body.String(), -1) {
			paths = append(paths, html.UnescapeString(found[1]))
		}
	}
	return texts
}

// starts are the paths that every league has, also where no link leads: of matches that have not
// been played, and of all attempts.
func starts() []string {
	paths := []string{"/", "/cross", "/agents", "/statistics"}
	for _, id := range []string{"R1M1", "R1M2", "R2M1", "R3M2"} {
		paths = append(paths, "/matches/"+id, "/matches/"+id+"?attempt=1", "/matches/"+id+"?attempt=2")
	}
	for _, id := range []string{"P01", "P02", "P03", "P04", "REF01"} {
		paths = append(paths, "/players/"+id, "/agents/"+id)
	}
	return paths
}

// No page and no event has what journal.Public removes, nor the transcript of a match without a
// result, at any time of a league.
func TestHiddenMembersReachNoPage(t *testing.T) {
	for _, name := range []string{"finished", "half_played"} {
		t.Run(name, func(t *testing.T) {
			tape := newTape(t, name, "league_2025_even_odd")
			synctest.Test(t, func(t *testing.T) {
				leaky := &leakyTape{tape: tape, t: t, recorded: map[league.MatchID]bool{}}
				s := serve(t, leaky)
				tape.play(1)
				synctest.Wait()
				r := s.stream("")
				defer r.close()
				pages := 0
				for step := 0; ; step++ {
					synctest.Wait()
					for path, text := range s.crawl(starts()...) {
						pages++
						assert.NotContains(t, text, secret, "%s after event %d", path, tape.played)
					}
					if tape.played == len(tape.lines) {
						break
					}
					tape.play(4)
				}
				assert.NotContains(t, r.take(), secret)
				assert.Greater(t, pages, 50)
			})
		})
	}
}

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

func (s *changer) Transcript(_ context.Context, at league.Attempt) (*store.Match, error) {
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

func (s *slowSource) Transcript(context.Context, league.Attempt) (*store.Match, error) {
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
