package tictactoe_test

import (
	"fmt"

	"evenodd/rules"
	"evenodd/rules/tictactoe"
)

// The sides move in turn, until one has three in a row.
func ExampleGame() {
	position := tictactoe.Game{}.Start()
	for _, move := range []string{"0", "3", "1", "4", "2"} {
		side := position.ToMove()[0]
		if err := position.Check(side, move); err != nil {
			fmt.Println(err)
			return
		}
		moves := [2]string{}
		moves[side] = move
		position = position.Play(moves)
	}
	fmt.Println(len(position.ToMove()), position.Judge(rules.Chance{}).WinnerOf([2]string{"P01", "P02"}))
	// Output: 0 P01
}
