package page

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
)

func TestEndNamesTheChampionTheFirstThreeAndTheBestClimb(t *testing.T) {
	s := startedScript(t, 4)
	s.announce()
	s.report(1, "B", "")
	s.report(2, "A", "")
	progress := overviewOf(s.l, live).Progress
	assert.Equal(t, "less than a minute", progress.Left)
	assert.Greater(t, progress.EndsAt, s.l.At)
	s.complete()
	s.finish()
	v := overviewOf(s.l, live)
	e := v.Progress.End
	require.NotNil(t, e)
	assert.Equal(t, []ref{v.Standings.Rows[0].ref}, e.Champions)
	assert.Equal(t, "Champion: "+e.Champions[0].Name, v.title())
	assert.Len(t, e.Podium, 3)
	require.NotNil(t, e.Longest)
	assert.Equal(t, 1, e.Longest.RoundID)
	if e.Climb != nil {
		assert.Greater(t, e.Climb.From, e.Climb.To)
	}
	assert.Nil(t, overviewOf(s.l, 1).Progress.End, "after round 1 there is no champion yet")
	assert.Equal(t, []string{"about 59 min", "about 1 h 1 min"}, []string{timeLeft(59 * time.Minute), timeLeft(61 * time.Minute)})
}

func TestPlayerHasAColourOfItsOwn(t *testing.T) {
	s := newScript(t, nil)
	seen := map[colour]string{}
	for i := range 500 {
		id := league.PlayerID(i + 1)
		c := at(s.l, live).colour(id)
		assert.Empty(t, seen[c], id)
		seen[c] = id
	}
	assert.Equal(t, colour{"c2", ""}, at(s.l, live).colour("P03"))
	assert.Equal(t, colour{"c2", "8 3 0 4"}, at(s.l, live).colour("P13"))
}

// A manager that ends with its league waits for its open pages only.
func TestFinishWaitsForOpenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pages{}
		begun, done := time.Now(), make(chan struct{})
		p.Finish(t.Context())
		assert.Zero(t, time.Since(begun), "nobody reads")
		reads := p.audience.counted(func(http.ResponseWriter, *http.Request) { <-done })
		go reads(nil, httptest.NewRequest(http.MethodHead, "/events", nil))
		synctest.Wait()
		p.Finish(t.Context())
		assert.Zero(t, time.Since(begun), "a page that has all")
		go reads(nil, httptest.NewRequest(http.MethodGet, "/events", nil))
		synctest.Wait()
		p.Finish(t.Context())
		assert.Equal(t, 10*time.Second, time.Since(begun), "a page that reads no further")
		close(done)
		p.Finish(t.Context())
		assert.Less(t, time.Since(begun), 13*time.Second)
	})
}

func TestPagesBelowABasePath(t *testing.T) {
	b := NewBoard(noFiles{})
	s := startedScript(t, 2)
	s.finish()
	b.league, b.start = s.l, func() {}
	close(b.ready)
	p, err := New(b, Options{Base: "/league"})
	require.NoError(t, err)
	mux := p.Mux()
	mux.HandleFunc("POST /", func(http.ResponseWriter, *http.Request) { t.Error("a call of an agent below the base path") })
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/league/", 200}, {"GET", "/league/cross", 200}, {"GET", "/league/players/P01", 200}, {"GET", "/league/events?after=99", 204},
		{"GET", "/league", 302}, {"GET", "/", 302}, {"GET", "/cross", 405}, {"POST", "/league/register", 404},
	} {
		w := httptest.NewRecorder()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, tt.method, tt.path, http.NoBody))
		cancel()
		assert.Equal(t, tt.status, w.Code, tt.path)
		assert.NotRegexp(t, `(href|src|action|hx-get)="/[^l]`, w.Body.String(), "%s: a link that leaves the base path", tt.path)
	}
}
