package tictactoe_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
	"evenodd/rules/rulestest"
	"evenodd/rules/tictactoe"
)

func TestGameKeepsTheRulesOfGames(t *testing.T) {
	rulestest.Check(t, tictactoe.Game{})
}

// after returns the position after legal moves, those of side A first.
func after(t *testing.T, moves string) rules.Position {
	t.Helper()
	var list []rules.Move
	for i, cell := range moves {
		list = append(list, rules.Move{Side: rules.Side(i % 2), Text: string(cell)})
	}
	course, err := rules.Begin(tictactoe.Game{}).Replay(list, nil)
	require.NoError(t, err)
	return course.Position()
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		name, moves string
		winner      rules.Side
		last        [2]string
		reason      string
	}{
		{"the upper row", "03142", rules.SideA, [2]string{"2", "4"}, "P01 has three X in a row: 0, 1, 2"},
		{"a column, by O", "102346", rules.SideB, [2]string{"4", "6"}, "P02 has three O in a row: 0, 3, 6"},
		{"a diagonal", "01428", rules.SideA, [2]string{"8", "2"}, "P01 has three X in a row: 0, 4, 8"},
		{"the other diagonal", "0123456", rules.SideA, [2]string{"6", "5"}, "P01 has three X in a row: 2, 4, 6"},
		{"the other diagonal, of both marks", "01246", rules.NoSide, [2]string{"6", "4"}, "Nobody has three in a row"},
		{"with the last cell", "567430812", rules.SideA, [2]string{"2", "1"}, "P01 has three X in a row: 2, 5, 8"},
		{"two rows with one move: the first is named", "256107834", rules.SideA, [2]string{"4", "3"}, "P01 has three X in a row: 0, 4, 8"},
		{"no winner", "364025718", rules.NoSide, [2]string{"8", "1"}, "The board is full, and nobody has three in a row"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := after(t, test.moves)
			verdict := p.Judge(rules.Chance{Nonce: [32]byte{1}})
			assert.Equal(t, test.winner, verdict.Winner)
			assert.Equal(t, test.last, verdict.Moves)
			assert.Zero(t, verdict.Number, "nothing is drawn")
			assert.Empty(t, verdict.Parity)
			assert.Equal(t, test.reason, verdict.Reason([2]string{"P01", "P02"}))
		})
	}
}

func TestQuestions(t *testing.T) {
	q := after(t, "40").Ask(rules.SideA)
	assert.Equal(t, "place_mark", q.MoveType)
	assert.Equal(t, []string{"1", "2", "3", "5", "6", "7", "8"}, q.Options)
	assert.Equal(t, map[string]any{"board": "O...X....", "mark": "X", "move_number": 3}, q.Context)
	assert.Equal(t, "O", after(t, "408").Ask(rules.SideB).Context[tictactoe.ContextMark])
	assert.Empty(t, after(t, "40").Ask(rules.SideB).Options, "it is the other's turn")
}

func TestIllegalMoves(t *testing.T) {
	for _, test := range []struct {
		name, moves string
		side        rules.Side
		move, want  string
	}{
		{"a cell that is taken", "4", rules.SideB, "4", "cell 4 is taken"},
		{"one's own cell", "40", rules.SideA, "4", "cell 4 is taken"},
		{"no cell", "4", rules.SideB, "9", `choice must be a cell from "0" to "8"`},
		{"a negative one", "4", rules.SideB, "-1", `choice must be a cell from "0" to "8"`},
		{"a cell with a zero before it", "4", rules.SideB, "01", `choice must be a cell from "0" to "8"`},
		{"a cell by its place", "4", rules.SideB, "a1", `choice must be a cell from "0" to "8"`},
		{"nothing", "4", rules.SideB, "", `choice must be a cell from "0" to "8"`},
		{"out of turn", "4", rules.SideA, "0", "it is the other's turn"},
		{"after the end", "03142", rules.SideB, "8", "the match is over"},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.EqualError(t, after(t, test.moves).Check(test.side, test.move), test.want)
		})
	}
}

// won finds a row of three by a simple search.
func won(board string, mark byte) bool {
	for i := range 3 {
		across, down, falling, rising := true, true, true, true
		for j := range 3 {
			across = across && board[3*i+j] == mark
			down = down && board[3*j+i] == mark
			falling = falling && board[3*j+j] == mark
			rising = rising && board[3*j+2-j] == mark
		}
		if across || down || falling || rising {
			return true
		}
	}
	return false
}

// The test visits all reachable positions and compares them with a simple board: the side
// to move, the legal moves, the winner.
func TestEveryPosition(t *testing.T) {
	seen := map[string]int{} // number of matches from a position, by board
	ends := map[string]int{}
	var visit func(p rules.Position, board string, moves int) int
	visit = func(p rules.Position, board string, moves int) int {
		if known, ok := seen[board]; ok {
			return known
		}
		mover := rules.Side(moves % 2)
		mark, other := "XO"[mover], "XO"[mover.Other()]
		require.LessOrEqual(t, moves, 9)
		over := won(board, other) || moves == 9
		require.False(t, won(board, mark), "who is to move has not won: %s", board)
		require.Equal(t, over, len(p.ToMove()) == 0, board)
		if over {
			verdict := p.Judge(rules.Chance{})
			want, name := rules.NoSide, "draw"
			if won(board, other) {
				want, name = mover.Other(), string(other)
			}
			require.Equal(t, want, verdict.Winner, board)
			for cell := range 9 {
				require.Error(t, p.Check(mover, strconv.Itoa(cell)), board)
			}
			ends[name]++
			seen[board] = 1
			return 1
		}
		q := p.Ask(mover)
		require.Equal(t, map[string]any{"board": board, "mark": string(mark), "move_number": moves + 1}, q.Context)
		matches := 0
		var legal []string
		for cell := range 9 {
			name := strconv.Itoa(cell)
			require.Error(t, p.Check(mover.Other(), name), board)
			if board[cell] != '.' {
				require.Error(t, p.Check(mover, name), board)
				continue
			}
			require.NoError(t, p.Check(mover, name), board)
			legal = append(legal, name)
			var now [2]string
			now[mover] = name
			matches += visit(p.Play(now), board[:cell]+string(mark)+board[cell+1:], moves+1)
		}
		require.Equal(t, legal, q.Options)
		seen[board] = matches
		return matches
	}
	matches := visit(tictactoe.Game{}.Start(), ".........", 0)
	assert.Equal(t, 255_168, matches, "as many as books say")
	assert.Len(t, seen, 5478)
	assert.Equal(t, map[string]int{"X": 626, "O": 316, "draw": 16}, ends)
}

func TestInfo(t *testing.T) {
	info := tictactoe.Game{}.Info()
	assert.Equal(t, "Tic-Tac-Toe", info.DisplayName)
	assert.Equal(t, []string{"place_mark"}, info.MoveTypes)
	info.ValidChoices["place_mark"][0] = "changed"
	assert.Equal(t, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}, tictactoe.Game{}.Info().ValidChoices["place_mark"])
}
