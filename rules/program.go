package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Program is a game whose rules are those of an external program. The program answers histories, and its answers are
// positions. This package stays pure: where a Course awaits an answer, its caller asks the program.
type Program struct {
	info     Info
	maxTurns int
}

// NewProgram returns the game that a program describes, with the largest number of turns of a match.
func NewProgram(info Info, maxTurns int) *Program { return &Program{info, maxTurns} }

// Info describes the game.
func (p *Program) Info() Info { return p.info }

// MaxTurns returns the largest number of turns of a match.
func (p *Program) MaxTurns() int { return p.maxTurns }

// Start returns a position that awaits what the program says of the empty history.
func (p *Program) Start() Position { return pending{program: p} }

// An Entry is one thing that has happened in a match: a draw, or the moves of a turn.
type Entry struct {
	Draw  *int      // the outcome, from 0; nil for the moves of a turn
	Moves [2]string // "" for a side that has not moved
}

// A State is what a program says of a history. Exactly one of the first four is so: sides are to move, a draw is due,
// the match is over, or the history is not legal.
type State struct {
	ToMove  [2]*Question // nil for a side that is not to move; the questions have no context
	Draw    int          // outcomes of the draw that is due, from 2 to MaxOutcomes; 0 for none
	Over    bool
	Illegal *Illegal

	Winner Side   // of a match that is over; NoSide for a draw
	Reason string // why, for people; "{A}" and "{B}" stand for the ids of the players

	Board [][]string // rows of cells, which all may see; nil for none, and for that of the state before
}

// An Illegal is the first entry of a history that the rules do not allow at its place.
type Illegal struct {
	Index  int // from 0
	Side   Side
	Reason string
}

// asksSecretly tells whether the other side does not learn a move that is due.
func (s *State) asksSecretly() bool {
	return slices.ContainsFunc(s.ToMove[:], func(q *Question) bool { return q != nil && q.Secret })
}

// Contradiction returns the error for an entry that the program has refused although it led to the history. It has no
// reason if the game hides something: nobody may learn of a card by it.
func (p *Program) Contradiction(refused *Illegal) error {
	reason := ": " + refused.Reason
	if p.info.Hidden {
		reason = ""
	}
	return fmt.Errorf("the program refuses entry %d of a history to which it led%s", refused.Index, reason)
}

// pending is a position that awaits what the program says.
type pending struct {
	program *Program
	last    [2]string // the last move of each side
	rows    int       // of the board in the position before; 0 for none
	columns int
}

func (pending) ToMove() []Side            { return nil }
func (pending) Ask(Side) Question         { return Question{} }
func (pending) Check(Side, string) error  { return errNotToMove }
func (p pending) Play([2]string) Position { return p }
func (pending) Judge(Chance) Verdict      { return Verdict{Winner: NoSide} }
func (p pending) told(state *State) *told { return &told{pending: p, state: state} }
func (p pending) fits(board [][]string) error {
	rows, columns := size(board)
	if p.rows > 0 && rows > 0 && (rows != p.rows || columns != p.columns) {
		return fmt.Errorf("the board has %d rows of %d cells, before it had %d of %d: all boards of a match have one size",
			rows, columns, p.rows, p.columns)
	}
	return nil
}

func size(board [][]string) (rows, columns int) {
	if len(board) == 0 {
		return 0, 0
	}
	return len(board), len(board[0])
}

// told is a position that a program has described.
type told struct {
	pending

	state *State
}

func (t *told) ToMove() (sides []Side) {
	for side, q := range t.state.ToMove {
		if q != nil {
			sides = append(sides, Side(side))
		}
	}
	return sides
}

func (t *told) Ask(side Side) Question {
	if q := t.state.ToMove[side]; q != nil {
		return *q
	}
	return Question{}
}

// Check compares a move with the options. Of free text it checks the size and the encoding; what the rules say of it,
// only the program can tell.
func (t *told) Check(side Side, move string) error {
	q := t.state.ToMove[side]
	switch {
	case q == nil:
		return errNotToMove
	case q.Text == 0 && !slices.Contains(q.Options, move):
		return errors.New("must be one of the options")
	case q.Text == 0:
		return nil
	case move == "" || len(move) > q.Text:
		return fmt.Errorf("must be a text of 1 to %d bytes", q.Text)
	case !utf8.ValidString(move):
		return errors.New("must be UTF-8")
	}
	return nil
}

func (t *told) Play(moves [2]string) Position {
	p := t.pending
	if len(t.state.Board) > 0 {
		p.rows, p.columns = size(t.state.Board)
	}
	for side, q := range t.state.ToMove {
		if q != nil {
			p.last[side] = moves[side]
		}
	}
	return p
}

// Outcomes returns the number of outcomes of the draw that is due; 0 if none is.
func (t *told) Outcomes() int { return t.state.Draw }

// Drawn returns the position after a draw.
func (t *told) Drawn(int) Position { return t.Play([2]string{}) }

// Draw returns the board.
func (t *told) Draw(Side) [][]string { return t.state.Board }

// Judge returns the verdict of the program.
func (t *told) Judge(Chance) Verdict {
	reason := t.state.Reason
	return Verdict{Winner: t.state.Winner, Moves: t.last, Explain: func(_ Verdict, ids [2]string) string {
		return strings.NewReplacer("{A}", ids[SideA], "{B}", ids[SideB]).Replace(reason)
	}}
}

// Awaits tells whether the course goes on only with what the program of the game says of History.
func (c Course) Awaits() bool { return c.awaits }

// Told returns the course after what the program says of History. The error says how the program contradicts what it
// said before, or exceeds the number of turns that it has announced.
func (c Course) Told(state *State) (Course, error) {
	p, ok := c.position.(pending)
	switch {
	case !ok:
		return c, errors.New("nothing is to be asked of the program")
	case state.Illegal != nil:
		return c, p.program.Contradiction(state.Illegal)
	case state.Draw > 0 && !c.ready:
		return c, errors.New("a draw is due in a game that has announced none")
	case !p.program.info.Hidden && state.asksSecretly():
		return c, errors.New("a move is secret in a game that hides nothing")
	case state.Over && c.turn == 1:
		return c, errors.New("the match is over before the first move")
	case !state.Over && state.Draw == 0 && c.Played()+len(c.opening) >= p.program.maxTurns:
		return c, fmt.Errorf("the match is not over after %d turns, which the program announced as the most",
			p.program.maxTurns)
	}
	if err := p.fits(state.Board); err != nil {
		return c, err
	}
	return c.at(p.told(state)), nil
}

// Played returns the number of turns that are over, without the ready turn.
func (c Course) Played() int {
	if c.ready {
		return max(0, c.turn-2)
	}
	return c.turn - 1
}

// History returns everything that has happened, in order: the draws before a turn, then its moves. The last entry may
// lack one of two moves. The ready turn is no part of it. An opening is, before the first turn.
func (c Course) History() (history []Entry) {
	for i, ply := range c.opening {
		history = append(history, Entry{})
		history[i].Moves[i%2] = ply
	}
	var turns [][2]string // from turn 1
	for m := range c.backward {
		for len(turns) < m.Turn {
			turns = append(turns, [2]string{})
		}
		turns[m.Turn-1][m.Side] = m.Text
	}
	draws := c.draws
	for turn := 1; turn <= c.turn; turn++ {
		for len(draws) > 0 && draws[0].Turn == turn {
			history, draws = append(history, Entry{Draw: &draws[0].Number}), draws[1:]
		}
		if turn <= len(turns) && (turn > 1 || !c.ready) {
			history = append(history, Entry{Moves: turns[turn-1]})
		}
	}
	return history
}
