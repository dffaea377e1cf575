package decide_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

func view(s *journal.State) *decide.View {
	return &decide.View{State: s, LeagueID: leagueID, Games: []string{"even_odd"}, Phase: decide.Phase(s, false)}
}

func TestPhaseOfTheManager(t *testing.T) {
	waiting := fold(t, created())
	assert.Equal(t, decide.StateWaitingForRegistrations, decide.Phase(waiting, false))
	assert.Equal(t, decide.StateCreatingSchedule, decide.Phase(waiting, true))
	running := started(t)
	assert.Equal(t, decide.StateRunningLeague, decide.Phase(running, true))
	running.Completed = &journal.LeagueCompleted{}
	assert.Equal(t, decide.StateLeagueCompleted, decide.Phase(running, true))
}

func TestQueriesWithoutAnAnswer(t *testing.T) {
	for _, test := range []struct {
		name string
		q    protocol.LeagueQuery
		code protocol.Code
	}{
		{"another league", protocol.LeagueQuery{LeagueID: "other", QueryType: protocol.QueryStandings}, protocol.ErrLeagueNotFound},
		{"an unknown query", protocol.LeagueQuery{LeagueID: leagueID, QueryType: "GET_MONEY"}, protocol.ErrInvalidQueryType},
		{"an unknown player", protocol.LeagueQuery{LeagueID: leagueID, QueryType: protocol.QueryPlayerStats, QueryParams: protocol.QueryParams{PlayerID: "P09"}}, protocol.ErrPlayerNotRegistered},
		{"a referee that names no player", protocol.LeagueQuery{LeagueID: leagueID, QueryType: protocol.QueryNextMatch}, protocol.ErrPlayerNotRegistered},
		{"a round that does not exist", protocol.LeagueQuery{LeagueID: leagueID, QueryType: protocol.QuerySchedule, QueryParams: protocol.QueryParams{RoundID: 4}}, protocol.ErrMatchNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := view(started(t)).Answer(&test.q, "REF01")
			require.Error(t, err)
			assert.Equal(t, test.code, protocol.AsError(err).Code)
		})
	}
}

func TestNextMatchNamesTheRefereeThatIsExpected(t *testing.T) {
	q := &protocol.LeagueQuery{LeagueID: leagueID, QueryType: protocol.QueryNextMatch}
	response, err := view(started(t)).Answer(q, "P01")
	require.NoError(t, err)
	next := response.Data.(protocol.NextMatchData).NextMatch
	assert.Equal(t, "R1M1", next.MatchID)
	assert.Equal(t, "P02", next.OpponentID)
	assert.True(t, next.RefereeExpected)
	assert.Equal(t, "http://REF01/mcp", *next.RefereeEndpoint)
	response, err = view(started(t, announced())).Answer(q, "P01")
	require.NoError(t, err)
	assert.False(t, response.Data.(protocol.NextMatchData).NextMatch.RefereeExpected, "the round is announced")
}

func TestStatusListsTheInactiveAgents(t *testing.T) {
	s := started(t, &journal.AgentSuspended{AgentID: "P02", Reason: "slept"})
	response, err := view(s).Answer(&protocol.LeagueQuery{LeagueID: leagueID, QueryType: protocol.QueryStatus}, "P01")
	require.NoError(t, err)
	assert.Equal(t, protocol.AgentStates{Active: 5, Suspended: 1}, *response.AgentStates)
	assert.Equal(t, []protocol.InactiveAgent{{AgentID: "P02", State: journal.LifecycleSuspended, Reason: "slept"}}, response.Inactive)
}
