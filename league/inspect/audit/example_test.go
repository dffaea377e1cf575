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
	folder := store.In(filepath.Join("..", "..", "..", "testdata", "leagues", "finished"))
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
	// audited 6 matches of league league_2025_even_odd: no findings
	// OK: true
}
