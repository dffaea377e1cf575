package rules

// A Drawer is a Position that people can see as a board.
type Drawer interface {
	// Draw returns the rows of the board, from the top, as the side may see it; NoSide sees the
	// whole position. A cell has at most 3 characters and is empty where there is nothing. All
	// positions of a match have boards of the same size. Who shows a board marks the cells that
	// differ from the position before.
	Draw(side Side) [][]string
}

// A LineDrawer is a Drawer of a game that a line of cells wins.
type LineDrawer interface {
	// Line returns the places of the cells of the winning line in what Draw returns, each its row and its column;
	// nil for none.
	Line() [][2]int
	// RowNames returns the names that verdicts use for the rows that Draw returns, "" for a row without one; nil if
	// verdicts name no rows.
	RowNames() []string
}

// A Solver is a Position of a game that has an exact solution, found in milliseconds. The game has
// no chance.
type Solver interface {
	// Value returns the winner if both sides play the best moves from here on; NoSide for a draw.
	Value() Side
}

// Better tells whether a move of the only side to move gives away a won or drawn position, by the
// values of the positions, and returns a move that does not: one that ends the match at once, if
// there is one. It returns "" for any other move, and where no value is known.
func Better(p Position, move string) string {
	sides := p.ToMove()
	before, solved := p.(Solver)
	if !solved || len(sides) != 1 {
		return ""
	}
	side, better := sides[0], ""
	worth := worthTo(side, before)
	if after, ok := next(p, side, move).(Solver); !ok || worthTo(side, after) >= worth {
		return ""
	}
	for _, option := range p.Ask(side).Options {
		after := next(p, side, option)
		value, ok := after.(Solver)
		switch {
		case !ok || worthTo(side, value) < worth:
		case len(after.ToMove()) == 0:
			return option
		case better == "":
			better = option
		}
	}
	return better
}

// next returns the position after a legal move of the only side to move.
func next(p Position, side Side, move string) Position {
	var moves [2]string
	moves[side] = move
	return p.Play(moves)
}

// worthTo returns 1 for a position that a side wins with the best moves, 0 for a draw, and -1 for a
// loss.
func worthTo(side Side, p Solver) int {
	switch p.Value() {
	case side:
		return 1
	case NoSide:
		return 0
	}
	return -1
}
