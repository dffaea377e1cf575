package manager

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// full is a manager whose start is decided, because enough agents have answered, but whose
// Run has not recorded the start yet.
func full(t *testing.T) *eventfulManager {
	t.Helper()
	m := newEventfulManager(t, "")
	m.registrations.decide.Start.Referees = 1
	for i, role := range []string{protocol.RoleReferee, protocol.RolePlayer, protocol.RolePlayer} {
		admitted, err := m.registrations.register(&decide.Applicant{AgentRegistered: journal.AgentRegistered{
			Role: role, DisplayName: fmt.Sprintf("Agent %d", i), Endpoint: fmt.Sprintf("http://agent%d/mcp", i), Registration: fmt.Sprint(i),
			Capacity: 1, GameTypes: []string{evenodd.Type},
		}})
		require.NoError(t, err)
		require.True(t, m.registrations.pinged(admitted, &protocol.Pong{}, nil, new(bool)))
	}
	require.True(t, m.registrations.decide.Closed)
	require.Nil(t, m.state.Started)
	return m
}

// Otherwise Run would fail to record a start with one player.
func TestWithdrawalBetweenTheDecisionToStartAndTheStartComesAfterIt(t *testing.T) {
	m := full(t)
	_, err := m.organiseLeague(t.Context(), "", &protocol.OrganiseRequest{
		Envelope: protocol.Envelope{AuthToken: m.organiser.token}, LeagueID: "l", Command: protocol.CommandWithdraw, By: "A. Smith", AgentID: "P02",
	})
	require.NoError(t, err)
	require.NoError(t, m.start(t.Context()))
	assert.Len(t, m.players, 2)
	assert.NotNil(t, m.state.Agents["P02"].Withdrawn)
}

func TestStartThatIsDecidedCannotBePlannedForLater(t *testing.T) {
	m := full(t)
	_, err := m.organiseLeague(t.Context(), "", &protocol.OrganiseRequest{
		Envelope: protocol.Envelope{AuthToken: m.organiser.token}, LeagueID: "l", Command: protocol.CommandStart, By: "A. Smith", StartAt: "2999-01-01T00:00:00Z",
	})
	require.ErrorContains(t, err, "the league has started")
	assert.Nil(t, m.state.StartPlanned)
}
