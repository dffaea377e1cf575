package connectfour_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/rulestest"
)

func TestGameKeepsTheRulesOfGames(t *testing.T) {
	rulestest.Check(t, connectfour.Game{})
}

// after returns the position after legal moves, those of side A first.
func after(t *testing.T, moves string) rules.Position {
	t.Helper()
	var list []rules.Move
	for i, column := range moves {
		list = append(list, rules.Move{Side: rules.Side(i % 2), Text: string(column)})
	}
	course, err := rules.Begin(connectfour.Game{}).Replay(list, nil)
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
		{"a row", "1122334", rules.SideA, [2]string{"4", "3"}, "P01 has four X in a line: 1a, 2a, 3a, 4a"},
		{"a row at the right", "7766554", rules.SideA, [2]string{"4", "5"}, "P01 has four X in a line: 4a, 5a, 6a, 7a"},
		{"a row of five: its first four are named", "112255443", rules.SideA, [2]string{"3", "4"}, "P01 has four X in a line: 1a, 2a, 3a, 4a"},
		{"a row, by O", "71727364", rules.SideB, [2]string{"6", "4"}, "P02 has four O in a line: 1a, 2a, 3a, 4a"},
		{"a column", "1213141", rules.SideA, [2]string{"1", "4"}, "P01 has four X in a line: 1a, 1b, 1c, 1d"},
		{"a column, by O", "27372727", rules.SideB, [2]string{"2", "7"}, "P02 has four O in a line: 7a, 7b, 7c, 7d"},
		{"a diagonal up", "77655667457", rules.SideA, [2]string{"7", "5"}, "P01 has four X in a line: 4a, 5b, 6c, 7d"},
		{"a diagonal down, by O", "654755764424", rules.SideB, [2]string{"2", "4"}, "P02 has four O in a line: 4d, 5c, 6b, 7a"},
		{"with the last cell", "734277664135511763325453312776151562264424", rules.SideB, [2]string{"2", "4"}, "P02 has four O in a line: 4f, 5e, 6d, 7c"},
		{"a full board", "174166227341672362665415453424277135575133", rules.NoSide, [2]string{"3", "3"}, "The board is full, and nobody has four in a line"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := after(t, test.moves)
			require.Empty(t, p.ToMove())
			verdict := p.Judge(rules.Chance{Nonce: [32]byte{1}})
			assert.Equal(t, test.winner, verdict.Winner)
			assert.Equal(t, test.last, verdict.Moves)
			assert.Equal(t, test.reason, verdict.Reason([2]string{"P01", "P02"}))
			assert.Zero(t, verdict.Number, "nothing is drawn")
		})
	}
}

func TestQuestions(t *testing.T) {
	q := after(t, "4444443").Ask(rules.SideB)
	assert.Equal(t, "drop_mark", q.MoveType)
	assert.Equal(t, []string{"1", "2", "3", "5", "6", "7"}, q.Options, "column 4 is full")
	assert.Equal(t, map[string]any{"mark": "O", "board": []string{
		"...O...",
		"...X...",
		"...O...",
		"...X...",
		"...O...",
		"..XX...",
	}}, q.Context)
	assert.Empty(t, after(t, "4").Ask(rules.SideA).Options, "it is the other's turn")
}

func TestIllegalMoves(t *testing.T) {
	const form = `choice must be a column from "1" to "7"`
	for _, test := range []struct {
		name, moves string
		side        rules.Side
		move, want  string
	}{
		{"a full column", "444444", rules.SideA, "4", "column 4 is full"},
		{"column 0", "", rules.SideA, "0", form},
		{"column 8", "", rules.SideA, "8", form},
		{"a column with a zero before it", "", rules.SideA, "01", form},
		{"a letter", "", rules.SideA, "a", form},
		{"nothing", "", rules.SideA, "", form},
		{"out of turn", "4", rules.SideA, "4", "it is the other's turn"},
		{"after the end", "1122334", rules.SideB, "5", "the match is over"},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.EqualError(t, after(t, test.moves).Check(test.side, test.move), test.want)
		})
	}
}

// won finds four in a line by a simple search. The rows are in the form of the context.
func won(board []string, mark byte) bool {
	at := func(row, column int) bool {
		return row >= 0 && row < 6 && column >= 0 && column < 7 && board[row][column] == mark
	}
	for row := range 6 {
		for column := range 7 {
			for _, d := range [][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}} {
				if at(row, column) && at(row+d[0], column+d[1]) && at(row+2*d[0], column+2*d[1]) && at(row+3*d[0], column+3*d[1]) {
					return true
				}
			}
		}
	}
	return false
}

// dropped returns the board after a mark in a column; false if the column is full.
func dropped(board []string, column int, mark byte) (after []string, ok bool) {
	for row := 5; row >= 0; row-- {
		if board[row][column] == '.' {
			after = append(after, board...)
			after[row] = board[row][:column] + string(mark) + board[row][column+1:]
			return after, true
		}
	}
	return nil, false
}

func emptyBoard() []string { return strings.Fields(strings.Repeat("....... ", 6)) }

// The test plays at random and compares each position with a simple board: the side to move, the
// legal moves, the winner.
func TestRandomMatchesAgreeWithASimpleBoard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, board := connectfour.Game{}.Start(), emptyBoard()
		for moves := 0; ; moves++ {
			mover := rules.Side(moves % 2)
			mark, other := "XO"[mover], "XO"[mover.Other()]
			require.False(t, won(board, mark), "the side to move has not won: %s", board)
			if won(board, other) || moves == 42 {
				require.Empty(t, p.ToMove(), board)
				want := rules.NoSide
				if won(board, other) {
					want = mover.Other()
				}
				require.Equal(t, want, p.Judge(rules.Chance{}).Winner, board)
				return
			}
			require.Equal(t, []rules.Side{mover}, p.ToMove(), board)
			q := p.Ask(mover)
			require.Equal(t, map[string]any{"board": board, "mark": string(mark)}, q.Context)
			var legal []string
			for column := range 7 {
				name := fmt.Sprint(column + 1)
				require.Error(t, p.Check(mover.Other(), name))
				_, open := dropped(board, column, mark)
				require.Equal(t, open, p.Check(mover, name) == nil, "%s %s", board, name)
				if open {
					legal = append(legal, name)
				}
			}
			require.Equal(t, legal, q.Options)
			var made [2]string
			made[mover] = rapid.SampledFrom(q.Options).Draw(t, "column")
			made[mover.Other()] = rapid.String().Draw(t, "a move of the other side")
			board, _ = dropped(board, int(made[mover][0]-'1'), mark)
			p = p.Play(made)
		}
	})
}

func TestInfo(t *testing.T) {
	info := connectfour.Game{}.Info()
	info.ValidChoices["drop_mark"][0] = "changed"
	assert.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7"}, connectfour.Game{}.Info().ValidChoices["drop_mark"])
	assert.Equal(t, 21, info.MaxMoves)
	assert.Equal(t, 42, connectfour.Game{}.MaxTurns())
}
