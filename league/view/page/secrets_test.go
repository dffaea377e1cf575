package page_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"sync"
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

// leak puts a secret in each member of an event that journal.Public removes.
func leak(e *journal.Event) {
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
	}
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
			tape := newTape(t, name)
			synctest.Test(t, func(t *testing.T) {
				recorded := map[league.MatchID]bool{} // by the events that were played
				tape.change = func(e *journal.Event) {
					leak(e)
					if d, ok := e.Data.(*journal.MatchReported); ok {
						recorded[d.MatchID] = true
					}
				}
				tape.transcript = func(at league.Attempt) (*store.Match, error) {
					assert.True(t, recorded[at.MatchID], "a page asks for the transcript of %v", at)
					return nil, page.ErrNotRecorded
				}
				s := serve(t, tape)
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

// renamed has the agents of a tape get other names.
func renamed(tape *tape) {
	tape.change = func(e *journal.Event) {
		if d, ok := e.Data.(*journal.AgentRegistered); ok {
			d.DisplayName = "New " + d.DisplayName
		}
	}
}

// A league that replaces another one shows nothing of it, also if it has as many rounds.
func TestLeagueThatReplacesAnotherShowsItsOwnNumbers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server, tape *tape) {
		tape.play(len(tape.lines))
		require.NotContains(t, s.get("/statistics").Body.String(), "New ")
		renamed(tape)
		tape.replace(len(tape.lines))
		synctest.Wait()
		assert.Contains(t, s.get("/statistics").Body.String(), "New ")
	})
}

func TestStreamOfALeagueThatReplacesOneThatIsOverStaysOpen(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server, tape *tape) {
		tape.play(len(tape.lines))
		over := s.stream("")
		<-over.done
		require.Contains(t, over.take(), "event: over\n")
		renamed(tape)
		tape.replace(tape.find(t, "completed", 1) - 1)
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

// Transcripts cost the processor that the agents of the league need, too.
func TestManyRequestsReadFewTranscriptsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server, tape *tape) {
		var mu sync.Mutex
		reading, most, next := 0, 0, make(chan struct{})
		tape.transcript = func(league.Attempt) (*store.Match, error) {
			mu.Lock()
			reading++
			most = max(most, reading)
			mu.Unlock()
			<-next
			mu.Lock()
			reading--
			mu.Unlock()
			return &store.Match{}, nil
		}
		tape.play(len(tape.lines))
		for range 20 {
			go s.get("/matches/R1M1")
		}
		synctest.Wait()
		assert.Equal(t, 2, most)
		close(next)
		synctest.Wait()
		assert.Equal(t, 2, most)
		assert.Equal(t, http.StatusOK, s.get("/agents").Code)
	})
}

// Reasons are texts of third-party referees, which can name the endpoint of an agent.
func TestNoPageShowsAnAddressInAReason(t *testing.T) {
	tape := newTape(t, "half_played")
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
