package rules

import (
	"fmt"
	"slices"
)

// A Move is a move of one side.
type Move struct {
	Side Side
	Text string
}

// A Course is a game as far as it was played.
type Course struct {
	Position Position // after the last turn in which all sides have moved
	Last     [2]LastMove
	made     [2]string // in the turn after Position, in which a side has not moved
}

// Over tells whether the game is over.
func (c *Course) Over() bool { return len(c.Position.ToMove()) == 0 }

// Owes tells whether a side has a move to make.
func (c *Course) Owes(side Side) bool {
	return c.made[side] == "" && slices.Contains(c.Position.ToMove(), side)
}

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
		default:
			c.made = made
		}
	}
	return c, nil
}

// Numbered is a game that a drawn number decides.
type Numbered interface {
	// Numbers are the least and the greatest number that the game draws.
	Numbers() (least, most int)
	// JudgeNumber decides a match by the legal moves of both sides and a number,
	// even one that the game never draws.
	JudgeNumber(moves [2]string, number int) Verdict
}

// Follows judges a match of one turn by a referee's claim: the last move of each side
// ("" for none) and the number drawn (nil for none). Decided tells whether the claim
// decides the match. The error names an illegal move, or a number that the game never
// draws; in the second case there is a verdict as well. The last moves never decide a
// match of several turns.
func Follows(game Game, moves [2]string, number *int) (verdict Verdict, decided bool, err error) {
	if game.MaxTurns() > 1 {
		return Verdict{}, false, nil
	}
	position := game.Start()
	complete := true
	for _, side := range position.ToMove() {
		if moves[side] == "" {
			complete = false
			continue
		}
		if err := position.Check(side, moves[side]); err != nil {
			return Verdict{}, false, &IllegalMoveError{side, moves[side], err}
		}
	}
	numbered, ok := game.(Numbered)
	if ok && number != nil {
		if least, most := numbered.Numbers(); *number < least || *number > most {
			err = &NumberError{*number, least, most}
		}
	}
	switch {
	case !complete || ok && number == nil:
		return Verdict{}, false, err
	case ok:
		return numbered.JudgeNumber(moves, *number), true, err
	}
	return position.Play(moves).Judge(Chance{}), true, nil // nothing is drawn
}

// A NumberError names a number that the game never draws.
type NumberError struct {
	Number      int
	Least, Most int // of those that it draws
}

// Error returns the numbers that the game draws.
func (e *NumberError) Error() string {
	return fmt.Sprintf("the number is drawn from %d to %d, not %d", e.Least, e.Most, e.Number)
}

// An IllegalMoveError names a move that the rules do not allow.
type IllegalMoveError struct {
	Side Side
	Move string
	Err  error // the rule
}

// Error returns the text of the rule.
func (e *IllegalMoveError) Error() string { return e.Err.Error() }

// Unwrap returns the rule.
func (e *IllegalMoveError) Unwrap() error { return e.Err }
