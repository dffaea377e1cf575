package tictactoe

import (
	"fmt"
	"math/bits"
)

// Best lists the best moves of whoever has the mark, of a board as the context of
// a question tells it: those that win soonest; where none wins, those that do not
// lose; where all lose, those that lose last.
func Best(board, mark string) ([]string, error) {
	mine, theirs, err := read(board, mark)
	if err != nil {
		return nil, err
	}
	if mine|theirs == 0 {
		return full.names(), nil // nobody can be made to lose from the empty board
	}
	var s solver
	best, top := set(0), int8(-127)
	for cell := range cells {
		if (mine | theirs).has(cell) {
			continue
		}
		switch worth := -s.worth(theirs, mine.with(cell), threes[cell], 2); {
		case worth > top:
			best, top = set(0).with(cell), worth
		case worth == top:
			best = best.with(cell)
		}
	}
	return best.names(), nil
}

// read makes sets of a board: those of whoever has the mark, and the other's.
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

// threes are the powers of three.
var threes = [len(cells)]int{1, 3, 9, 27, 81, 243, 729, 2187, 6561}

// A solver remembers what positions are worth while it looks for the best move:
// by the marks that came since then, as digits of base three; 0 for not yet.
type solver [3 * 6561]int8

// drawn is what a draw is worth in a solver's memory.
const drawn = 100

// worth is what a position is worth to whoever moves: nothing for a draw, more
// the sooner it wins, less the sooner it loses. Digit is the mover's in the key.
func (s *solver) worth(mover, other set, key, digit int) int8 {
	free := full &^ (mover | other)
	if other.row() != 0 {
		return -1 - int8(bits.OnesCount16(uint16(free))) //nolint:gosec // 8 at most
	}
	switch known := s[key]; {
	case known == drawn || free == 0:
		return 0
	case known != 0:
		return known
	}
	best := int8(-127)
	for rest := free; rest != 0; rest &= rest - 1 {
		cell := bits.TrailingZeros16(uint16(rest))
		best = max(best, -s.worth(other, mover.with(cell), key+digit*threes[cell], 3-digit))
	}
	s[key] = best
	if best == 0 {
		s[key] = drawn
	}
	return best
}
