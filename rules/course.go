package rules

import (
	"errors"
	"fmt"
	"slices"
)

// A Move is a move of one side.
type Move struct {
	Side Side
	Text string
	Turn int // from 1; 0 if it is not known
}

// A LastMove is the last move of a side; the zero value is that of a side that has not
// moved.
type LastMove struct {
	Text   string
	Turn   int // from 1
	Before int // the number of moves of both sides in earlier turns
}

// A Course is a game as far as it was played. It is a value: a move leads to another course. The turn is over,
// and the next one begins, when all sides to move have moved.
type Course struct {
	position Position
	sides    []Side // that are to move in this turn, also those that have moved
	turn     int
	before   int // the number of moves in earlier turns
	moves    int // that of all moves
	last     [2]LastMove
	list     *link  // the moves before the last turn that has any, that of SideA first in each turn
	listed   int    // the number of moves in list
	outcomes int    // of the draw that is due; 0 if none is
	awaits   bool   // what the program says of the history
	ready    bool   // turn 1 is the ready turn
	draws    []Draw // so far
	opening  []string
}

// A link is a move after others. Courses share the earlier ones.
type link struct {
	Move
	earlier *link
}

// Begin returns the course of a game before its first move. Turn 1 of a game with draws is the ready turn: see Ready.
func Begin(game Game) Course {
	start := game.Start()
	if startsWithDraws(game, start) {
		return Course{turn: 1, ready: true}.at(ready{start})
	}
	return Course{turn: 1}.at(start)
}

// at returns the course at its next position.
func (c Course) at(position Position) Course {
	c.position, c.sides, c.outcomes, c.awaits = position, position.ToMove(), 0, false
	if len(c.sides) > 0 {
		return c
	}
	if drawing, ok := position.(Drawing); ok {
		c.outcomes = drawing.Outcomes()
	}
	_, c.awaits = position.(pending)
	return c
}

// Position returns the position before the turn.
func (c Course) Position() Position { return c.position }

// Turn returns the number of the turn, from 1. It is one more than that of the last turn when the game is over.
func (c Course) Turn() int { return c.turn }

// Moves returns the moves of all turns, in each of them that of SideA first.
func (c Course) Moves() []Move { return c.MovesAfter(0) }

// MovesAfter returns those of Moves that come after the first n.
func (c Course) MovesAfter(n int) []Move {
	if n >= c.moves {
		return nil
	}
	moves := make([]Move, 0, c.moves-n)
	for m := range c.backward {
		if moves = append(moves, m); len(moves) == cap(moves) {
			break
		}
	}
	slices.Reverse(moves)
	return moves
}

// backward yields all moves, the last one first.
func (c Course) backward(yield func(Move) bool) {
	for _, side := range [...]Side{SideB, SideA} {
		if last := &c.last[side]; c.unlisted(side) && !yield(Move{side, last.Text, last.Turn}) {
			return
		}
	}
	for m := c.list; m != nil; m = m.earlier {
		if !yield(m.Move) {
			return
		}
	}
}

// unlisted tells whether the last move of a side is not in the list: it is of the last turn that has any.
func (c *Course) unlisted(side Side) bool {
	return c.last[side].Turn > 0 && c.last[side].Before == c.listed
}

// Last returns the last move of a side.
func (c Course) Last(side Side) LastMove { return c.last[side] }

// ToMove returns the sides that have not moved in this turn, and none when the game is over, awaits what its program
// says, or a draw is due. The caller must not change the slice.
func (c Course) ToMove() []Side {
	if c.moves == c.before {
		return c.sides
	}
	return slices.DeleteFunc(slices.Clone(c.sides), c.moved)
}

// Over tells whether the game is over.
func (c Course) Over() bool { return len(c.sides) == 0 && c.outcomes == 0 && !c.awaits }

// Owes tells whether a side has a move to make in this turn.
func (c Course) Owes(side Side) bool {
	return slices.Contains(c.sides, side) && !c.moved(side)
}

// moved tells whether a side has moved in this turn.
func (c Course) moved(side Side) bool { return c.last[side].Turn == c.turn }

// Ask returns the question to a side. A side is shown nothing else of the game before its end.
func (c Course) Ask(side Side) Question { return c.position.Ask(side) }

// Check returns an error for a move of a side that the rules do not allow in this turn. It does not tell whether
// the side has moved already.
func (c Course) Check(side Side, move string) error { return c.position.Check(side, move) }

// Move returns the course after a move of a side. The error is an IllegalMoveError, or tells that the side has no
// move to make.
func (c Course) Move(side Side, move string) (Course, error) {
	if !c.Owes(side) {
		return c, errNotToMove
	}
	if err := c.Check(side, move); err != nil {
		return c, &IllegalMoveError{side, move, err}
	}
	return c.after(side, move), nil
}

var (
	errNotToMove = errors.New("the side has no move to make")
	errNotReady  = errors.New("must be " + Ready)
)

// Play returns the course after the turn, by the moves of all sides in ToMove, which must be legal. It ignores
// the moves of other sides.
func (c Course) Play(moves [2]string) Course {
	for _, side := range c.ToMove() {
		c = c.after(side, moves[side])
	}
	return c
}

// PlayMade returns the course after those moves of the turn that were made; "" is none. The error is an
// IllegalMoveError.
func (c Course) PlayMade(moves [2]string) (after Course, err error) {
	after = c
	for _, side := range c.ToMove() {
		if moves[side] == "" {
			continue
		}
		if after, err = after.Move(side, moves[side]); err != nil {
			return c, err
		}
	}
	return after, nil
}

// after returns the course after a legal move of a side in ToMove.
func (c Course) after(side Side, move string) Course {
	if c.moves == c.before {
		c = c.enlist() // another turn begins
	}
	c.moves++
	c.last[side] = LastMove{move, c.turn, c.before}
	if c.moves-c.before == len(c.sides) {
		c = c.at(c.position.Play([2]string{c.last[SideA].Text, c.last[SideB].Text}))
		c.turn, c.before = c.turn+1, c.moves
	}
	return c
}

// enlist adds the moves of the last turn to the list. A game of one turn needs no list.
func (c Course) enlist() Course {
	for _, side := range [...]Side{SideA, SideB} {
		if last := &c.last[side]; c.unlisted(side) {
			c.list = &link{Move{side, last.Text, last.Turn}, c.list}
		}
	}
	c.listed = c.moves
	return c
}

// Judge decides a game that is over. The last moves are those of the match, without the opening.
func (c Course) Judge(chance Chance) Verdict {
	v := c.position.Judge(chance)
	if len(c.opening) > 0 {
		v.Moves = [2]string{c.last[SideA].Text, c.last[SideB].Text}
	}
	return v
}

// Replay plays on by moves, in order of turns, and SideA before SideB within a turn, from a course without moves. Moves
// of the last turn may be missing. Deal goes on where a draw is due, or where the course awaits what the program of the
// game says; it may be nil for a game without draws and program. The error is that of deal, or names the first move
// that the rules do not allow at its place.
func (c Course) Replay(moves []Move, deal func(Course) (Course, error)) (Course, error) {
	c, err := dealt(c, deal)
	if err != nil {
		return c, err
	}
	for i, m := range moves {
		after, err := c.Move(m.Side, m.Text)
		if err == nil {
			after, err = dealt(after, deal)
		}
		if errors.Is(err, errNotToMove) || err == nil && m.Side == SideA && c.moves > c.before ||
			err == nil && m.Turn != 0 && m.Turn != c.turn {
			err = fmt.Errorf("move %d, %.60q, is not that of a side to move", i+1, m.Text)
		}
		if err != nil {
			return c, err
		}
		c = after
	}
	return c, nil
}

// dealt returns the course after all draws and answers of a program that are due.
func dealt(c Course, deal func(Course) (Course, error)) (Course, error) {
	for c.outcomes > 0 || c.awaits {
		if deal == nil {
			return c, errUndealt
		}
		after, err := deal(c)
		if err != nil {
			return c, err
		}
		c = after
	}
	return c, nil
}

var errUndealt = errors.New("nothing here can draw for the game, or ask its program")

// Numbered is a game that a drawn number decides.
type Numbered interface {
	// Numbers are the least and the greatest number that the game draws.
	Numbers() (least, most int)
	// JudgeNumber decides a match by the legal moves of both sides and a number,
	// even one that the game never draws.
	JudgeNumber(moves [2]string, number int) Verdict
	// NumberInput returns the bytes whose hash gives the number of a match, for people who compute it again.
	NumberInput(chance Chance) []byte
}

// Follows judges a match of one turn by a referee's claim: the last move of each side
// ("" for none) and the number drawn (nil for none). Decided tells whether the claim
// decides the match. The error names an illegal move, or a number that the game never
// draws; in the second case there is a verdict as well. The last moves never decide a
// match whose moves are listed.
func Follows(game Game, moves [2]string, number *int) (verdict Verdict, decided bool, err error) {
	if ListsMoves(game) {
		return Verdict{}, false, nil
	}
	c, err := Begin(game).PlayMade(moves)
	if err != nil {
		return Verdict{}, false, err
	}
	numbered, ok := game.(Numbered)
	if ok && number != nil {
		if least, most := numbered.Numbers(); *number < least || *number > most {
			err = &NumberError{*number, least, most}
		}
	}
	switch {
	case !c.Over() || ok && number == nil:
		return Verdict{}, false, err
	case ok:
		return numbered.JudgeNumber(moves, *number), true, err
	}
	return c.Judge(Chance{}), true, nil // nothing is drawn
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
