package journalfile_test

import (
	"fmt"
	"os"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/store"
)

// Replay folds a stored journal, and shows each event.
func ExampleReplay() {
	path := store.In("../../../testdata/leagues/finished").Journal("league_2025_even_odd")
	file, err := os.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = file.Close() }()
	results := 0
	state, _, _, _, err := journalfile.Replay(path, file, func(e *journal.Event, _ string) {
		if _, reported := e.Data.(*journal.MatchReported); reported {
			results++
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(results, "results, champion", state.Champion().PlayerID)
	// Output: 6 results, champion P01
}
