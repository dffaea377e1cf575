package journal_test

import (
	"fmt"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// The state of a league follows from its events. An impossible event is an error, and changes
// nothing.
func ExampleState_Apply() {
	state := journal.NewState()
	for i, data := range []journal.Data{
		&journal.Created{
			SchemaVersion: journal.SchemaVersion, LeagueID: "example", GameType: "even_odd", Legs: 1,
			Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points", "wins"},
		},
		&journal.AgentRegistered{AgentID: "P01", Role: protocol.RolePlayer, DisplayName: "Ann", Endpoint: "http://localhost:8101/mcp", Generation: 1},
		&journal.AgentSuspended{AgentID: "P07", Reason: "it does not answer"},
	} {
		err := state.Apply(&journal.Event{Seq: i + 1, At: "2026-01-01T09:00:00.000Z", Data: data})
		fmt.Println(journal.Kind(data), err)
	}
	fmt.Println(state.Events, state.Agents["P01"].DisplayName)
	// Output:
	// created <nil>
	// registered <nil>
	// agent_suspended agent "P07" is not registered
	// 2 Ann
}
