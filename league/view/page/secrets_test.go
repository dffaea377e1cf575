package page_test

import (
	"context"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

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
func (s *leakyTape) Transcript(_ context.Context, at league.Attempt, _ string) (*store.Match, error) {
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
