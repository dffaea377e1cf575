// Package rockpaperscissors is the game Rock Paper Scissors: two players show a
// hand at the same time. Rock beats scissors, scissors beat paper, paper beats
// rock; equal hands are a draw. Everything here is a pure function.
package rockpaperscissors

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"evenodd/rules"
)

// Type is the game's identifier in the protocol.
const Type = "rock_paper_scissors"

// MoveType is the only kind of move.
const MoveType = "show_hand"

// hands lists the moves: each is beaten by the next, and the last by the first.
func hands() []string { return []string{"rock", "paper", "scissors"} }

// Game is Rock Paper Scissors.
type Game struct{}

var (
	_ rules.Game     = Game{}
	_ rules.Position = showing{}
	_ rules.Position = finish{}
	_ rules.Drawer   = showing{}
	_ rules.Drawer   = finish{}
)

// Info describes the game.
func (Game) Info() rules.Info {
	return rules.Info{
		Type:        Type,
		DisplayName: "Rock Paper Scissors",
		Rules: "Both players choose rock, paper or scissors at the same time. Rock beats scissors, scissors " +
			"beat paper, paper beats rock; equal choices are a draw.",
		MoveTypes:    []string{MoveType},
		ValidChoices: map[string][]string{MoveType: hands()},
		MaxMoves:     1,
		SidesAlike:   true,
	}
}

// MaxTurns is 1.
func (Game) MaxTurns() int { return 1 }

// Start is the position in which both show a hand.
func (Game) Start() rules.Position { return showing{} }

// decide returns the winner of two hands.
func decide(handA, handB string) rules.Side {
	switch (slices.Index(hands(), handA) - slices.Index(hands(), handB) + 3) % 3 {
	case 1:
		return rules.SideA
	case 2:
		return rules.SideB
	}
	return rules.NoSide
}

// showing is the position before the hands are shown.
type showing struct{}

func (showing) ToMove() []rules.Side { return rules.BothSides() }

func (showing) Ask(rules.Side) rules.Question {
	return rules.Question{MoveType: MoveType, Options: hands()}
}

func (showing) Check(_ rules.Side, move string) error {
	if slices.Contains(hands(), move) {
		return nil
	}
	return fmt.Errorf("choice must be one of %s", strings.Join(hands(), ", "))
}

// Draw returns the board of shown without a hand.
func (showing) Draw(side rules.Side) [][]string { return finish{}.Draw(side) }

func (showing) Play(moves [2]string) rules.Position { return finish{moves} }

// Judge has nothing to judge before the hands are shown.
func (showing) Judge(rules.Chance) rules.Verdict {
	return rules.Verdict{Winner: rules.NoSide, Explain: func(rules.Verdict, [2]string) string {
		return "nobody has shown a hand"
	}}
}

// finish is the position after that.
type finish struct{ moves [2]string }

// Draw returns the first letter of each hand: R, P or S.
func (s finish) Draw(rules.Side) [][]string {
	letters := map[string]string{"rock": "R", "paper": "P", "scissors": "S"}
	return [][]string{{"A", "B"}, {letters[s.moves[0]], letters[s.moves[1]]}}
}

func (finish) ToMove() []rules.Side            { return nil }
func (finish) Ask(rules.Side) rules.Question   { return rules.Question{} }
func (finish) Check(rules.Side, string) error  { return errors.New("both have shown a hand already") }
func (s finish) Play([2]string) rules.Position { return s }

// Judge compares the hands. There is no chance in it.
func (s finish) Judge(rules.Chance) rules.Verdict {
	winner := decide(s.moves[0], s.moves[1])
	return rules.Verdict{
		Winner: winner, Moves: s.moves,
		Explain: func(_ rules.Verdict, ids [2]string) string {
			if winner == rules.NoSide {
				return "Both chose " + s.moves[0]
			}
			return fmt.Sprintf("%s chose %s, %s chose %s",
				ids[winner], s.moves[winner], ids[winner.Other()], s.moves[winner.Other()])
		},
	}
}
