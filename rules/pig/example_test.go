package pig_test

import (
	"fmt"

	"evenodd/rules"
	"evenodd/rules/pig"
)

// A roll is a draw.
func ExampleGame() {
	position := pig.Game{}.Start().Play([2]string{pig.Roll, ""})
	position = position.(rules.Drawing).Drawn(3) // the outcomes are 0 to 5
	question := position.Ask(rules.SideA)
	fmt.Println(question.View.(map[string]any)[pig.ViewAtStake], question.Options)
	// Output: 4 [roll hold]
}
