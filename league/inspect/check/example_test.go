package check_test

import (
	"fmt"

	"evenodd/league/inspect/check"
)

// The catalogue of a role lists what Check examines.
func ExampleCatalogue() {
	selection := check.Selection{Level: check.Must, Only: []string{"P-INV-01"}}
	for _, requirement := range check.Catalogue(check.Player) {
		if selection.Wants(requirement) {
			fmt.Println(requirement.ID, requirement.Level, requirement.Text)
		}
	}
	// Output: P-INV-01 MUST It answers GAME_INVITATION with GAME_JOIN_ACK.
}
