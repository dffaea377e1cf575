package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/league/view/record"
	"evenodd/league/view/report"
)

// A simulation and the files that it leaves give the same statistics.
func TestStatisticsOfASimulationAreThoseOfItsFiles(t *testing.T) {
	for name, flags := range map[string]string{
		"another game":        "--players 5 --legs 4 --game tic_tac_toe --strategies perfect,random,random,random,random",
		"with technical loss": "--players 11 --faults crash=P03@R2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			simulate := func(format string) string {
				var stdout, stderr bytes.Buffer
				args := append([]string{"simulate", "--seed", "7", "--quiet", "--data", data, "--new-league", "--format", format}, strings.Fields(flags)...)
				require.Zero(t, Execute(t.Context(), "test", args, &stdout, &stderr), stderr.String())
				return stdout.String()
			}
			var output struct {
				Statistics json.RawMessage `json:"statistics"`
			}
			require.NoError(t, json.Unmarshal([]byte(simulate("json")), &output))
			l := record.NewLeague()
			require.NoError(t, l.Update(t.Context(), record.NewFolder(store.Folder(data), defaultLeague), nil))
			fromFiles := l.Results(games()).Statistics()
			text, err := json.Marshal(fromFiles)
			require.NoError(t, err)
			assert.JSONEq(t, string(text), string(output.Statistics))
			assert.True(t, strings.HasSuffix(simulate("table"), "\n"+fromFiles.Sentence+"\n"), "the last line of the table")
		})
	}
}

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
