package connectfour_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/rules"
	"evenodd/rules/connectfour"
)

// best returns the best moves of the side to move after moves.
func best(t *testing.T, moves string, depth int) []string {
	t.Helper()
	p := after(t, moves)
	q := p.Ask(p.ToMove()[0])
	columns, err := connectfour.Best(q.Context["board"].([]string), q.Context["mark"].(string), depth)
	require.NoError(t, err)
	return columns
}

func TestBestMoves(t *testing.T) {
	all := []string{"1", "2", "3", "4", "5", "6", "7"}
	for _, test := range []struct {
		name, moves string
		depth       int
		want        []string
	}{
		{"a search of one move sees a win", "112233", 1, []string{"4"}},
		{"a search of one move sees no threat", "11223", 1, all},
		{"a search of two moves sees a threat", "11223", 2, []string{"4"}},
		{"a parry", "12121", 4, []string{"1"}},
		{"a win now rather than a parry", "121215", 4, []string{"1"}},
		{"two in a row with room at both sides win", "3344", 3, []string{"2", "5"}},
		{"a search of four moves sees that threat", "334", 4, []string{"2", "5"}},
		{"all moves lose at the same time", "33445", 4, all},
		{"all first moves are equal for a short search", "", 6, all},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, best(t, test.moves, test.depth))
		})
	}
}

func TestBestRefusesOtherBoards(t *testing.T) {
	board := func(lowest ...string) []string { return append(emptyBoard()[:6-len(lowest)], lowest...) }
	for _, test := range []struct {
		name  string
		board []string
		mark  string
		want  string
	}{
		{"no board", nil, "X", "a board has 6 rows, not 0"},
		{"a short row", board("......"), "X", "a row has seven cells"},
		{"another mark", board("Y......"), "X", "a row has seven cells"},
		{"a mark above nothing", board("X......", "......."), "O", "column 1 has an empty cell below a mark"},
		{"the other side's mark", board("X......"), "X", `"X" is not the mark to move after 1 moves`},
		{"no mark", board(), "", `"" is not the mark to move after 0 moves`},
		{"the end", board("OOO....", "XXXX..."), "O", "the match is over"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := connectfour.Best(test.board, test.mark, 4)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// value is the value of a board for the side to move, by a search without pruning.
func value(board []string, moves, depth int) int {
	mark, other := "XO"[moves%2], "XO"[1-moves%2]
	if won(board, other) {
		return moves - 44
	}
	if depth == 0 || moves == 42 {
		return 0
	}
	top := -44
	for column := range 7 {
		if next, open := dropped(board, column, mark); open {
			top = max(top, -value(next, moves+1, depth-1))
		}
	}
	return top
}

func TestBestAgreesWithASearchWithoutPruning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, board, moves := connectfour.Game{}.Start(), emptyBoard(), 0
		for until := rapid.IntRange(0, 41).Draw(t, "moves"); moves < until; moves++ {
			side := p.ToMove()[0]
			var made [2]string
			made[side] = rapid.SampledFrom(p.Ask(side).Options).Draw(t, "column")
			next := p.Play(made)
			if len(next.ToMove()) == 0 {
				break
			}
			p = next
			board, _ = dropped(board, int(made[side][0]-'1'), "XO"[side])
		}
		const depth = 3
		var want []string
		top := -44
		for column := range 7 {
			next, open := dropped(board, column, "XO"[moves%2])
			if !open {
				continue
			}
			switch worth := -value(next, moves+1, depth-1); {
			case worth > top:
				want, top = []string{string(rune('1' + column))}, worth
			case worth == top:
				want = append(want, string(rune('1'+column)))
			}
		}
		got, err := connectfour.Best(board, string("XO"[moves%2]), depth)
		require.NoError(t, err)
		assert.Equal(t, want, got, board)
	})
}

// The search has the depth of the strategy lookahead.
func BenchmarkBest(b *testing.B) {
	p := connectfour.Game{}.Start()
	q := p.Ask(rules.SideA)
	for b.Loop() {
		_, _ = connectfour.Best(q.Context["board"].([]string), "X", 6)
	}
}
