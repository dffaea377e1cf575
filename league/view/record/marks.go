package record

import (
	"slices"

	"evenodd/league/lists"
	"evenodd/league/words"
	"evenodd/rules"
)

// boardOf is the board of a position; nil for none. A cell is at most 3 characters of visible text.
func boardOf(p rules.Position) [][]string {
	drawer, ok := p.(rules.Drawer)
	if !ok {
		return nil
	}
	return lists.Map(drawer.Draw(rules.NoSide), func(row []string) []string { return lists.Map(row, cellOf) })
}

// cellOf is a cell as it is shown: at most 3 visible characters.
func cellOf(text string) string {
	shown := []rune(words.Escape(text))
	return string(shown[:min(len(shown), 3)])
}

// settle makes the cells of the last step, of the boards of all steps, which have one size.
func settle(steps []Step) {
	last := len(steps) - 1
	step := &steps[last]
	mover := rules.NoSide // the only one
	if len(step.Moves) == 1 {
		mover = step.Moves[0].Side
	}
	for i, row := range step.Board {
		step.Cells = append(step.Cells, lists.Map(row, func(text string) Cell {
			return Cell{Text: text, Owner: rules.NoSide}
		}))
		for k, text := range row {
			c := &step.Cells[i][k]
			if last > 0 {
				c.Owner = steps[last-1].Cells[i][k].Owner
			}
			if last > 0 && text != steps[last-1].Board[i][k] {
				c.Changed, c.Owner = true, mover
			}
			if isBlank(text) {
				c.Owner = rules.NoSide
			}
		}
	}
	step.changed()
}

// changed lists the places of the cells that have changed.
func (s *Step) changed() {
	s.Changed = nil
	for i, row := range s.Cells {
		for k := range row {
			if row[k].Changed {
				s.Changed = append(s.Changed, [2]int{i, k})
			}
		}
	}
}

// isBlank tells whether a cell has no text, or one that stands for none.
func isBlank(text string) bool { return slices.Contains([]string{"", " ", ".", "·", "_"}, text) }

// mark marks the cells in which two boards of one size differ.
func mark(cells [][]Cell, one, other [][]string, as func(c *Cell)) {
	for i, row := range one {
		for k, text := range row {
			if text != other[i][k] {
				as(&cells[i][k])
			}
		}
	}
}

// label marks the cells that are labels, of those that have the same text in all positions.
func label(steps []Step, isLabel func(same [][]bool, board [][]string, row, column int) bool) {
	board := steps[0].Board
	same := make([][]bool, len(board))
	for i, row := range board {
		for k, text := range row {
			same[i] = append(same[i], !isBlank(text) && steps[0].Cells[i][k].Owner == rules.NoSide &&
				!slices.ContainsFunc(steps, func(s Step) bool { return s.Board[i][k] != text }))
		}
	}
	for i, row := range board {
		for k := range row {
			for n := range steps {
				steps[n].Cells[i][k].Label = isLabel(same, board, i, k)
			}
		}
	}
}

// isLabel tells whether a cell of a game of this program is a label, as each that never changes.
func isLabel(same [][]bool, _ [][]string, row, column int) bool { return same[row][column] }
