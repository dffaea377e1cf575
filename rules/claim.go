package rules

// Numbered is a game that a drawn number decides.
type Numbered interface {
	// CheckNumber tells why the game never draws a number; nil if it may.
	CheckNumber(number int) error
	// JudgeNumber decides a match by the legal moves of both seats and a number,
	// even one that the game never draws.
	JudgeNumber(moves [2]string, number int) Verdict
}

// Follows judges a match of one turn by what a referee claims of it: the last
// move of each seat ("" where it names none) and the number drawn (nil for none).
// Decided tells whether these decide the match. The error tells what cannot be: a
// move that is not legal, or a number that the game never draws, for which the
// verdict is given all the same. A match of more turns is never decided by its last
// moves.
func Follows(game Game, moves [2]string, number *int) (verdict Verdict, decided bool, err error) {
	if game.Info().MaxTurns > 1 {
		return Verdict{}, false, nil
	}
	position := game.Start()
	complete := true
	for _, seat := range position.ToMove() {
		if moves[seat] == "" {
			complete = false
			continue
		}
		if err := position.Check(seat, moves[seat]); err != nil {
			return Verdict{}, false, &IllegalMoveError{seat, moves[seat], err}
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

// Error says which rule the move breaks.
func (e *IllegalMoveError) Error() string { return e.Err.Error() }

// Unwrap is the rule.
func (e *IllegalMoveError) Unwrap() error { return e.Err }
