package store_test

import (
	"fmt"

	"evenodd/league/store"
)

// A folder knows the paths of all files, and reads those that no newer program wrote.
func ExampleFolder() {
	folder := store.In("../../testdata/leagues/finished")
	match, err := folder.LoadMatch("league_2025_even_odd", "R1M1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(match.MatchID, match.PlayerA.PlayerID, match.PlayerB.PlayerID, match.Result.Status)
	// Output: R1M1 P01 P02 WIN
}
