package report_test

import (
	"context"
	"fmt"
	"os"

	"evenodd/league/store"
	"evenodd/league/view/report"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// A report is one document, which a method writes as HTML.
func ExampleRead() {
	r, err := report.Read(context.Background(), store.In("../../../testdata/leagues/finished"), report.Options{
		LeagueID: "league_2025_even_odd", Games: rules.NewRegistry(evenodd.Game{}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Title())
	file, err := os.CreateTemp("", "report*.html")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.Remove(file.Name()) }()
	fmt.Println(r.HTML(file), file.Close())
	// Output:
	// Even/Odd League: completed, 6 of 6 matches have a result
	// <nil> <nil>
}
