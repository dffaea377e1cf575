package strategy_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"evenodd/player/strategy"
)

// A strategy chooses one of the options by what the player knows of finished matches.
func ExampleNew() {
	contrarian, err := strategy.New("contrarian")
	if err != nil {
		fmt.Println(err)
		return
	}
	memory := strategy.NewMemory()
	memory.Remember("P02", "odd", "even") // P02 chose odd, and an even number was drawn
	choice, err := contrarian.Choose(context.Background(), strategy.View{
		GameType: "even_odd", Options: []string{"even", "odd"}, Random: rand.New(rand.NewPCG(1, 2)), OpponentID: "P02", Memory: func() *strategy.Memory { return memory },
	})
	fmt.Println(choice, err)
	// Output: even <nil>
}
