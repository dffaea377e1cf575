package audit_test

import (
	"fmt"
	"path/filepath"

	"evenodd/league/inspect/audit"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// Run audits all leagues of a data folder. It only reads the folder.
func ExampleRun() {
	folder := store.Folder(filepath.Join("..", "..", "testdata", "leagues", "finished"))
	report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(evenodd.Game{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, league := range report.Leagues {
		fmt.Println(league.Summary())
		for _, finding := range league.Findings {
			fmt.Println(finding)
		}
	}
	fmt.Println("OK:", report.OK)
	// Output:
	// audited 6 matches of league league_2025_even_odd: no findings, 1 note
	// OK: true
}

// Without the rules of a game, an audit cannot judge the results again. It says so
// in a note, and checks everything else.
func ExampleRun_unknownGame() {
	folder := store.Folder(filepath.Join("..", "..", "testdata", "leagues", "finished"))
	report, err := audit.Run(folder, audit.Options{LeagueID: "league_2025_even_odd"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, note := range report.Leagues[0].Notes {
		fmt.Println(note.Severity, note.Rule)
	}
	// Output:
	// note unsigned
	// note verdict
}

func ExampleLeagues() {
	ids, err := audit.Leagues(store.Folder(filepath.Join("..", "..", "testdata", "leagues", "finished")))
	fmt.Println(ids, err)
	// Output:
	// [league_2025_even_odd] <nil>
}

// A finding is formatted as a compiler formats an error.
func ExampleFinding_String() {
	fmt.Println(audit.Finding{
		Severity: audit.SeverityFinding, Rule: audit.RuleDraw, File: "data/leagues/cup/journal.jsonl", Line: 11, MatchID: "R1M1",
		Detail: "drawn_number of R1M1 is 4; by the rules of the game it is 5",
	})
	// Output:
	// data/leagues/cup/journal.jsonl:11: draw: drawn_number of R1M1 is 4; by the rules of the game it is 5
}
