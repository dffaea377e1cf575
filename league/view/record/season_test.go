package record_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/rules"
)

// table gives the results of a league its table: names with points, best first.
func table(results *record.Results, rows ...league.Member[int]) *record.Results {
	for rank, of := range rows {
		i := len(results.Players)
		for n := range results.Players {
			if results.Players[n].PlayerID == of.Name {
				i = n
			}
		}
		if i == len(results.Players) {
			results.Players = append(results.Players, league.Standing{PlayerID: of.Name})
		}
		p := &results.Players[i]
		p.Rank, p.Points, p.Played = rank+1, of.Value, 6
	}
	return results
}

func TestSeasonHasThePlacesOfEachPlayerAlsoOfThoseWithoutARating(t *testing.T) {
	first := season("a", table(differing(6, 100), league.Member[int]{Name: "P01", Value: 18}, league.Member[int]{Name: "P02"}))
	second := season("b", table(differing(4, 200), league.Member[int]{Name: "Absentee", Value: 12}, league.Member[int]{Name: "P02", Value: 9},
		league.Member[int]{Name: "P01", Value: 3}))
	first.Begun, second.Begun = "2026-11-09T09:00:00.000Z", "2026-11-02T09:00:00.000Z"
	first.GameType, second.GameType = "even_odd", "even_odd"
	waiting := season("", &record.Results{})
	waiting.Begun = "2026-11-16T09:00:00.000Z"
	s := record.NewSeason([]record.SeasonLeague{waiting, first, second}, record.NameOf)
	require.Len(t, s.Tables, 1)
	assert.Equal(t, []string{second.Begun, first.Begun, waiting.Begun}, []string{s.Leagues[0].Begun, s.Leagues[1].Begun, s.Leagues[2].Begun})
	players := s.Tables[0].Players
	require.Len(t, players, 3)
	last := players[2]
	assert.Equal(t, []any{"Absentee", 0, 12, 6, "1 –", "", ""},
		[]any{last.Player, last.Rank, last.Points, last.Matches, last.PlacesInWords(), last.Interval(), last.Ranks()})
	for _, p := range players[:2] {
		assert.NotZero(t, p.Rank)
		assert.NotEmpty(t, p.Interval())
		assert.Equal(t, 12, p.Matches)
	}
}

func TestDamagedLeagueOfASeasonIsNamed(t *testing.T) {
	dir := store.In(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Dir(dir.Journal("cup")), 0o750))
	require.NoError(t, os.WriteFile(dir.Journal("cup"), []byte(`{"seq":2,"crc32c":"00000000"}`+"\n"), 0o600))
	l := record.ReadSeasonLeague(t.Context(), dir, "cup", rules.NewRegistry())
	assert.Equal(t, "cup", l.LeagueID)
	require.ErrorContains(t, l.Problem, "damaged at line 1")
	assert.Empty(t, record.NewSeason([]record.SeasonLeague{l}, record.NameOf).Tables)
}
