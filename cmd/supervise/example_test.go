package supervise_test

import (
	"fmt"

	"evenodd/cmd/supervise"
)

// A process asks whether a supervisor has started it, and what its own arguments are.
func ExampleChild() {
	own, supervised := supervise.Child([]string{"evenodd", "player"})
	fmt.Println(own, supervised)
	// Output: [evenodd player] false
}
