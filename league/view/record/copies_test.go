package record_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/view/record"
)

// played are legs of two players that change sides, and of which P02 wins every match. Change changes a match.
func played(legs int, change func(leg int, m *record.Meeting)) *record.Results {
	r := &record.Results{LeagueID: "x", Until: 200, Players: []league.Standing{{PlayerID: "P01"}, {PlayerID: "P02"}}}
	for leg := 1; leg <= legs; leg++ {
		m := record.Meeting{Played: league.Played{A: 0, B: 1, Winner: 1}, Round: leg, Choices: [2]string{"0", "8"}, Moves: 11}
		if leg%2 == 0 {
			m.A, m.B, m.Moves = 1, 0, 12
		}
		change(leg, &m)
		r.Meetings = append(r.Meetings, m)
	}
	return r
}

func TestMatchesThatRepeatOthersAreCopies(t *testing.T) {
	const copied = "copies of each other"
	for _, tt := range []struct {
		name   string
		legs   int
		change func(leg int, m *record.Meeting)
		copies int
	}{
		{"two programs without chance", 14, func(int, *record.Meeting) {}, 12},
		{"two of a match each", 4, func(int, *record.Meeting) {}, 2},
		{"one repetition can be chance", 3, func(int, *record.Meeting) {}, 0},
		{"a match with other moves", 14, func(leg int, m *record.Meeting) { m.Moves += uint64(leg / 14) }, 0},
		{"a game with a drawn number", 14, func(_ int, m *record.Meeting) { m.Drawn, m.Moves = true, 0 }, 0},
		{"a game of one turn", 14, func(_ int, m *record.Meeting) { m.Moves = 0 }, 12},
		{"a few equal choices in a game of one turn", 5, func(_ int, m *record.Meeting) { m.Moves = 0 }, 0},
		{"a technical loss", 14, func(leg int, m *record.Meeting) {
			if leg == 9 {
				m.Technical = true
			}
		}, 11},
		{"results that a referee states", 14, func(_ int, m *record.Meeting) { m.Stated = true }, 0},
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
			assert.Equal(t, s.Told, r.Told())
		})
	}
}

// A league that stopped by copies says so, and names no player the best.
func TestCopiesAreNoEvidence(t *testing.T) {
	c := played(14, func(int, *record.Meeting) {}).Comparison()
	assert.Equal(t, record.StoppedByCopies, c.StoppedBy)
	assert.Empty(t, c.Best)
	assert.Equal(t, []int{1, 0, 6}, []int{c.Pairs[0].Behind, c.Pairs[0].Ahead, c.Pairs[0].Copies})
	assert.Empty(t, c.Pairs[0].Better)
	assert.Equal(t, "Stopped after 14 of at most 200 legs: P02 was ahead, but no player is shown to be better than every other. "+
		"Not told apart: P01 and P02. The matches of P01 and P02 are copies of each other, with the same sides and moves, and "+
		"count once.", c.Sentence())

	named := played(14, func(int, *record.Meeting) {})
	named.Players[1].DisplayName = "Team 4"
	assert.Contains(t, named.Told(), "legs: P02 Team 4 was ahead")
	assert.Contains(t, named.Told(), "and P02 Team 4 are copies of each other")

	other := played(14, func(leg int, m *record.Meeting) { m.Moves += uint64(leg) }).Comparison()
	assert.Equal(t, record.StoppedBySignificance, other.StoppedBy)
	assert.Equal(t, "P02", other.Best)
	assert.Zero(t, other.Pairs[0].Copies)
}
