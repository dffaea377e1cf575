package cmd

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/league/view/report"
)

// Both know whether the rules of the game treat the sides alike.
func TestPageShowsTheRatingsOfTheReport(t *testing.T) {
	folder, id := store.Folder("../testdata/leagues/finished"), "league_2025_even_odd"
	r, err := report.Read(t.Context(), folder, report.Options{LeagueID: id, Games: games()})
	require.NoError(t, err)
	mounts, end, err := pageMounts(page.NewFolder(folder, id), zerolog.Nop())
	require.NoError(t, err)
	defer end()
	mux := http.NewServeMux()
	for _, m := range mounts {
		mux.Handle(m.Pattern, m.Handler)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/statistics", http.NoBody))
	for _, one := range r.Statistics.Ratings {
		assert.Contains(t, w.Body.String(), fmt.Sprintf(`aria-label="%d to %d"`, int(math.Round(one.Low)), int(math.Round(one.High))), one.PlayerID)
	}
}
