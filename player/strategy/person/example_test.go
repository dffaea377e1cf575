package person_test

import (
	"context"
	"fmt"

	"evenodd/player/strategy"
	"evenodd/player/strategy/person"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// A front end shows the question when the state changes, and passes on the answer.
func Example() {
	p := person.New(person.Options{Player: "Ada", Games: rules.NewRegistry(evenodd.Game{})})
	go func() {
		for {
			state, changed := p.Now()
			if q := state.Question; q != nil {
				_ = p.Answer(q.Number, q.Options[0].Move)
				return
			}
			<-changed
		}
	}()
	move, err := p.Choose(context.Background(), strategy.View{GameType: "even_odd", MatchID: "R1M1",
		PlayerID: "P01", OpponentID: "P02", Options: []string{"even", "odd"}})
	fmt.Println(move, err)
	// Output: even <nil>
}
