package rules

// Numbered is a game that a drawn number decides.
type Numbered interface {
	// CheckNumber returns an error for a number that the game never draws.
	CheckNumber(number int) error
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
		err = numbered.CheckNumber(*number)
	}
	switch {
	case !complete || ok && number == nil:
		return Verdict{}, false, err
	case ok:
		return numbered.JudgeNumber(moves, *number), true, err
	}
	return position.Play(moves).Judge(Chance{}), true, nil // nothing is drawn
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
