package connectfour

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All sets of four cells are compared with the 69 lines of the board.
func TestLinesAreFoundAmongAllSetsOfFourCells(t *testing.T) {
	lines := map[set]bool{}
	for column := range columns {
		for row := range rows {
			for _, d := range [][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}} {
				endColumn, endRow := column+3*d[0], row+3*d[1]
				if endColumn >= columns || endRow < 0 || endRow >= rows {
					continue
				}
				var line set
				for i := range 4 {
					line = line.with(column+i*d[0], row+i*d[1])
				}
				lines[line] = true
				assert.Len(t, line.line(), 4)
			}
		}
	}
	require.Len(t, lines, 69)
	var cells []set
	for column := range columns {
		for row := range rows {
			cells = append(cells, cell(column, row))
		}
	}
	found := 0
	for a := range cells {
		for b := range a {
			for c := range b {
				for d := range c {
					four := cells[a] | cells[b] | cells[c] | cells[d]
					if four.won() {
						found++
						require.True(t, lines[four], "%x", four)
						require.NotEmpty(t, four.line())
					}
				}
			}
		}
	}
	assert.Equal(t, 69, found)
}
