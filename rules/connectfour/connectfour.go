// Package connectfour is the game Connect Four: the players drop their marks in turn into
// seven columns of six cells, and the first with four in a line wins. All functions are pure:
// no clock, no network, no source of randomness.
package connectfour

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"evenodd/rules"
)

// Type is the game's identifier in the protocol.
const Type = "connect_four"

// MoveType is the only kind of move: the column that gets the mover's mark, "1" to "7" from
// the left.
const MoveType = "drop_mark"

// The members of the context of a question.
const (
	ContextBoard = "board" // the rows from the top, each with one character for a cell: X, O, or . for an empty cell
	ContextMark  = "mark"  // of the side to move
)

const (
	columns = 7
	rows    = 6
	marks   = "XO" // by side
)

// Game is Connect Four. PLAYER_A has X and begins.
type Game struct{}

var (
	_ rules.Game     = Game{}
	_ rules.Position = position{}
	_ rules.Drawer   = position{}
)

// Info describes the game.
func (Game) Info() rules.Info {
	return rules.Info{
		Type:        Type,
		DisplayName: "Connect Four",
		Rules: "Player A plays X and moves first; the players drop a mark in turn into one of seven columns, where it " +
			"falls onto the marks below. Four marks in a row, column or diagonal win; a full board of six rows is a draw.",
		MoveTypes:    []string{MoveType},
		MoveWord:     "column",
		ValidChoices: map[string][]string{MoveType: position{}.open()},
		MaxMoves:     columns * rows / 2,
	}
}

// MaxTurns is 42.
func (Game) MaxTurns() int { return columns * rows }

// Start is the empty board.
func (Game) Start() rules.Position { return position{} }

// A position is a board. It has no slices and no maps, so that a copy shares nothing with it.
type position struct {
	rules.Turns
	marks   [2]set // by side
	heights [columns]int
}

// over tells whether a side has won or the board is full. Only the side that moved last can
// have won.
func (p position) over() bool {
	return p.Moves == columns*rows || p.marks[p.Mover().Other()].won()
}

// open returns the names of the columns that are not full.
func (p position) open() []string {
	names := make([]string, 0, columns)
	for column, height := range p.heights {
		if height < rows {
			names = append(names, string(rune('1'+column)))
		}
	}
	return names
}

// column returns the column with a name.
func column(name string) (column int, ok bool) {
	if len(name) != 1 || name[0] < '1' || name[0] >= '1'+columns {
		return 0, false
	}
	return int(name[0] - '1'), true
}

// Ask returns the columns that are not full, and the board.
func (p position) Ask(side rules.Side) rules.Question {
	if p.CheckTurn(side) != nil {
		return rules.Question{}
	}
	return rules.Question{
		MoveType: MoveType, Options: p.open(),
		Context: map[string]any{ContextBoard: p.board(), ContextMark: marks[side : side+1]},
	}
}

// board returns the board in the form of the context.
func (p position) board() []string {
	var cells [rows * columns]byte // from the top
	for i := range cells {
		cells[i] = '.'
		for side := range p.marks {
			if p.marks[side].has(i%columns, rows-1-i/columns) {
				cells[i] = marks[side]
			}
		}
	}
	board, text := make([]string, rows), string(cells[:])
	for row := range board {
		board[row] = text[row*columns : (row+1)*columns]
	}
	return board
}

// Draw returns the board above the names of its columns. Both sides see everything.
func (p position) Draw(rules.Side) [][]string {
	drawn := make([][]string, 0, rows+1)
	for _, line := range p.board() {
		drawn = append(drawn, strings.Split(line, ""))
	}
	for _, row := range drawn {
		for i, cell := range row {
			row[i] = strings.Trim(cell, ".")
		}
	}
	return append(drawn, position{}.open())
}

// Line returns the places of the line of four; nil for none.
func (p position) Line() (places [][2]int) {
	for _, marks := range p.marks {
		for _, at := range marks.line() {
			places = append(places, [2]int{rows - 1 - at%(rows+1), at / (rows + 1)})
		}
	}
	return places
}

// RowNames returns the letters of the rows, and none for that of the names of columns.
func (position) RowNames() []string {
	names := make([]string, rows+1)
	for row := range rows {
		names[row] = string(rune('a' + rows - 1 - row))
	}
	return names
}

// Check returns an error for an illegal move.
func (p position) Check(side rules.Side, move string) error {
	column, ok := column(move)
	switch err := p.CheckTurn(side); {
	case err != nil:
		return err
	case !ok:
		return errors.New(`choice must be a column from "1" to "7"`)
	case p.heights[column] == rows:
		return fmt.Errorf("column %s is full", move)
	}
	return nil
}

// Play drops a mark.
func (p position) Play(moves [2]string) rules.Position {
	column, _ := column(moves[p.Mover()]) // Check accepted it
	next := p.drop(column)
	next.Turns = p.Next(moves, next.over())
	return next
}

// drop returns the position after a mark of the mover in a column that is not full.
func (p position) drop(column int) position {
	p.marks[p.Mover()] = p.marks[p.Mover()].with(column, p.heights[column])
	p.heights[column]++
	p.Moves++
	return p
}

// Judge finds the line that decides the match. The game has no chance.
func (p position) Judge(rules.Chance) rules.Verdict {
	for side := range p.marks {
		if line := p.marks[side].line(); len(line) > 0 {
			return p.Verdict(rules.Side(side), func(ids [2]string) string {
				return fmt.Sprintf("%s has four %c in a line: %s", ids[side], marks[side], strings.Join(names(line), ", "))
			})
		}
	}
	return p.Verdict(rules.NoSide, func([2]string) string { return "The board is full, and nobody has four in a line" })
}

// A set of cells has one bit for each: those of a column from the bottom, and one bit between
// two columns that is always 0.
type set uint64

func cell(column, row int) set { return 1 << (column*(rows+1) + row) }

func (s set) has(column, row int) bool { return s&cell(column, row) != 0 }

func (s set) with(column, row int) set { return s | cell(column, row) }

// directions are the distances of neighbours in a set: up, right, up to the right, down to the right.
var directions = [4]int{1, rows + 1, rows + 2, rows}

// fours returns the first cells of the lines of four in a direction.
func (s set) fours(direction int) set {
	pairs := s & (s >> direction)
	return pairs & (pairs >> (2 * direction))
}

// won reports whether the set has a line of four.
func (s set) won() bool {
	for _, direction := range directions {
		if s.fours(direction) != 0 {
			return true
		}
	}
	return false
}

// line returns the cells of a line of four in the set, as the numbers of their bits; nil for none.
func (s set) line() []int {
	for _, direction := range directions {
		if fours := s.fours(direction); fours != 0 {
			first := bits.TrailingZeros64(uint64(fours))
			return []int{first, first + direction, first + 2*direction, first + 3*direction}
		}
	}
	return nil
}

// names returns the columns and rows of cells, rows from the bottom, such as 1a.
func names(line []int) (names []string) {
	for _, at := range line {
		names = append(names, fmt.Sprintf("%d%c", at/(rows+1)+1, 'a'+at%(rows+1)))
	}
	return names
}

// Best returns the best moves of the side with the mark, on a board in the form of a question's
// context, as far as a search of depth moves of both sides shows, 1 or more: the moves that win
// soonest; if it finds none, the moves that do not lose; if all lose, the moves that lose last. An
// error means that this is no board of a match, or that the mark is not to move on it.
func Best(board []string, mark string, depth int) ([]string, error) {
	p, err := read(board, mark)
	if err != nil {
		return nil, err
	}
	var best []string
	top := -won
	for _, name := range p.open() {
		column, _ := column(name)
		worth := -p.drop(column).worth(depth-1, -won, 1-top)
		if worth > top {
			best, top = nil, worth
		}
		if worth == top {
			best = append(best, name)
		}
	}
	return best, nil
}

// read returns the position with a board.
func read(board []string, mark string) (p position, err error) {
	if len(board) != rows {
		return p, fmt.Errorf("a board has %d rows, not %d", rows, len(board))
	}
	for row, line := range board {
		if len(line) != columns || strings.Trim(line, "XO.") != "" {
			return p, fmt.Errorf("a row has seven cells, each X, O or . where it is empty: %.20q", line)
		}
		for column := range columns {
			if side := strings.IndexByte(marks, line[column]); side >= 0 {
				p.marks[side] = p.marks[side].with(column, rows-1-row)
				p.heights[column] = max(p.heights[column], rows-row)
				p.Moves++
			}
		}
	}
	for column, height := range p.heights {
		for row := range height {
			if !(p.marks[0] | p.marks[1]).has(column, row) {
				return p, fmt.Errorf("column %d has an empty cell below a mark", column+1)
			}
		}
	}
	if mark != marks[p.Mover():p.Mover()+1] {
		return p, fmt.Errorf("%.20q is not the mark to move after %d moves", mark, p.Moves)
	}
	if p.over() {
		return p, errors.New("the match is over")
	}
	return p, nil
}

// won is more than the value of any win.
const won = columns*rows + 2

// worth returns the value of a position for the side to move, by a search of depth moves
// (negamax with alpha-beta pruning): 0 for a draw or an unknown end, more for an earlier win, less
// for an earlier loss. The value is exact if it is between low and high.
func (p position) worth(depth, low, high int) int {
	if p.marks[p.Mover().Other()].won() {
		return p.Moves - won
	}
	if depth == 0 || p.Moves == columns*rows {
		return 0
	}
	for _, column := range [columns]int{3, 2, 4, 1, 5, 0, 6} { // the centre first, because it prunes more
		if p.heights[column] == rows {
			continue
		}
		low = max(low, -p.drop(column).worth(depth-1, -high, -low))
		if low >= high {
			break
		}
	}
	return low
}
