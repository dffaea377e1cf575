package kuhnpoker_test

import (
	"fmt"

	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
)

// A side sees its own card.
func ExampleGame() {
	position := kuhnpoker.Game{}.Start().(rules.Drawing).Drawn(1) // J for PLAYER_A, K for PLAYER_B
	position = position.Play([2]string{kuhnpoker.Bet, ""})
	question := position.Ask(rules.SideB)
	fmt.Println(question.View.(map[string]any)[kuhnpoker.ViewCard], question.Options)
	// Output: K [fold call]
}
