package simulation_test

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"evenodd/league/journal"
	"evenodd/league/simulation"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// A league of four players, with faults in a tenth of the messages. The same seed gives
// the same table.
func ExampleRun() {
	result, err := simulation.Run(context.Background(), simulation.Options{
		Seed: 7, Strategies: []string{"random", "even"}, Transport: simulation.Memory, Faults: "drop=0.1",
		Rules: simulation.Rules{
			Created: journal.Created{LeagueID: "example", GameType: evenodd.Type,
				Configuration: journal.Configuration{Participants: journal.Participants{Players: 4, Referees: 2}}},
			Games: rules.NewRegistry(evenodd.Game{}), Log: zerolog.Nop(),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range result.Players {
		fmt.Println(row.Rank, row.PlayerID, row.Strategy, row.Points)
	}
	// Output:
	// 1 P02 even 5
	// 1 P04 even 5
	// 3 P01 random 2
	// 3 P03 random 2
}
