package rules

// Numbered is a final position that a drawn number decides.
type Numbered interface {
	// JudgeNumber decides the match by a number. The error tells that the game
	// never draws this number; the verdict is that of the number all the same.
	JudgeNumber(number int) (Verdict, error)
}

// Follows judges a match of one turn by what a referee claims of it: the last
// move of each seat ("" where it names none) and the number drawn (0 for none).
// Decided tells whether these decide the match. The error tells what cannot be: a
// move that is not legal, or a number that the game never draws. A match of more
// turns is never decided by its last moves.
func Follows(game Game, moves [2]string, number int) (verdict Verdict, decided bool, err error) {
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
	if !complete {
		return Verdict{}, false, nil
	}
	end := position.Play(moves)
	numbered, ok := end.(Numbered)
	switch {
	case !ok:
		return end.Judge(Chance{}), true, nil // nothing is drawn
	case number == 0:
		return Verdict{}, false, nil
	}
	verdict, err = numbered.JudgeNumber(number)
	return verdict, true, err
}

// An IllegalMoveError names a move that the rules do not allow.
type IllegalMoveError struct {
	Seat Seat
	Move string
	Err  error // the rule
}

// Error says which rule the move breaks.
func (e *IllegalMoveError) Error() string { return e.Err.Error() }

// Unwrap is the rule.
func (e *IllegalMoveError) Unwrap() error { return e.Err }
