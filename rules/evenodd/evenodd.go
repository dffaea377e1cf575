// Package evenodd is the game Even/Odd (spec 003 chapter 3): two players choose a parity
// at the same time, and a number from 1 to 10 is drawn. A player wins if it alone chose
// the parity of the number. All functions are pure.
package evenodd

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"evenodd/rules"
)

// Type is the game's identifier in the protocol.
const Type = "even_odd"

// MoveType is the only kind of move.
const MoveType = "choose_parity"

// The two choices.
const (
	Even = "even"
	Odd  = "odd"
)

// Game is Even/Odd.
type Game struct{}

var (
	_ rules.Game     = Game{}
	_ rules.Position = choosing{}
	_ rules.Position = chosen(0)
	_ rules.Drawer   = choosing{}
	_ rules.Drawer   = chosen(0)
	_ rules.Numbered = Game{}
)

// Info describes the game.
func (Game) Info() rules.Info {
	return rules.Info{
		Type:        Type,
		DisplayName: "Even/Odd",
		Rules: "Both players choose even or odd at the same time. The referee draws a number from 1 to 10. " +
			"If the choices differ, the player who named the parity of the number wins; if they are equal, the match is a draw.",
		MoveTypes:    []string{MoveType},
		ValidChoices: map[string][]string{MoveType: {Even, Odd}},
		MaxMoves:     1,
		SidesAlike:   true,
	}
}

// MaxTurns is 1.
func (Game) MaxTurns() int { return 1 }

// Start returns the position in which both sides choose.
func (Game) Start() rules.Position { return choosing{} }

// Parity returns the parity of a number.
func Parity(number int) string {
	if number%2 == 0 {
		return Even
	}
	return Odd
}

// Number returns the number drawn, 1 to 10, each with the same probability. It is the
// reveal of a commit–reveal scheme: the referee has committed to the nonce before the
// players choose, and the players may have committed to their entropy. For i = 0, 1, …
// let h = SHA-256("evenodd-number-v1" ‖ nonce ‖ entropy A ‖ entropy B ‖ i as 4
// bytes big-endian); the first byte below 250 of h gives it modulo 10, plus 1.
func Number(chance rules.Chance) int {
	const label = "evenodd-number-v1"
	var b [len(label) + 3*32 + 4]byte
	n := copy(b[:], label)
	n += copy(b[n:], chance.Nonce[:])
	n += copy(b[n:], chance.EntropyA[:])
	n += copy(b[n:], chance.EntropyB[:])
	for i := uint32(0); ; i++ {
		binary.BigEndian.PutUint32(b[n:], i)
		for _, x := range sha256.Sum256(b[:]) {
			if x < 250 {
				return int(x)%10 + 1
			}
		}
	}
}

// NumberInput returns the first bytes that Number hashes: those for i = 0.
func (Game) NumberInput(chance rules.Chance) []byte {
	return slices.Concat([]byte("evenodd-number-v1"), chance.Nonce[:], chance.EntropyA[:], chance.EntropyB[:],
		make([]byte, 4))
}

// Winner decides by the number alone.
func Winner(choiceA, choiceB string, number int) rules.Side {
	parity := Parity(number)
	switch a, b := choiceA == parity, choiceB == parity; {
	case a && !b:
		return rules.SideA
	case b && !a:
		return rules.SideB
	}
	return rules.NoSide
}

// Numbers are 1 to 10.
func (Game) Numbers() (least, most int) { return 1, 10 }

// JudgeNumber decides by the choices of both players and a number.
func (Game) JudgeNumber(moves [2]string, number int) rules.Verdict {
	return chosenBy(moves).judge(number)
}

// choosing is the position before the choices.
type choosing struct{}

func (choosing) ToMove() []rules.Side { return rules.BothSides() }

func (choosing) Ask(rules.Side) rules.Question {
	return rules.Question{MoveType: MoveType, Options: []string{Even, Odd}}
}

func (choosing) Check(_ rules.Side, move string) error {
	if move == Even || move == Odd {
		return nil
	}
	return fmt.Errorf("choice must be %q or %q", Even, Odd)
}

// Draw returns the board of chosen without a choice.
func (choosing) Draw(side rules.Side) [][]string { return chosen(0).Draw(side) }

func (choosing) Play(moves [2]string) rules.Position {
	return chosenBy(moves)
}

// Judge returns a verdict without winner: nothing is decided before the choices.
func (choosing) Judge(rules.Chance) rules.Verdict {
	return rules.Verdict{Winner: rules.NoSide, Explain: func(rules.Verdict, [2]string) string {
		return "nobody has chosen"
	}}
}

// chosen is the position after the choices: an index of choices for side A, and another one for side B above it. A
// value of one byte becomes a rules.Position without an allocation.
type chosen uint8

const bitsOfChoice = 2

// choices are what a side can have chosen; "" before that.
func choices() [3]string { return [...]string{"", Even, Odd} }

func chosenBy(moves [2]string) (c chosen) {
	for side, move := range moves {
		for i, choice := range choices() {
			if choice == move {
				c |= chosen(i << (side * bitsOfChoice)) //nolint:gosec // at most 10
			}
		}
	}
	return c
}

func (c chosen) moves() [2]string {
	const mask = 1<<bitsOfChoice - 1
	return [...]string{choices()[c&mask], choices()[c>>bitsOfChoice]}
}

// Draw returns what each side chose: E for even, O for odd. The number is no part of the position.
func (c chosen) Draw(rules.Side) [][]string {
	letters, moves := map[string]string{Even: "E", Odd: "O"}, c.moves()
	return [][]string{{"A", "B"}, {letters[moves[0]], letters[moves[1]]}}
}

func (chosen) ToMove() []rules.Side            { return nil }
func (chosen) Ask(rules.Side) rules.Question   { return rules.Question{} }
func (chosen) Check(rules.Side, string) error  { return errors.New("both have chosen already") }
func (c chosen) Play([2]string) rules.Position { return c }

func (c chosen) Judge(chance rules.Chance) rules.Verdict { return c.judge(Number(chance)) }

func (c chosen) judge(number int) rules.Verdict {
	moves := c.moves()
	return rules.Verdict{
		Winner:  Winner(moves[0], moves[1], number),
		Number:  number,
		Parity:  Parity(number),
		Moves:   moves,
		Explain: func(v rules.Verdict, ids [2]string) string { return reason(ids, v.Moves, v.Number) },
	}
}

// reason explains a result in the words of the protocol.
func reason(ids, moves [2]string, number int) string {
	parity := Parity(number)
	who, choice, right := "Both", moves[0], " - both incorrect"
	switch winner := Winner(moves[0], moves[1], number); {
	case winner != rules.NoSide:
		who, choice, right = ids[winner], moves[winner], ""
	case moves[0] == parity:
		right = " - both correct"
	}
	return who + " chose " + choice + ", number was " + strconv.Itoa(number) + " (" + parity + ")" + right
}
