package decide_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

const leagueID = "league_of_tests"

// fold applies events to a new state.
func fold(t *testing.T, events ...journal.Data) *journal.State {
	t.Helper()
	s := journal.NewState()
	apply(t, s, events...)
	return s
}

func apply(t *testing.T, s *journal.State, events ...journal.Data) {
	t.Helper()
	for _, d := range events {
		require.NoError(t, s.Apply(&journal.Event{Seq: s.Events + 1, At: "2026-01-01T00:00:00.000Z", Data: d}))
	}
}

func created() *journal.Created {
	return &journal.Created{
		SchemaVersion: journal.SchemaVersion, LeagueID: leagueID, GameType: "even_odd", Legs: 1,
		Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points", "wins", "draws"},
		SuspendAfter: 2, ShutdownAfter: 3,
	}
}

func player(id string) *journal.AgentRegistered {
	return &journal.AgentRegistered{
		AgentID: id, Role: protocol.RolePlayer, DisplayName: "Agent " + id, Endpoint: "http://" + id + "/mcp",
		Registration: "registration of " + id, Generation: 1,
	}
}

func referee(id string, capacity int, auth string) *journal.AgentRegistered {
	return &journal.AgentRegistered{
		AgentID: id, Role: protocol.RoleReferee, DisplayName: id, Endpoint: "http://" + id + "/mcp",
		Capacity: capacity, Registration: "registration of " + id, Generation: 1, RefereeAuth: auth,
	}
}

// silent is an agent that awaits its first ping.
func silent(d *journal.AgentRegistered) *journal.AgentRegistered {
	d.AwaitsAnswer = true
	return d
}

// started is a league of four players and two referees: REF01 with two slots, and the
// third-party referee REF02 with one.
func started(t *testing.T, more ...journal.Data) *journal.State {
	t.Helper()
	s := fold(t, created(), player("P01"), player("P02"), player("P03"), player("P04"),
		referee("REF01", 2, ""), referee("REF02", 1, protocol.RefereeAuthNone),
		&journal.Started{
			Algorithm: "circle-v1", Players: []string{"P01", "P02", "P03", "P04"}, Referees: []string{"REF01", "REF02"},
		})
	apply(t, s, more...)
	return s
}

// first is the first match of round 1, of P01 and P02.
func first() league.MatchID { return league.MatchID{Round: 1, Number: 1} }

func attempt(number int) league.Attempt { return league.Attempt{MatchID: first(), Number: number} }

// announced is round 1 with both matches announced for REF01.
func announced() journal.Data {
	return &journal.RoundAnnounced{RoundID: 1, Referees: []string{"REF01", "REF01"}}
}
