package league_test

import (
	"fmt"

	"evenodd/league"
)

// A table counts the results of players, which are indexes, and ranks the players.
func ExampleTable() {
	t, err := league.New(3, league.DefaultScoring())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range []league.Played{{A: 0, B: 1, Winner: 1}, {A: 0, B: 2, Winner: league.None}, {A: 1, B: 2, Winner: 1}} {
		if err := t.Record(1, r); err != nil {
			fmt.Println(err)
		}
	}
	for _, row := range t.Ranking(nil) {
		fmt.Println(row.Rank, row.Player, row.Points, row.Wins, row.Draws, row.Losses)
	}
	// Output:
	// 1 1 6 2 0 0
	// 2 0 1 0 1 1
	// 2 2 1 0 1 1
}
