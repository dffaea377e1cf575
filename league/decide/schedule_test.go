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
	data, err := decide.CreateSchedule(&journal.Created{Legs: 1}, "", idsTo(4), 0)
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
				for i, p := range pairer.Round(round, nil, nil) {
					if offset == page.Offset+len(page.Matches) {
						page, err = decide.CreateSchedule(&journal.Created{Legs: tt.legs}, "", ids, offset)
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
			last, err := decide.CreateSchedule(&journal.Created{Legs: tt.legs}, "", ids, offset)
			require.NoError(t, err)
			assert.Empty(t, last.Matches)
		})
	}
}

func TestScheduleOfOtherFormatsIsTheFirstRound(t *testing.T) {
	for algorithm, rounds := range map[string]int{pairing.Swiss: 3, pairing.Knockout: 12} {
		data, err := decide.CreateSchedule(&journal.Created{Legs: 1, Tournament: &journal.Tournament{Algorithm: algorithm}}, "", idsTo(8), 0)
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
		_, err := decide.CreateSchedule(&journal.Created{Legs: 1}, "", tt.players, tt.offset)
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

func view(s *journal.State) *decide.View {
	return &decide.View{State: s, Games: []string{"even_odd"}, Phase: decide.Phase(s, false)}
}

func TestStatusListsTheInactiveAgents(t *testing.T) {
	s := started(t, &journal.AgentSuspended{AgentID: "P02", Reason: "slept"})
	response := ask(t, s, "P01", protocol.QueryStatus, protocol.QueryParams{})
	assert.Equal(t, protocol.AgentStates{Active: 5, Suspended: 1}, *response.AgentStates)
	assert.Equal(t, []protocol.InactiveAgent{{AgentID: "P02", State: journal.LifecycleSuspended, Reason: "slept"}}, response.Inactive)
}

func ask(t *testing.T, s *journal.State, asker, query string, params protocol.QueryParams) *protocol.LeagueQueryResponse {
	t.Helper()
	response, err := view(s).Answer(&protocol.LeagueQuery{LeagueID: leagueID, QueryType: query, QueryParams: params}, asker)
	require.NoError(t, err)
	return response
}

// played is a league with a result of R1M1: P01 has won.
func played(t *testing.T, more ...journal.Data) *journal.State {
	t.Helper()
	s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"})
	v := judge(s, report(), "REF01", decide.NotPinged)
	require.True(t, v.Accepted)
	apply(t, s, v.Result)
	apply(t, s, more...)
	return s
}

func TestStandingsAreCutByOffsetAndLimit(t *testing.T) {
	for _, test := range []struct {
		name          string
		offset, limit int
		want          []string
	}{
		{"all", 0, 0, []string{"P01", "P02", "P03", "P04"}},
		{"the first", 0, 1, []string{"P01"}},
		{"from an offset", 2, 10, []string{"P03", "P04"}},
		{"beyond the end", 4, 1, nil},
		{"far beyond the end", 100, 1, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			response := ask(t, played(t), "P01", protocol.QueryStandings, protocol.QueryParams{Offset: test.offset, Limit: test.limit})
			var ids []string
			for _, row := range response.Standings {
				ids = append(ids, row.PlayerID)
			}
			assert.Equal(t, test.want, ids)
			assert.Equal(t, 4, response.TotalPlayers)
			assert.Equal(t, 1, *response.CurrentRound)
		})
	}
}

func TestScheduleListsTheMatchesOfARound(t *testing.T) {
	for _, test := range []struct {
		name   string
		params protocol.QueryParams
		want   []string
		total  int
	}{
		{"without a round", protocol.QueryParams{}, []string{"R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"}, 6},
		{"a later round", protocol.QueryParams{RoundID: 3}, []string{"R3M1", "R3M2"}, 2},
		{"all rounds", protocol.QueryParams{RoundID: protocol.AllRounds}, []string{"R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"}, 6},
		{"an offset within a round", protocol.QueryParams{RoundID: 2, Offset: 1}, []string{"R2M2"}, 2},
		{"an offset over rounds, with a limit", protocol.QueryParams{RoundID: protocol.AllRounds, Offset: 3, Limit: 2}, []string{"R2M2", "R3M1"}, 6},
		{"an offset beyond the end", protocol.QueryParams{RoundID: protocol.AllRounds, Offset: 6}, nil, 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := ask(t, played(t), "P01", protocol.QuerySchedule, test.params).Data.(protocol.ScheduleData)
			var ids []string
			for _, x := range data.Matches {
				ids = append(ids, x.MatchID)
			}
			assert.Equal(t, test.want, ids)
			assert.Equal(t, test.total, data.TotalMatches)
			assert.Equal(t, 3, data.Rounds)
		})
	}
}

func TestScheduledMatchHasItsRefereeAndItsResult(t *testing.T) {
	first := ask(t, played(t), "P01", protocol.QuerySchedule, protocol.QueryParams{}).Data.(protocol.ScheduleData).Matches[0]
	assert.Equal(t, protocol.ScheduledMatch{
		MatchID: "R1M1", RoundID: 1, PlayerAID: "P01", PlayerBID: "P02", Status: league.StatusWin,
		WinnerPlayerID: new("P01"), RefereeEndpoint: new("http://REF01/mcp"),
	}, first)
	later := ask(t, played(t), "P01", protocol.QuerySchedule, protocol.QueryParams{RoundID: 2}).Data.(protocol.ScheduleData).Matches[0]
	assert.Equal(t, "SCHEDULED", later.Status)
	assert.Nil(t, later.RefereeEndpoint, "it is chosen when the round begins")
}

func TestNextMatchOfAPlayer(t *testing.T) {
	suspended := &journal.AgentSuspended{AgentID: "P03", Reason: "slept"}
	for _, test := range []struct {
		name              string
		state             *journal.State
		asker, player     string
		match, opponent   string
		expected, referee bool
	}{
		{"of the player that asks", played(t), "P04", "", "R1M2", "P03", false, true},
		{"of another player", played(t), "REF01", "P04", "R1M2", "P03", false, true},
		{"the next round after a result", played(t), "P01", "", "R2M1", "P03", true, true},
		{"a match that will be forfeited has no referee", played(t, suspended), "P01", "", "R2M1", "P03", true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			next := ask(t, test.state, test.asker, protocol.QueryNextMatch, protocol.QueryParams{PlayerID: test.player}).Data.(protocol.NextMatchData).NextMatch
			require.NotNil(t, next)
			assert.Equal(t, test.match, next.MatchID)
			assert.Equal(t, test.opponent, next.OpponentID)
			assert.Equal(t, test.expected, next.RefereeExpected)
			assert.Equal(t, test.referee, next.RefereeEndpoint != nil)
		})
	}
	unstarted := fold(t, created(), player("P01"))
	assert.Nil(t, ask(t, unstarted, "P01", protocol.QueryNextMatch, protocol.QueryParams{}).Data.(protocol.NextMatchData).NextMatch)
}

func TestStatsOfAnAgent(t *testing.T) {
	own := ask(t, played(t), "P01", protocol.QueryPlayerStats, protocol.QueryParams{}).Data.(protocol.PlayerStatsData)
	assert.Equal(t, []any{"P01", 1, 3, journal.LifecycleActive}, []any{own.PlayerID, own.Wins, own.Points, own.State})
	other := ask(t, played(t), "P01", protocol.QueryPlayerStats, protocol.QueryParams{PlayerID: "P02"}).Data.(protocol.PlayerStatsData)
	assert.Equal(t, []any{"P02", 1}, []any{other.PlayerID, other.Losses})
	ref := ask(t, played(t), "P01", protocol.QueryPlayerStats, protocol.QueryParams{PlayerID: "REF02"}).Data.(protocol.RefereeStatsData)
	assert.Equal(t, []any{"REF02", journal.LifecycleActive}, []any{ref.RefereeID, ref.State})
	unstarted := fold(t, created(), player("P01"))
	before := ask(t, unstarted, "P01", protocol.QueryPlayerStats, protocol.QueryParams{}).Data.(protocol.PlayerStatsData)
	assert.Equal(t, []any{"P01", 0, journal.LifecycleRegistered}, []any{before.PlayerID, before.Points, before.State})
}

func TestStatusCountsAgentsAndMatches(t *testing.T) {
	s := view(played(t)).Status()
	assert.Equal(t, []int{1, 3, 6, 1, 4, 2}, []int{s.Round, s.Rounds, s.Matches, s.Recorded, s.Players, s.Referees})
}
