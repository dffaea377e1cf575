package rules

import "errors"

// Turns are the moves of a match in which the sides move in turn, SideA first. The positions of such a game embed
// it: it says which side is to move, and keeps what a verdict needs.
type Turns struct {
	Moves int       // that both sides have made
	Last  [2]string // the last move of each side
	Ended bool      // the match is over
}

// Mover returns the side to move, unless the match is over.
func (t Turns) Mover() Side { return Side(t.Moves % 2) }

// ToMove returns the side to move, and none when the match is over.
func (t Turns) ToMove() []Side {
	if t.Ended {
		return nil
	}
	return []Side{t.Mover()}
}

// CheckTurn returns an error unless a side is to move.
func (t Turns) CheckTurn(side Side) error {
	switch {
	case t.Ended:
		return errors.New("the match is over")
	case side != t.Mover():
		return errors.New("it is the other's turn")
	}
	return nil
}

// Next returns the turns after a move of the mover. Ended tells whether it ends the match.
func (t Turns) Next(moves [2]string, ended bool) Turns {
	t.Last[t.Mover()] = moves[t.Mover()]
	t.Moves++
	t.Ended = ended
	return t
}

// Verdict decides the match without chance: for a winner, or NoSide for a draw. Explain explains it, with the ids of
// the players.
func (t Turns) Verdict(winner Side, explain func(ids [2]string) string) Verdict {
	return Verdict{Winner: winner, Moves: t.Last, Explain: func(_ Verdict, ids [2]string) string { return explain(ids) }}
}
