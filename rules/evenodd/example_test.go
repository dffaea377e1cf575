package evenodd_test

import (
	"fmt"

	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// Anyone who knows the nonce and both entropies can recompute the number of a match.
func ExampleNumber() {
	number := evenodd.Number(rules.Chance{Nonce: [32]byte{1}, EntropyA: [32]byte{2}, EntropyB: [32]byte{3}})
	winner := evenodd.Winner(evenodd.Even, evenodd.Odd, number)
	fmt.Println(number, evenodd.Parity(number), winner == rules.SideA)
	// Output: 7 odd false
}
