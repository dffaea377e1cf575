package connectfour

import (
	"errors"
	"fmt"
	"strings"
)

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
				p.moves++
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
	if mark != marks[p.mover():p.mover()+1] {
		return p, fmt.Errorf("%.20q is not the mark to move after %d moves", mark, p.moves)
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
	if p.marks[p.mover().Other()].won() {
		return p.moves - won
	}
	if depth == 0 || p.moves == columns*rows {
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
