package manager_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/player/strategy"
)

func TestLeagueHasTheSameResultsOnEveryCarrier(t *testing.T) {
	for players := 2; players <= 8; players++ {
		for _, seed := range []string{"one", "two", "three"} {
			t.Run(fmt.Sprintf("%d players, seed %s", players, seed), func(t *testing.T) {
				t.Parallel()
				var standings [][]league.Standing
				var results [][]league.MatchRecord
				for _, kind := range []string{leaguetest.Memory, leaguetest.Wire, leaguetest.HTTP} {
					synctest.Test(t, func(t *testing.T) {
						w := leaguetest.NewWorld(t, kind, zerolog.Nop())
						w.Seed = seed
						runWholeLeague(w, players)
						w.Close()
						w.CheckMessages()
						standings = append(standings, w.Manager.Standings())
						results = append(results, w.Manager.Results())
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

// runWholeLeague runs a league with two referees and players of all strategies.
func runWholeLeague(w *leaguetest.World, players int) {
	w.T.Helper()
	w.StartManager(players, 2)
	w.Referee("REF01", leaguetest.WithCapacity(2))
	w.Referee("REF02", leaguetest.WithCapacity(1))
	strategies := slices.DeleteFunc(strategy.Names(), func(name string) bool { return name == "perfect" }) // perfect plays another game
	for i := range players {
		w.Player(fmt.Sprintf("P%02d", i+1), leaguetest.WithStrategy(strategies[i%len(strategies)]))
	}
	end := w.Finish()
	assert.Zero(w.T, w.Now())
	assert.Len(w.T, end.FinalStandings, players)
	assert.Equal(w.T, end.FinalStandings[0].PlayerID, end.Champion.PlayerID)
	for _, a := range w.Agents() {
		switch {
		case a.Player != nil:
			record := a.Player.Record()
			assert.True(w.T, leaguetest.IsClosed(a.Player.Done()))
			assert.Equal(w.T, players, record.Players)
			row := standingOf(w.T, end.FinalStandings, a.ID)
			assert.Equal(w.T, []any{row.ShownRank(), row.Tied}, []any{record.Rank, record.Tied})
			assert.Equal(w.T, []int{row.Played, row.Wins, row.Losses, row.Draws, row.Points},
				[]int{record.Stats.TotalMatches, record.Stats.Wins, record.Stats.Losses, record.Stats.Draws, record.Points})
		case a.Referee != nil:
			assert.True(w.T, leaguetest.IsClosed(a.Referee.Done()))
			assert.Equal(w.T, end.Champion, a.Referee.Record().Champion)
			assert.Empty(w.T, a.Referee.Record().Warnings, "our players comply with the specification")
		}
	}
}

// standingOf returns the row of a player of the final table, and checks that the ranks of its rows
// are the positions.
func standingOf(t *testing.T, rows []protocol.StandingRow, id string) (row protocol.StandingRow) {
	t.Helper()
	for i, r := range rows {
		assert.Equal(t, i+1, r.Rank, "ranks in messages are distinct")
		if r.PlayerID == id {
			row = r
		}
	}
	require.Equal(t, id, row.PlayerID)
	return row
}
