// Package tictactoe is the game Tic-Tac-Toe: two players put
// their marks on a board of nine cells in turn, and the first with three in a row
// wins. No number is drawn. All functions are pure.
package tictactoe

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"evenodd/rules"
)

// Type is the game's identifier in the protocol.
const Type = "tic_tac_toe"

// MoveType is the only kind of move: the cell that gets the mover's mark, "0" to
// "8", row by row from the top left.
const MoveType = "place_mark"

// The members of the context of a question.
const (
	ContextBoard = "board"       // nine characters, one for each cell: X, O, or . for an empty cell
	ContextMark  = "mark"        // of the side to move
	ContextMove  = "move_number" // in the match, from 1
)

// Game is Tic-Tac-Toe. PLAYER_A has X and begins.
type Game struct{}

var (
	_ rules.Game     = Game{}
	_ rules.Position = position{}
	_ rules.Drawer   = position{}
	_ rules.Solver   = position{}

	_ rules.LineDrawer = position{}
)

// cells are the names of the cells.
var cells = [9]string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}

// Info describes the game.
func (Game) Info() rules.Info {
	return rules.Info{
		Type:        Type,
		DisplayName: "Tic-Tac-Toe",
		Rules: "Player A plays X and moves first; the players take turns to mark a free cell of a 3 by 3 " +
			"board. Three marks in a row, column or diagonal win; a full board is a draw.",
		MoveTypes:    []string{MoveType},
		MoveWord:     "cell",
		ValidChoices: map[string][]string{MoveType: full.names()},
		MaxMoves:     5, // of X; O has four
	}
}

// MaxTurns is 9.
func (Game) MaxTurns() int { return 9 }

// Start returns the empty board.
func (Game) Start() rules.Position { return position{} }

// A set of cells is one bit for each.
type set uint16

const full set = 1<<9 - 1

// rows are the sets of three that win.
var rows = [8]set{0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124}

// row returns a row in the set; 0 for none.
func (s set) row() set {
	for _, r := range rows {
		if s&r == r {
			return r
		}
	}
	return 0
}

func (s set) has(cell int) bool { return s>>cell&1 == 1 }

func (s set) with(cell int) set { return s | 1<<cell }

// names returns the names of the cells in the set.
func (s set) names() []string {
	names := make([]string, 0, len(cells))
	for cell, name := range cells {
		if s.has(cell) {
			names = append(names, name)
		}
	}
	return names
}

// marks are the marks of the sides.
var marks = [2]byte{'X', 'O'}

// position is a board between two moves.
type position struct {
	rules.Turns
	taken [2]set // by side
}

func (p position) free() set { return full &^ (p.taken[0] | p.taken[1]) }

func (p position) Ask(side rules.Side) rules.Question {
	if p.CheckTurn(side) != nil {
		return rules.Question{}
	}
	return rules.Question{
		MoveType: MoveType, Options: p.free().names(),
		Context: map[string]any{ContextBoard: p.board(), ContextMark: string(marks[side]), ContextMove: p.Moves + 1},
	}
}

// board returns the board in the form of the context.
func (p position) board() string {
	board := []byte(strings.Repeat(".", len(cells)))
	for side, mark := range marks {
		for cell := range board {
			if p.taken[side].has(cell) {
				board[cell] = mark
			}
		}
	}
	return string(board)
}

// Draw returns the board. Both sides see everything.
func (p position) Draw(rules.Side) [][]string {
	drawn := make([][]string, 3)
	for cell, mark := range p.board() {
		drawn[cell/3] = append(drawn[cell/3], strings.Trim(string(mark), "."))
	}
	return drawn
}

// Line returns the places of the row of three; nil for none.
func (p position) Line() (places [][2]int) {
	row := p.taken[0].row() | p.taken[1].row()
	for cell := range cells {
		if row.has(cell) {
			places = append(places, [2]int{cell / 3, cell % 3})
		}
	}
	return places
}

// RowNames returns nil: cells have numbers.
func (position) RowNames() []string { return nil }

func (p position) Check(side rules.Side, move string) error {
	cell, ok := cellOf(move)
	switch err := p.CheckTurn(side); {
	case err != nil:
		return err
	case !ok:
		return errors.New(`choice must be a cell from "0" to "8"`)
	case !p.free().has(cell):
		return fmt.Errorf("cell %d is taken", cell)
	}
	return nil
}

// cellOf returns the cell with a name.
func cellOf(name string) (cell int, ok bool) {
	if len(name) != 1 || name[0] < '0' || name[0] > '8' {
		return 0, false
	}
	return int(name[0] - '0'), true
}

func (p position) Play(moves [2]string) rules.Position {
	side := p.Mover()
	cell, _ := cellOf(moves[side]) // legal
	p.taken[side] = p.taken[side].with(cell)
	p.Turns = p.Next(moves, p.free() == 0 || p.taken[side].row() != 0)
	return p
}

// Judge finds the row that decides the match. The game has no chance.
func (p position) Judge(rules.Chance) rules.Verdict {
	for side, taken := range p.taken {
		if row := taken.row(); row != 0 {
			return p.Verdict(rules.Side(side), func(ids [2]string) string {
				return fmt.Sprintf("%s has three %c in a row: %s", ids[side], marks[side], strings.Join(row.names(), ", "))
			})
		}
	}
	reason := "The board is full, and nobody has three in a row"
	if p.free() != 0 {
		reason = "Nobody has three in a row"
	}
	return p.Verdict(rules.NoSide, func([2]string) string { return reason })
}

// Best returns the best moves of the side with the mark, on a board in the form of a
// question's context: the moves that win soonest; if none wins, the moves that draw; if
// all lose, the moves that lose last. An error means that the board or the mark
// is not in that form, or that the match is over.
func Best(board, mark string) ([]string, error) {
	mine, theirs, err := read(board, mark)
	if err != nil {
		return nil, err
	}
	if mine|theirs == 0 {
		return full.names(), nil // every first move leads to a draw
	}
	best, top := set(0), -won
	for cell := range cells {
		if (mine | theirs).has(cell) {
			continue
		}
		value := -worth(theirs, mine.with(cell), -won, 1-top)
		if value > top {
			best, top = 0, value
		}
		if value == top {
			best = best.with(cell)
		}
	}
	return best.names(), nil
}

// Value returns the winner if both sides play the best moves; rules.NoSide for a draw.
func (p position) Value() rules.Side {
	mover := p.Mover()
	switch value := worth(p.taken[mover], p.taken[mover.Other()], -1, 1); {
	case value > 0:
		return mover
	case value < 0:
		return mover.Other()
	}
	return rules.NoSide
}

// read returns the cells of the side with the mark, and those of the other side.
func read(board, mark string) (mine, theirs set, err error) {
	if mark != string(marks[0]) && mark != string(marks[1]) {
		return 0, 0, fmt.Errorf("mark must be X or O, not %.20q", mark)
	}
	if len(board) != len(cells) {
		return 0, 0, fmt.Errorf("a board has nine cells: %.20q", board)
	}
	for cell := range cells {
		switch c := board[cell]; c {
		case '.':
		case mark[0]:
			mine = mine.with(cell)
		case marks[0], marks[1]:
			theirs = theirs.with(cell)
		default:
			return 0, 0, fmt.Errorf("a cell is X, O or . where it is empty: %.20q", board)
		}
	}
	if mine.row() != 0 || theirs.row() != 0 || mine|theirs == full {
		return 0, 0, fmt.Errorf("the match is over: %q", board)
	}
	return mine, theirs, nil
}

// won is more than the value of any win.
const won = 10

// worth returns the value of a position for the side to move (by negamax with alpha-beta pruning):
// 0 for a draw, more for an earlier win, less for an earlier loss. The value is exact if it is
// between low and high.
func worth(mover, other set, low, high int) int {
	free := full &^ (mover | other)
	if other.row() != 0 {
		return -1 - bits.OnesCount16(uint16(free))
	}
	if free == 0 {
		return 0
	}
	for rest := free; rest != 0 && low < high; rest &= rest - 1 {
		cell := bits.TrailingZeros16(uint16(rest))
		low = max(low, -worth(other, mover.with(cell), -high, -low))
	}
	return low
}
