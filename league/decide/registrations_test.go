package decide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const grace = 30 * time.Second

// registrations admit two players and one referee. P01 has answered, P02 has not.
func registrations(t *testing.T) (*decide.Registrations, *journal.State) {
	t.Helper()
	s := fold(t, created(), player("P01"), silent(player("P02")))
	s.Configuration.Participants = journal.Participants{MaxPlayers: 2, MaxReferees: 1}
	s.Configuration.UniqueDisplayNames = true
	r := &decide.Registrations{Grace: grace}
	r.ExpectAnswer("P02", begin)
	return r, s
}

func applicant(name, endpoint string) *decide.Applicant {
	return &decide.Applicant{AgentRegistered: journal.AgentRegistered{
		Role: protocol.RolePlayer, DisplayName: name, Endpoint: endpoint, GameTypes: []string{"even_odd"}, Registration: "r " + name,
	}}
}

// admission is what decides whether an applicant is admitted.
type admission struct {
	*decide.Registrations
	*journal.Configuration
	*decide.Applicant
}

func TestAdmission(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*admission)
		after   time.Duration // since P02 registered
		id      string        // "" for a rejection
		dropped string
		code    protocol.Code
		retry   time.Duration
	}{
		{"a full league with a silent player", nil, 10 * time.Second, "", "", protocol.ErrLeagueFull, 20 * time.Second},
		{"the silent player is replaced after the grace period", nil, grace, "P03", "P02", "", 0},
		{"a free slot", func(a *admission) { a.MaxPlayers = 3 }, 0, "P03", "", "", 0},
		{"a free id that the applicant wants", func(a *admission) { a.MaxPlayers, a.AgentID = 3, "P07" }, 0, "P07", "", "", 0},
		{"a taken id that the applicant wants", func(a *admission) { a.MaxPlayers, a.AgentID = 3, "P01" }, 0, "P03", "", "", 0},
		{"the name of a player that has answered", func(a *admission) { a.DisplayName = "Agent P01" },
			grace, "", "", protocol.ErrDuplicateName, 0},
		{"the name of a silent player", func(a *admission) { a.DisplayName = "Agent P02" },
			10 * time.Second, "", "", protocol.ErrDuplicateName, 20 * time.Second},
		{"the name of a player that can be replaced", func(a *admission) { a.DisplayName = "Agent P02" },
			grace, "P03", "P02", "", 0},
		{"equal names are allowed", func(a *admission) { a.UniqueDisplayNames, a.MaxPlayers, a.DisplayName = false, 3, "Agent P01" }, 0, "P03", "", "", 0},
		{"the URL of a player that has answered", func(a *admission) { a.Endpoint = "http://p01:80/mcp/" },
			grace, "", "", protocol.ErrInvalidEndpoint, 0},
		{"another game", func(a *admission) { a.GameTypes = []string{"chess"} },
			grace, "", "", protocol.ErrUnsupportedGame, 0},
		{"after the start", func(a *admission) { a.Closed = true },
			grace, "", "", protocol.ErrLateRegistration, 0},
		{"a referee has slots of its own", func(a *admission) { a.Role = protocol.RoleReferee },
			0, "REF01", "", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, s := registrations(t)
			a := applicant("Alpha", "http://alpha/mcp")
			if test.change != nil {
				test.change(&admission{r, s.Configuration, a})
			}
			drop, admitted, err := r.Admit(s, a, begin.Add(test.after))
			if test.id == "" {
				var no *decide.RejectionError
				require.ErrorAs(t, err, &no)
				assert.Equal(t, test.code, no.Reason.Code)
				assert.Equal(t, test.retry, no.Retry)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.id, admitted.AgentID)
			assert.True(t, admitted.AwaitsAnswer)
			if test.dropped == "" {
				assert.Empty(t, drop)
				return
			}
			require.Len(t, drop, 1)
			assert.Equal(t, journal.RegistrationDropped{AgentID: test.dropped, Reason: journal.DroppedSilent}, *drop[0])
		})
	}
}

func TestFreeSlotBelongsToTheApplicantThatHasWaitedLongest(t *testing.T) {
	r, s := registrations(t)
	first, second := applicant("First", "http://first/mcp"), applicant("Second", "http://second/mcp")
	for _, a := range []*decide.Applicant{first, second} {
		_, _, err := r.Admit(s, a, begin)
		require.Error(t, err)
	}
	now := begin.Add(grace)
	var no *decide.RejectionError
	_, _, err := r.Admit(s, second, now)
	require.ErrorAs(t, err, &no, "the slot is kept for the first applicant")
	assert.Contains(t, no.Reason.Detail, "1 other applicants have waited longer")
	_, admitted, err := r.Admit(s, first, now)
	require.NoError(t, err)
	assert.Equal(t, "First", admitted.DisplayName)
}

func TestWaitingApplicantLosesItsPositionWhenItDoesNotReturn(t *testing.T) {
	r, s := registrations(t)
	_, _, err := r.Admit(s, applicant("First", "http://first/mcp"), begin)
	require.Error(t, err)
	_, admitted, err := r.Admit(s, applicant("Second", "http://second/mcp"), begin.Add(2*grace))
	require.NoError(t, err)
	assert.Equal(t, "Second", admitted.DisplayName)
}

func TestRepeatedRegistrationFindsItsAgent(t *testing.T) {
	s := fold(t, created(), player("P01"))
	a := applicant("Agent P01", "http://P01/mcp")
	assert.Empty(t, decide.Repeated(s, a), "another conversation")
	a.Registration = "registration of P01"
	assert.Equal(t, "P01", decide.Repeated(s, a))
	apply(t, s, &journal.AgentConfirmed{AgentID: "P01", Generation: 1})
	assert.Empty(t, decide.Repeated(s, a), "the agent has used its token: it got the response")
}

func TestReadmission(t *testing.T) {
	same := decide.Return{AgentID: "P01", Generation: 1, Revive: true}
	for _, test := range []struct {
		name       string
		endpoint   string
		by         decide.Return
		before     []journal.Data
		after      time.Duration
		generation int // 0: nothing is recorded
		dropped    bool
		code       protocol.Code
	}{
		{"nothing has changed", "http://P01/mcp", same, nil, 0, 0, false, ""},
		{"a new endpoint", "http://elsewhere/mcp", same, nil, 0, 1, false, ""},
		{"an expired token gets a successor", "http://P01/mcp", decide.Return{AgentID: "P01", Generation: 1, Expired: true}, nil, 0, 2, false, ""},
		{"the URL of a silent player", "http://P02/mcp", same, nil, 0, 0, false, protocol.ErrInvalidEndpoint},
		{"the URL of a player that can be replaced", "http://P02/mcp", same, nil, grace, 1, true, ""},
		{"a suspended player returns", "http://P01/mcp", same, []journal.Data{&journal.AgentSuspended{AgentID: "P01", Reason: "slept"}}, 0, 1, false, ""},
		{"a simulation leaves it suspended", "http://P01/mcp", decide.Return{AgentID: "P01", Generation: 1},
			[]journal.Data{&journal.AgentSuspended{AgentID: "P01", Reason: "slept"}}, 0, 0, false, ""},
		{"a player that was shut down", "http://P01/mcp", same, []journal.Data{&journal.AgentShutdown{AgentID: "P01", Reason: "slept"}}, 0, 0, false, protocol.ErrNotAuthorized},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, s := registrations(t)
			apply(t, s, test.before...)
			drop, event, err := r.Readmit(s, applicant("Agent P01", test.endpoint), test.by, begin.Add(test.after))
			var no *decide.RejectionError
			if test.code != "" {
				require.ErrorAs(t, err, &no)
				assert.Equal(t, test.code, no.Reason.Code)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.dropped, drop != nil)
			if test.generation == 0 {
				assert.Nil(t, event)
				return
			}
			require.NotNil(t, event)
			assert.Equal(t, test.generation, event.Generation)
			assert.Equal(t, test.endpoint, event.Endpoint)
		})
	}
}
