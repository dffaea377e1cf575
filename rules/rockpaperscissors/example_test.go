package rockpaperscissors_test

import (
	"fmt"

	"evenodd/rules"
	"evenodd/rules/rockpaperscissors"
)

// Both sides move at the same time.
func ExampleGame() {
	position := rockpaperscissors.Game{}.Start()
	fmt.Println(position.Ask(rules.SideA).Options)
	position = position.Play([2]string{"rock", "paper"})
	fmt.Println(position.Judge(rules.Chance{}).WinnerOf([2]string{"P01", "P02"}))
	// Output:
	// [rock paper scissors]
	// P02
}
