package decide_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

func view(s *journal.State) *decide.View {
	return &decide.View{State: s, Games: []string{"even_odd"}, Phase: decide.Phase(s, false)}
}

func TestStatusListsTheInactiveAgents(t *testing.T) {
	s := started(t, &journal.AgentSuspended{AgentID: "P02", Reason: "slept"})
	response, err := view(s).Answer(&protocol.LeagueQuery{LeagueID: leagueID, QueryType: protocol.QueryStatus}, "P01")
	require.NoError(t, err)
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
		{"the current round", protocol.QueryParams{}, []string{"R1M1", "R1M2"}, 2},
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
		WinnerPlayerID: pointer("P01"), RefereeEndpoint: pointer("http://REF01/mcp"),
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
