package connectfour_test

import (
	"fmt"
	"strings"

	"evenodd/rules"
	"evenodd/rules/connectfour"
)

// A question shows the board, from which Best finds the move that wins.
func ExampleBest() {
	position := connectfour.Game{}.Start()
	for _, column := range []string{"2", "2", "3", "3", "4", "4"} {
		position = position.Play([2]string{column, column}) // of the side to move
	}
	question := position.Ask(rules.SideA)
	board := question.Context[connectfour.ContextBoard].([]string)
	mark := question.Context[connectfour.ContextMark].(string)
	fmt.Println(strings.Join(board, "\n"))
	fmt.Println(connectfour.Best(board, mark, 1))
	// Output:
	// .......
	// .......
	// .......
	// .......
	// .OOO...
	// .XXX...
	// [1 5] <nil>
}
