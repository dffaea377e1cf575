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
	mover := p.mover()
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
