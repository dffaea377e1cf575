package rules_test

import (
	"errors"
	"fmt"

	"evenodd/rules"
)

// A higherCard is a game of one simultaneous move: the higher card wins.
type higherCard struct{}

func (higherCard) Info() rules.Info {
	return rules.Info{
		Type: "higher_card", DisplayName: "Higher Card", MoveTypes: []string{"card"},
		ValidChoices: map[string][]string{"card": {"1", "2", "3"}}, MaxMoves: 1,
	}
}

func (higherCard) MaxTurns() int { return 1 }

func (higherCard) Start() rules.Position { return cards{} }

// cards are the cards of both sides; "" before they are played.
type cards [2]string

func (c cards) ToMove() []rules.Side {
	if c[rules.SideA] != "" {
		return nil // the match is over
	}
	return []rules.Side{rules.SideA, rules.SideB}
}

func (cards) Ask(rules.Side) rules.Question {
	return rules.Question{MoveType: "card", Options: []string{"1", "2", "3"}}
}

func (cards) Check(_ rules.Side, move string) error {
	if move < "1" || move > "3" || len(move) != 1 {
		return errors.New("the card must be 1, 2 or 3")
	}
	return nil
}

func (cards) Play(moves [2]string) rules.Position { return cards(moves) }

func (c cards) Judge(rules.Chance) rules.Verdict {
	v := rules.Verdict{Winner: rules.NoSide, Moves: c, Explain: func(_ rules.Verdict, ids [2]string) string {
		return fmt.Sprintf("%s played %s, %s played %s", ids[0], c[0], ids[1], c[1])
	}}
	switch {
	case c[rules.SideA] > c[rules.SideB]:
		v.Winner = rules.SideA
	case c[rules.SideB] > c[rules.SideA]:
		v.Winner = rules.SideB
	}
	return v
}

// A game defines its positions. A course plays it: the sides to move are asked until the
// match is over, and the last position is judged.
func ExampleGame() {
	game, err := rules.NewRegistry(higherCard{}).Game("higher_card")
	if err != nil {
		fmt.Println(err)
		return
	}
	course := rules.Begin(game)
	fmt.Println(course.Ask(rules.SideA).Options, course.Check(rules.SideA, "4"))
	course = course.Play([2]string{"2", "3"})
	if course.Over() {
		players := [2]string{"P01", "P02"}
		verdict := course.Judge(rules.Chance{})
		fmt.Println(verdict.WinnerOf(players), "wins:", verdict.Reason(players))
	}
	// Output:
	// [1 2 3] the card must be 1, 2 or 3
	// P02 wins: P01 played 2, P02 played 3
}
