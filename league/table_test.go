package league_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	table "evenodd/league"
)

// The results of a match between a and b.
func beat(a, b int) table.Result      { return table.Result{A: a, B: b, Winner: a} }
func draw(a, b int) table.Result      { return table.Result{A: a, B: b, Winner: table.None} }
func forfeitTo(a, b int) table.Result { return table.Result{A: a, B: b, Winner: a, Technical: true} }
func bothFail(a, b int) table.Result {
	return table.Result{A: a, B: b, Winner: table.None, Technical: true}
}

// tableOf returns a table with the recorded results.
func tableOf(t require.TestingT, players int, scoring table.Scoring, results ...table.Result) *table.Table {
	tbl, err := table.New(players, scoring)
	require.NoError(t, err)
	for _, o := range results {
		require.NoError(t, tbl.Record(o))
	}
	return tbl
}

func TestRecordUpdatesCounters(t *testing.T) {
	standard := table.DefaultScoring()
	harsh := table.Scoring{Win: 5, Draw: 2, Loss: 1, TechnicalLoss: -1}
	tests := []struct {
		name    string
		scoring table.Scoring
		results []table.Result
		a, b    table.Row // of players 0 and 1
	}{
		{"no matches", standard, nil,
			table.Row{Player: 0},
			table.Row{Player: 1}},
		{"A wins", standard, []table.Result{beat(0, 1)},
			table.Row{Player: 0, Played: 1, Wins: 1, Points: 3},
			table.Row{Player: 1, Played: 1, Losses: 1}},
		{"B wins", standard, []table.Result{{A: 0, B: 1, Winner: 1}},
			table.Row{Player: 0, Played: 1, Losses: 1},
			table.Row{Player: 1, Played: 1, Wins: 1, Points: 3}},
		{"swapped sides", standard, []table.Result{{A: 1, B: 0, Winner: 0}},
			table.Row{Player: 0, Played: 1, Wins: 1, Points: 3},
			table.Row{Player: 1, Played: 1, Losses: 1}},
		{"draw", standard, []table.Result{draw(0, 1)},
			table.Row{Player: 0, Played: 1, Draws: 1, Points: 1},
			table.Row{Player: 1, Played: 1, Draws: 1, Points: 1}},
		{"B fails: an ordinary win for A", standard, []table.Result{forfeitTo(0, 1)},
			table.Row{Player: 0, Played: 1, Wins: 1, Points: 3},
			table.Row{Player: 1, Played: 1, Losses: 1, TechnicalLosses: 1}},
		{"A fails", standard, []table.Result{forfeitTo(1, 0)},
			table.Row{Player: 0, Played: 1, Losses: 1, TechnicalLosses: 1},
			table.Row{Player: 1, Played: 1, Wins: 1, Points: 3}},
		{"both fail: a loss for both", standard, []table.Result{bothFail(0, 1)},
			table.Row{Player: 0, Played: 1, Losses: 1, TechnicalLosses: 1},
			table.Row{Player: 1, Played: 1, Losses: 1, TechnicalLosses: 1}},
		{"two legs", standard, []table.Result{beat(0, 1), draw(1, 0)},
			table.Row{Player: 0, Played: 2, Wins: 1, Draws: 1, Points: 4},
			table.Row{Player: 1, Played: 2, Draws: 1, Losses: 1, Points: 1}},
		{"other points: a loss", harsh, []table.Result{beat(0, 1)},
			table.Row{Player: 0, Played: 1, Wins: 1, Points: 5},
			table.Row{Player: 1, Played: 1, Losses: 1, Points: 1}},
		{"other points: a technical loss costs more than a loss", harsh, []table.Result{forfeitTo(0, 1)},
			table.Row{Player: 0, Played: 1, Wins: 1, Points: 5},
			table.Row{Player: 1, Played: 1, Losses: 1, TechnicalLosses: 1, Points: -1}},
		{"other points: both fail", harsh, []table.Result{bothFail(0, 1)},
			table.Row{Player: 0, Played: 1, Losses: 1, TechnicalLosses: 1, Points: -1},
			table.Row{Player: 1, Played: 1, Losses: 1, TechnicalLosses: 1, Points: -1}},
		{"other points: a draw", harsh, []table.Result{draw(0, 1)},
			table.Row{Player: 0, Played: 1, Draws: 1, Points: 2},
			table.Row{Player: 1, Played: 1, Draws: 1, Points: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tbl := tableOf(t, 3, tt.scoring, tt.results...)
			assert.Equal(t, tt.a, tbl.Row(0))
			assert.Equal(t, tt.b, tbl.Row(1))
			assert.Equal(t, table.Row{Player: 2}, tbl.Row(2), "a player without matches has no counters")
		})
	}
}

func TestPointsOfAResult(t *testing.T) {
	scoring := table.Scoring{Win: 5, Draw: 2, Loss: 1, TechnicalLoss: -1}
	tests := []struct {
		name   string
		result table.Result
		a, b   int
	}{
		{"A wins", table.Result{A: 0, B: 1, Winner: 0}, 5, 1},
		{"B wins", table.Result{A: 0, B: 1, Winner: 1}, 1, 5},
		{"draw", draw(0, 1), 2, 2},
		{"B fails", table.Result{A: 0, B: 1, Winner: 0, Technical: true}, 5, -1},
		{"A fails", table.Result{A: 0, B: 1, Winner: 1, Technical: true}, -1, 5},
		{"both fail", bothFail(0, 1), -1, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tbl := tableOf(t, 2, scoring)
			a, b := tbl.Points(tt.result)
			assert.Equal(t, []int{tt.a, tt.b}, []int{a, b})
			assert.Zero(t, tbl.Row(0).Played, "Points records nothing")
		})
	}
}

func TestImpossibleResultIsRejected(t *testing.T) {
	tests := []struct {
		name   string
		result table.Result
		want   string
	}{
		{"A below the first player", table.Result{A: -1, B: 1, Winner: 1}, "there is no player -1 among 3"},
		{"A past the last player", table.Result{A: 3, B: 1, Winner: 1}, "there is no player 3 among 3"},
		{"B below the first player", table.Result{A: 1, B: -1, Winner: 1}, "there is no player -1 among 3"},
		{"B past the last player", table.Result{A: 1, B: 3, Winner: 1}, "there is no player 3 among 3"},
		{"a player against itself", table.Result{A: 2, B: 2, Winner: 2}, "a player needs an opponent"},
		{"a winner that did not play", table.Result{A: 0, B: 1, Winner: 2}, "the winner 2 did not play"},
		{"a winner that does not exist", table.Result{A: 0, B: 1, Winner: -2}, "the winner -2 did not play"},
		{"a technical winner that did not play", table.Result{A: 0, B: 1, Winner: 2, Technical: true}, "the winner 2 did not play"},
	}
	scoring := table.Scoring{Win: 3, Draw: 1, Loss: 1, TechnicalLoss: 1, Tiebreakers: []string{"sonneborn_berger"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tbl := tableOf(t, 3, scoring, beat(0, 1), beat(1, 2))
			before := tbl.Standings()
			require.ErrorContains(t, tbl.Record(tt.result), tt.want)
			assert.Equal(t, before, tbl.Standings(), "a rejected result is not counted")
		})
	}
}

func TestInvalidNumberOfPlayersIsRejected(t *testing.T) {
	for _, players := range []int{-1, math.MinInt, math.MaxInt} {
		tbl, err := table.New(players, table.DefaultScoring())
		assert.ErrorContains(t, err, "want 0 to 2147483647", "%d players", players)
		assert.Nil(t, tbl)
	}
}

func TestLeagueWithoutPlayersHasEmptyStandings(t *testing.T) {
	for _, tiebreaker := range []string{"points", "head_to_head", "sonneborn_berger"} {
		tbl := tableOf(t, 0, table.Scoring{Win: 3, Tiebreakers: []string{tiebreaker}})
		assert.Empty(t, tbl.Standings())
		assert.Error(t, tbl.Record(beat(0, 1)))
	}
}

func TestRowPanicsForAnUnknownPlayer(t *testing.T) {
	tbl := tableOf(t, 2, table.DefaultScoring())
	assert.Panics(t, func() { tbl.Row(2) })
	assert.Panics(t, func() { tbl.Row(table.None) })
}

func TestRecordDoesNotAllocate(t *testing.T) {
	tbl := tableOf(t, 4, table.DefaultScoring())
	allocs := testing.AllocsPerRun(1000, func() {
		_ = tbl.Record(beat(0, 1))
		_ = tbl.Record(bothFail(2, 3))
	})
	assert.Zero(t, allocs)
	assert.Equal(t, 1001, tbl.Row(0).Wins, "each run was counted, including the warm-up")
}

func TestTableSharesNothingWithTheCaller(t *testing.T) {
	scoring := table.Scoring{Win: 3, Draw: 1, Tiebreakers: []string{"draws", "points"}}
	tbl := tableOf(t, 4, scoring, beat(0, 1), draw(2, 3))

	scoring.Tiebreakers[0] = "points"
	scoring.Tiebreakers[1] = "wins"
	assert.Equal(t, []int{2, 3, 0, 1}, order(tbl), "the table has its own copy of the scoring")

	rows := tbl.Standings()
	rows[0] = table.Row{Player: 1, Points: 99}
	assert.Equal(t, []int{2, 3, 0, 1}, order(tbl), "the caller owns the standings")
}
