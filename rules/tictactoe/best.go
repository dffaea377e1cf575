package tictactoe

import (
	"fmt"
	"math/bits"

	"evenodd/rules"
)

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

// Value returns the winner if both sides play the best moves; rules.NoSide for a draw.
func (p position) Value() rules.Side {
	mover := p.mover()
	var s solver
	switch worth := s.worth(p.taken[mover], p.taken[mover.Other()], 0, 1); {
	case worth > 0:
		return mover
	case worth < 0:
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

// threes are the powers of three.
var threes = [len(cells)]int{1, 3, 9, 27, 81, 243, 729, 2187, 6561}

// A solver stores the values of positions during a search, by the marks added since its
// start as digits of base three; 0 for an unknown value.
type solver [3 * 6561]int8

// drawn is the stored value of a draw.
const drawn = 100

// worth returns the value of a position for the side to move: 0 for a draw, more for an
// earlier win, less for an earlier loss. Digit is the mover's digit in the key.
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
