package record_test

import (
	"context"
	"fmt"

	"evenodd/league/store"
	"evenodd/league/view/record"
)

// A league is the fold of the journal in a data folder.
func ExampleLeague_Update() {
	folder := record.NewFolder(store.In("../../../testdata/leagues/finished"), "league_2025_even_odd")
	defer folder.Close()
	league := record.NewLeague()
	if err := league.Update(context.Background(), folder, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(league.Recorded, "of", league.TotalMatches(), "matches have a result")
	for _, row := range league.Standings() {
		fmt.Println(row.Rank, row.PlayerID, row.Points)
	}
	// Output:
	// 6 of 6 matches have a result
	// 1 P01 7
	// 2 P04 6
	// 3 P03 4
	// 4 P02 0
}
