package league_test

import (
	"math"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
)

// The results of a match between a and b.
func beat(a, b int) league.Played      { return league.Played{A: a, B: b, Winner: a} }
func draw(a, b int) league.Played      { return league.Played{A: a, B: b, Winner: league.None} }
func forfeitTo(a, b int) league.Played { return league.Played{A: a, B: b, Winner: a, Technical: true} }
func bothFail(a, b int) league.Played {
	return league.Played{A: a, B: b, Winner: league.None, Technical: true}
}

// tableOf returns a table with the recorded results.
func tableOf(t require.TestingT, players int, scoring league.Scoring, results ...league.Played) *league.Table {
	tbl, err := league.New(players, scoring)
	require.NoError(t, err)
	for _, o := range results {
		require.NoError(t, tbl.Record(1, o))
	}
	return tbl
}

func TestRecordUpdatesCounters(t *testing.T) {
	standard := league.DefaultScoring()
	harsh := league.Scoring{MatchPoints: league.MatchPoints{Win: 5, Draw: 2, Loss: 1, TechnicalLoss: -1}}
	for _, tt := range []struct {
		name    string
		scoring league.Scoring
		results []league.Played
		a, b    league.Standing // of players 0 and 1
	}{
		{"A wins", standard, []league.Played{beat(0, 1)},
			league.Standing{Player: 0, Tally: league.Tally{Played: 1, Wins: 1}, Points: 3},
			league.Standing{Player: 1, Tally: league.Tally{Played: 1, Losses: 1}}},
		{"B wins", standard, []league.Played{{A: 0, B: 1, Winner: 1}},
			league.Standing{Player: 0, Tally: league.Tally{Played: 1, Losses: 1}},
			league.Standing{Player: 1, Tally: league.Tally{Played: 1, Wins: 1}, Points: 3}},
		{"draw", standard, []league.Played{draw(0, 1)},
			league.Standing{Player: 0, Tally: league.Tally{Played: 1, Draws: 1}, Points: 1},
			league.Standing{Player: 1, Tally: league.Tally{Played: 1, Draws: 1}, Points: 1}},
		{"B fails: an ordinary win for A", standard, []league.Played{forfeitTo(0, 1)},
			league.Standing{Player: 0, Tally: league.Tally{Played: 1, Wins: 1}, Points: 3},
			league.Standing{Player: 1, Tally: league.Tally{Played: 1, Losses: 1, TechnicalLosses: 1}}},
		{"both fail: a loss for both", standard, []league.Played{bothFail(0, 1)},
			league.Standing{Player: 0, Tally: league.Tally{Played: 1, Losses: 1, TechnicalLosses: 1}},
			league.Standing{Player: 1, Tally: league.Tally{Played: 1, Losses: 1, TechnicalLosses: 1}}},
		{"other points: a technical loss costs more than a loss", harsh, []league.Played{forfeitTo(0, 1)},
			league.Standing{Player: 0, Tally: league.Tally{Played: 1, Wins: 1}, Points: 5},
			league.Standing{Player: 1, Tally: league.Tally{Played: 1, Losses: 1, TechnicalLosses: 1}, Points: -1}},
		{"other points: both fail", harsh, []league.Played{bothFail(0, 1)},
			league.Standing{Player: 0, Tally: league.Tally{Played: 1, Losses: 1, TechnicalLosses: 1}, Points: -1},
			league.Standing{Player: 1, Tally: league.Tally{Played: 1, Losses: 1, TechnicalLosses: 1}, Points: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tbl := tableOf(t, 3, tt.scoring, tt.results...)
			assert.Equal(t, tt.a, tbl.Row(0))
			assert.Equal(t, tt.b, tbl.Row(1))
			assert.Equal(t, league.Standing{Player: 2}, tbl.Row(2), "a player without matches has no counters")
		})
	}
}

func TestImpossibleResultIsRejected(t *testing.T) {
	tests := []struct {
		name   string
		result league.Played
		want   string
	}{
		{"A below the first player", league.Played{A: -1, B: 1, Winner: 1}, "there is no player -1 among 3"},
		{"A past the last player", league.Played{A: 3, B: 1, Winner: 1}, "there is no player 3 among 3"},
		{"B below the first player", league.Played{A: 1, B: -1, Winner: 1}, "there is no player -1 among 3"},
		{"B past the last player", league.Played{A: 1, B: 3, Winner: 1}, "there is no player 3 among 3"},
		{"a player against itself", league.Played{A: 2, B: 2, Winner: 2}, "a player needs an opponent"},
		{"a winner that did not play", league.Played{A: 0, B: 1, Winner: 2}, "the winner 2 did not play"},
		{"a winner that does not exist", league.Played{A: 0, B: 1, Winner: -2}, "the winner -2 did not play"},
		{"a technical winner that did not play", league.Played{A: 0, B: 1, Winner: 2, Technical: true}, "the winner 2 did not play"},
	}
	scoring := league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1, Loss: 1, TechnicalLoss: 1}, Tiebreakers: []string{"sonneborn_berger"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tbl := tableOf(t, 3, scoring, beat(0, 1), beat(1, 2))
			before := tbl.Ranking(nil)
			require.ErrorContains(t, tbl.Record(1, tt.result), tt.want)
			assert.Equal(t, before, tbl.Ranking(nil), "a rejected result is not counted")
		})
	}
}

func TestInvalidNumberOfPlayersIsRejected(t *testing.T) {
	for _, players := range []int{-1, math.MinInt, math.MaxInt} {
		tbl, err := league.New(players, league.DefaultScoring())
		assert.ErrorContains(t, err, "want 0 to 2147483647", "%d players", players)
		assert.Nil(t, tbl)
	}
}

func TestLeagueWithoutPlayersHasEmptyStandings(t *testing.T) {
	for _, tiebreaker := range []string{"points", "head_to_head", "sonneborn_berger"} {
		tbl := tableOf(t, 0, league.Scoring{MatchPoints: league.MatchPoints{Win: 3}, Tiebreakers: []string{tiebreaker}})
		assert.Empty(t, tbl.Ranking(nil))
		assert.Error(t, tbl.Record(1, beat(0, 1)))
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	tbl := tableOf(t, 4, league.DefaultScoring())
	allocs := testing.AllocsPerRun(1000, func() {
		_ = tbl.Record(1, beat(0, 1))
		_ = tbl.Record(1, bothFail(2, 3))
	})
	assert.Zero(t, allocs)
	assert.Equal(t, 1001, tbl.Row(0).Wins, "each run was counted, including the warm-up")
}

func TestTableSharesNothingWithTheCaller(t *testing.T) {
	scoring := league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"draws", "points"}}
	tbl := tableOf(t, 4, scoring, beat(0, 1), draw(2, 3))

	scoring.Tiebreakers[0] = "points"
	scoring.Tiebreakers[1] = "wins"
	assert.Equal(t, []int{2, 3, 0, 1}, order(tbl), "the table has its own copy of the scoring")

	rows := tbl.Ranking(nil)
	rows[0] = league.Standing{Player: 1, Points: 99}
	assert.Equal(t, []int{2, 3, 0, 1}, order(tbl), "the caller owns the standings")
}

func TestPerPlayerKeepsItsOrder(t *testing.T) {
	score := league.Both("P02", 3, "P01", 0)
	encoded, err := json.Marshal(score)
	require.NoError(t, err)
	assert.Equal(t, `{"P02":3,"P01":0}`, string(encoded))
	var decoded league.PerPlayer[int]
	require.NoError(t, json.Unmarshal(encoded, &decoded))
	assert.Equal(t, score, decoded)
}

func TestPerPlayerFindsAPlayer(t *testing.T) {
	choices := league.Both("P01", new("even"), "P02", nil)
	choice, ok := choices.Get("P01")
	assert.True(t, ok)
	assert.Equal(t, "even", *choice)
	choice, ok = choices.Get("P02")
	assert.True(t, ok, "an entry that is null is there")
	assert.Nil(t, choice)
	_, ok = choices.Get("P03")
	assert.False(t, ok)
}

func TestPerPlayerDecoding(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       league.PerPlayer[int]
		ok         bool
	}{
		{"two", `{"P01":1,"P02":2}`, league.Both("P01", 1, "P02", 2), true},
		{"none", `{}`, league.PerPlayer[int]{}, true},
		{"null", `null`, nil, true},
		{"quoted names", `{"P\"1":1}`, league.PerPlayer[int]{{Name: `P"1`, Value: 1}}, true},
		{"an array", `[1,2]`, nil, false},
		{"a number", `1`, nil, false},
		{"a wrong value", `{"P01":"1"}`, nil, false},
		{"a player twice", `{"P01":1,"P01":2}`, nil, false},
		{"cut off", `{"P01":1`, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			decoded := league.PerPlayer[int]{{Name: "old", Value: 9}}
			err := json.Unmarshal([]byte(test.text), &decoded)
			assert.Equal(t, test.ok, err == nil, "%v", err)
			if test.ok {
				assert.Equal(t, test.want, decoded)
			}
		})
	}
}
