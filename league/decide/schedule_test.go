package decide_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

func idsTo(n int) (ids []string) {
	for i := range n {
		ids = append(ids, league.PlayerID(i+1))
	}
	return ids
}

// Spec 003 table 9 has the schedule of four players.
func TestScheduleOfFourPlayersIsThatOfTheSpecification(t *testing.T) {
	data, err := decide.CreateSchedule(&journal.Created{Legs: 1}, idsTo(4), 0)
	require.NoError(t, err)
	var got []string
	for _, m := range data.Matches {
		got = append(got, fmt.Sprintf("%s %s %s", m.MatchID, m.PlayerAID, m.PlayerBID))
	}
	assert.Equal(t, []string{"R1M1 P01 P02", "R1M2 P03 P04", "R2M1 P01 P03", "R2M2 P02 P04", "R3M1 P01 P04", "R3M2 P02 P03"}, got)
	assert.Equal(t, []int{3, 6}, []int{data.Rounds, data.TotalMatches})
	assert.Nil(t, data.KnownRounds)
}

// The pages of a schedule together are the whole schedule, each match once.
func TestPagesOfAScheduleAreTheWholeSchedule(t *testing.T) {
	for _, tt := range []struct{ players, legs int }{{1000, 1}, {45, 3}, {7, 2}, {2, 1}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			ids := idsTo(tt.players)
			pairer, err := pairing.NewRoundRobin(tt.players, tt.legs)
			require.NoError(t, err)
			offset, page := 0, &protocol.ScheduleData{}
			for round := 1; round <= pairer.Rounds(); round++ {
				for i, p := range pairer.Round(round, nil) {
					if offset == page.Offset+len(page.Matches) {
						page, err = decide.CreateSchedule(&journal.Created{Legs: tt.legs}, ids, offset)
						require.NoError(t, err)
						require.NotEmpty(t, page.Matches)
						require.Equal(t, pairer.Matches(), page.TotalMatches)
					}
					m := page.Matches[offset-page.Offset]
					require.Equal(t, league.MatchID{Round: round, Number: i + 1}.String(), m.MatchID)
					require.Equal(t, [2]string{ids[p.A], ids[p.B]}, [2]string{m.PlayerAID, m.PlayerBID})
					offset++
				}
			}
			last, err := decide.CreateSchedule(&journal.Created{Legs: tt.legs}, ids, offset)
			require.NoError(t, err)
			assert.Empty(t, last.Matches)
		})
	}
}

func TestScheduleOfOtherFormatsIsTheFirstRound(t *testing.T) {
	for algorithm, rounds := range map[string]int{pairing.Swiss: 3, pairing.Knockout: 12} {
		data, err := decide.CreateSchedule(&journal.Created{Legs: 1, Tournament: &journal.Tournament{Algorithm: algorithm}}, idsTo(8), 0)
		require.NoError(t, err)
		assert.Equal(t, []int{rounds, 1, 4, 4}, []int{data.Rounds, *data.KnownRounds, data.TotalMatches, len(data.Matches)}, algorithm)
		for _, m := range data.Matches {
			assert.Equal(t, 1, m.RoundID)
		}
	}
}

func TestScheduleOfInvalidPlayersIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		players []string
		offset  int
	}{
		"none": {}, "one": {idsTo(1), 0}, "too many": {idsTo(1001), 0}, "repeated": {[]string{"P01", "P02", "P01"}, 0},
		"no id": {[]string{"P01", "Bob"}, 0}, "a referee": {[]string{"P01", "REF01"}, 0}, "a negative offset": {idsTo(2), -1},
	} {
		_, err := decide.CreateSchedule(&journal.Created{Legs: 1}, tt.players, tt.offset)
		require.Error(t, err, name)
		assert.Equal(t, protocol.ErrInvalidFieldType, protocol.AsError(err).Code, name)
	}
}

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
