package conversations

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/player/strategy"
)

// A whole league of a size and a seed is the same whatever carries it.
func TestAWholeLeagueIsTheSameOnEveryCarrier(t *testing.T) {
	for players := 2; players <= 8; players++ {
		for _, seed := range []string{"one", "two", "three"} {
			t.Run(fmt.Sprintf("%d players, seed %s", players, seed), func(t *testing.T) {
				t.Parallel()
				var standings [][]league.Standing
				var results [][]league.MatchRecord
				for _, kind := range []string{byValue, byWire, byHTTP} {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, kind, zerolog.Nop())
						w.seed = seed
						w.wholeLeague(players)
						w.close()
						w.checkMessages()
						standings = append(standings, w.manager.Standings())
						results = append(results, w.manager.Results())
					})
				}
				require.Len(t, results, 3)
				assert.Len(t, results[0], players*(players-1)/2)
				for i := range 3 {
					assert.Equal(t, standings[0], standings[i])
					assert.Equal(t, results[0], results[i])
				}
			})
		}
	}
}

// wholeLeague has two referees, and players of all strategies in turn.
func (w *world) wholeLeague(players int) {
	w.t.Helper()
	w.startManager(players, 2)
	w.referee("REF01", capacity(2))
	w.referee("REF02", capacity(1))
	strategies := slices.DeleteFunc(strategy.Names(), func(name string) bool { return name == "perfect" }) // it plays another game
	for i := range players {
		w.player(fmt.Sprintf("P%02d", i+1), choosing(strategies[i%len(strategies)]))
	}
	end := w.finish()
	assert.Zero(w.t, w.now())
	assert.Len(w.t, end.FinalStandings, players)
	assert.Equal(w.t, end.FinalStandings[0].PlayerID, end.Champion.PlayerID)
	for _, a := range w.everybody() {
		switch {
		case a.player != nil:
			record := a.player.Record()
			assert.True(w.t, ended(a.player.Done()))
			assert.Equal(w.t, players, record.Players)
			row := end.FinalStandings[record.Rank-1]
			assert.Equal(w.t, a.id, row.PlayerID)
			assert.Equal(w.t, []int{row.Played, row.Wins, row.Losses, row.Draws, row.Points},
				[]int{record.Stats.TotalMatches, record.Stats.Wins, record.Stats.Losses, record.Stats.Draws, record.Points})
		case a.referee != nil:
			assert.True(w.t, ended(a.referee.Done()))
			assert.Equal(w.t, end.Champion, a.referee.Record().Champion)
			assert.Empty(w.t, a.referee.Record().Warnings, "our players conform")
		}
	}
}
