package decide_test

import (
	"fmt"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A decision takes the state of a league, and returns the event for the journal or an error for
// the organiser.
func ExampleDecision() {
	state := journal.NewState()
	for i, data := range []journal.Data{
		&journal.Created{SchemaVersion: journal.SchemaVersion, LeagueID: "example", GameType: "even_odd", Legs: 1, Tiebreakers: []string{"points"}},
		&journal.AgentRegistered{AgentID: "P01", Role: protocol.RolePlayer, DisplayName: "Ann", Endpoint: "http://localhost:8101/mcp", Generation: 1},
	} {
		if err := state.Apply(&journal.Event{Seq: i + 1, Data: data}); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, player := range []string{"P01", "P02"} {
		event, err := decide.Decision(state, &protocol.OrganiseRequest{Command: protocol.CommandWithdraw, AgentID: player, By: "Ann", Reason: "ill"})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(event.About())
	}
	// Output:
	// P01 withdrawn by Ann: ill
	// E005 PLAYER_NOT_REGISTERED: no agent "P02"; did you mean P01 Ann?
}
