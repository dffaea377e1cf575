package check_test

import (
	"fmt"

	conformance "evenodd/league/inspect/check"
)

// The catalogue of a role lists what Check examines.
func ExampleCatalogue() {
	selection := conformance.Selection{Level: conformance.Must, Only: []string{"P-INV-01"}}
	for _, requirement := range conformance.Catalogue(conformance.Player) {
		if selection.Wants(requirement) {
			fmt.Println(requirement.ID, requirement.Level, requirement.Text)
		}
	}
	// Output: P-INV-01 MUST It answers GAME_INVITATION with GAME_JOIN_ACK.
}
