package record_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/view/record"
)

// played are legs of two players that change sides, and of which P02 wins every match. Change changes a match.
func played(legs int, change func(leg int, m *decide.MatchRecord)) *record.Results {
	r := &record.Results{LeagueID: "x", Until: 200, Players: []league.Standing{{PlayerID: "P01"}, {PlayerID: "P02"}}}
	for leg := 1; leg <= legs; leg++ {
		m := decide.MatchRecord{MatchID: fmt.Sprintf("R%dM1", leg), RoundID: leg, PlayerA: "P01", PlayerB: "P02",
			Status: league.StatusWin, Winner: "P02", ChoiceA: "0", ChoiceB: "8", Moves: 11}
		if leg%2 == 0 {
			m.PlayerA, m.PlayerB, m.Moves = "P02", "P01", 12
		}
		change(leg, &m)
		r.Matches = append(r.Matches, m)
	}
	return r
}

func TestMatchesThatRepeatOthersAreCopies(t *testing.T) {
	const copied = "copies of each other"
	for _, tt := range []struct {
		name   string
		legs   int
		change func(leg int, m *decide.MatchRecord)
		copies int
	}{
		{"two programs without chance", 14, func(int, *decide.MatchRecord) {}, 12},
		{"two of a match each", 4, func(int, *decide.MatchRecord) {}, 2},
		{"one repetition can be chance", 3, func(int, *decide.MatchRecord) {}, 0},
		{"a match with other moves", 14, func(leg int, m *decide.MatchRecord) { m.Moves += uint64(leg / 14) }, 0},
		{"a game with a drawn number", 14, func(_ int, m *decide.MatchRecord) { m.Number, m.Moves = 7, 0 }, 0},
		{"a game of one turn", 14, func(_ int, m *decide.MatchRecord) { m.Moves = 0 }, 12},
		{"a few equal choices in a game of one turn", 5, func(_ int, m *decide.MatchRecord) { m.Moves = 0 }, 0},
		{"a technical loss", 14, func(leg int, m *decide.MatchRecord) {
			if leg == 9 {
				m.Status = league.StatusTechnicalLoss
			}
		}, 11},
		{"results that a referee states", 14, func(_ int, m *decide.MatchRecord) { m.Grade = "stated" }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := played(tt.legs, tt.change)
			assert.Equal(t, tt.copies, r.Statistics().Copies)
			r.Until = 0
			s := r.Statistics()
			assert.Equal(t, tt.legs, s.Matches)
			if tt.copies == 0 {
				assert.NotContains(t, s.Sentence, copied)
				return
			}
			assert.Equal(t, 2, s.Played, "each match counts once, and a technical loss never")
			assert.Contains(t, s.Sentence, fmt.Sprintf("the matches of P01 and P02 are copies of each other, with the same sides and moves (%d).", tt.copies))
			assert.Equal(t, s.Sentence, r.Sentence())
		})
	}
}

// A league that stopped by copies says so, and names no player the best.
func TestCopiesAreNoEvidence(t *testing.T) {
	c := played(14, func(int, *decide.MatchRecord) {}).Comparison()
	assert.Equal(t, record.StoppedByCopies, c.StoppedBy)
	assert.Empty(t, c.Best)
	assert.Equal(t, []int{1, 0, 6}, []int{c.Pairs[0].Behind, c.Pairs[0].Ahead, c.Pairs[0].Copies})
	assert.Empty(t, c.Pairs[0].Better)
	assert.Equal(t, "Stopped after 14 of at most 200 legs: P02 was ahead, but no player is shown to be better than every other. "+
		"Not told apart: P01 and P02. The matches of P01 and P02 are copies of each other, with the same sides and moves, and "+
		"count once.", c.Sentence())

	other := played(14, func(leg int, m *decide.MatchRecord) { m.Moves += uint64(leg) }).Comparison()
	assert.Equal(t, record.StoppedBySignificance, other.StoppedBy)
	assert.Equal(t, "P02", other.Best)
	assert.Zero(t, other.Pairs[0].Copies)
}
