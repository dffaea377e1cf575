package rules

import "fmt"

// A Move is a move of one side.
type Move struct {
	Side Side
	Text string
}

// A Course is a game as far as it was played.
type Course struct {
	Position Position // after the last turn in which all sides have moved
	Last     [2]LastMove
}

// Over tells whether the game is over.
func (c *Course) Over() bool { return len(c.Position.ToMove()) == 0 }

// A LastMove is the last move of a side; the zero value is that of a side that has not
// moved.
type LastMove struct {
	Text   string
	Turn   int // from 1
	Before int // the number of moves of both sides in earlier turns
}

// Replay plays a game by its moves, in order of turns, and SideA before SideB within a
// turn. Moves of the last turn may be missing. The error names the first move that the
// rules do not allow at its place.
func Replay(game Game, moves []Move) (*Course, error) {
	c := &Course{Position: game.Start()}
	for turn, next := 1, 0; next < len(moves); turn++ {
		before := next
		var made [2]string
		missing := 0
		for _, side := range c.Position.ToMove() {
			if next == len(moves) || moves[next].Side != side {
				missing++
				continue
			}
			text := moves[next].Text
			if err := c.Position.Check(side, text); err != nil {
				return nil, &IllegalMoveError{side, text, err}
			}
			c.Last[side] = LastMove{text, turn, before}
			made[side] = text
			next++
		}
		switch {
		case next < len(moves) && (missing > 0 || next == before):
			return nil, fmt.Errorf("move %d, %.60q, is not that of a side to move", next+1, moves[next].Text)
		case missing == 0:
			c.Position = c.Position.Play(made)
		}
	}
	return c, nil
}
