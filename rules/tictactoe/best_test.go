package tictactoe_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
	"evenodd/rules/tictactoe"
)

func best(t *testing.T, board, mark string) []string {
	t.Helper()
	moves, err := tictactoe.Best(board, mark)
	require.NoError(t, err, board)
	return moves
}

func TestBestMoves(t *testing.T) {
	for _, test := range []struct {
		name, board, mark string
		want              string
	}{
		{"every first move draws", ".........", "X", "012345678"},
		{"the centre answers a corner", "X........", "O", "4"},
		{"corners answer the centre", "....X....", "O", "0268"},
		{"a win at once, not one later", "XX.OO....", "X", "2"},
		{"a win at once, not only a defence", "XX.OO.X..", "O", "5"},
		{"a defence where there is no win", "XX..O....", "O", "2"},
		{"a fork", "X...O...X", "O", "1357"},
		{"lost anyway: whatever lasts longest", "X.XOO.X..", "O", "5"},
		{"the last cell", "XOXXOOOX.", "X", "8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, strings.Join(best(t, test.board, test.mark), ""))
		})
	}
}

func TestBestRefusesInvalidPositions(t *testing.T) {
	for _, test := range []struct{ board, mark, want string }{
		{".........", "Y", "mark must be X or O"},
		{".........", "", "mark must be X or O"},
		{"........", "X", "nine cells"},
		{"", "X", "nine cells"},
		{"....x....", "X", "a cell is X, O or ."},
		{"XXXOO....", "O", "the match is over"},
		{"XXXOO....", "X", "the match is over"},
		{"XXOOOXXXO", "X", "the match is over"},
	} {
		_, err := tictactoe.Best(test.board, test.mark)
		require.ErrorContains(t, err, test.want)
	}
}

// The test plays all best moves against all moves, from both sides. The best moves never
// lose, and draw against each other.
func TestBestNeverLoses(t *testing.T) {
	for _, side := range []rules.Side{rules.SideA, rules.SideB} {
		for _, both := range []bool{false, true} {
			ends := map[rules.Side]int{}
			known := map[string][]string{}
			var play func(p rules.Position)
			play = func(p rules.Position) {
				sides := p.ToMove()
				if len(sides) == 0 {
					ends[p.Judge(rules.Chance{}).Winner]++
					return
				}
				q := p.Ask(sides[0])
				options := q.Options
				if both || sides[0] == side {
					board := q.Context[tictactoe.ContextBoard].(string)
					if options = known[board]; options == nil {
						options = best(t, board, q.Context[tictactoe.ContextMark].(string))
						known[board] = options
					}
				}
				for _, cell := range options {
					var now [2]string
					now[sides[0]] = cell
					play(p.Play(now))
				}
			}
			play(tictactoe.Game{}.Start())
			assert.Zero(t, ends[side.Other()], "side %d", side)
			assert.Positive(t, ends[rules.NoSide])
			if both {
				assert.Zero(t, ends[side])
			} else {
				assert.Positive(t, ends[side])
			}
		}
	}
}

// worth returns the value of a board for the side to move, by a search without memory: 1,
// 0 or -1.
func worth(board string, mover, other byte) int {
	switch {
	case won(board, other):
		return -1
	case !strings.Contains(board, "."):
		return 0
	}
	top := -1
	for cell := range board {
		if board[cell] == '.' {
			top = max(top, -worth(board[:cell]+string(mover)+board[cell+1:], other, mover))
		}
	}
	return top
}

// The best moves of a position keep its value.
func TestBestIsConsistentAlongAMatch(t *testing.T) {
	boards := 0
	var visit func(board string, mover, other byte)
	seen := map[string]bool{}
	visit = func(board string, mover, other byte) {
		if seen[board] || won(board, other) || !strings.Contains(board, ".") {
			return
		}
		seen[board] = true
		if strings.Count(board, ".") <= 7 { // the other positions begin with these
			boards++
			want := worth(board, mover, other)
			for _, name := range best(t, board, string(mover)) {
				cell, err := strconv.Atoi(name)
				require.NoError(t, err)
				require.Equal(t, want, -worth(board[:cell]+string(mover)+board[cell+1:], other, mover), "%s at %s of %s", string(mover), name, board)
			}
		}
		for cell := range board {
			if board[cell] == '.' {
				visit(board[:cell]+string(mover)+board[cell+1:], other, mover)
			}
		}
	}
	visit(".........", 'X', 'O')
	assert.Greater(t, boards, 4000)
}

func BenchmarkBest(b *testing.B) {
	for _, board := range []string{"X........", "X...O....", "XO..X...O"} {
		b.Run(board, func(b *testing.B) {
			mark := "XO"[strings.Count(board, "X")-strings.Count(board, "O")]
			for b.Loop() {
				if _, err := tictactoe.Best(board, string(mark)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
