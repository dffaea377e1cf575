package protocol

import "slices"

// evenOdd is the game that has messages of its own for moves (spec 003 §8.7.3); all others share GAME_MOVE_CALL
// (§3.8.2).
const evenOdd = "even_odd"

// A MoveForm is how a referee asks the players of a game for their moves, and where the answer has the choice.
type MoveForm struct {
	GameType string // the game whose messages these are; "" for those that games share
	Method   *MethodRow
	Options  []string // the legal choices of a game with messages of its own, whose question does not list them
	Choice   []string // the members of the answer that lead to the choice, from the outermost
	Type     string   // of the outermost, in words
	Illegal  Code     // the error for a choice that is not legal
}

var moveForms = [...]MoveForm{
	{evenOdd, &ChooseParity.MethodRow, parities[:], []string{"parity_choice"}, "a string", ErrInvalidParityChoice},
	{"", &MakeMove.MethodRow, nil, []string{"move_data", "choice"}, "an object with the choice as a string", ErrIllegalMove},
}

// MoveFormOf returns how a game asks for moves.
func MoveFormOf(gameType string) *MoveForm {
	for i := range moveForms {
		if f := &moveForms[i]; f.GameType == gameType {
			return f
		}
	}
	return &moveForms[len(moveForms)-1]
}

// MoveFormBy returns the form with a method; nil for a method that does not ask for a move.
func MoveFormBy(method string) *MoveForm {
	i := slices.IndexFunc(moveForms[:], func(f MoveForm) bool { return f.Method.Name == method })
	if i < 0 {
		return nil
	}
	return &moveForms[i]
}

// AsksForMove tells whether a method asks a player for a move.
func AsksForMove(method string) bool { return MoveFormBy(method) != nil }

// Own tells whether the messages are those of one game.
func (f *MoveForm) Own() bool { return f.GameType != "" }

// ChoiceIn returns the choice in an answer; "" for none.
func (f *MoveForm) ChoiceIn(answer Object) string {
	last := len(f.Choice) - 1
	for _, name := range f.Choice[:last] {
		answer = answer.Object(name)
	}
	return answer.Text(f.Choice[last])
}

// parities are the words for a number modulo 2; results share them.
var parities = [...]string{"even", "odd"}

// Parities returns the words for the parity of a number: that of a number n is the one at index n modulo 2.
func Parities() []string { return slices.Clone(parities[:]) }

// Parity returns the parity of a number.
func Parity(number int) string { return parities[number&1] }
