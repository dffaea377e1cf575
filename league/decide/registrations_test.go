package decide_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
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
	r.ExpectAnswer(s.Agents["P02"], begin)
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

func TestNameBelongsToTheApplicantThatHasWaitedLongest(t *testing.T) {
	r, s := registrations(t)
	s.Configuration.MaxPlayers = 5
	apply(t, s, silent(player("P03")))
	r.ExpectAnswer(s.Agents["P03"], begin)
	first, second := applicant("Agent P02", "http://first/mcp"), applicant("Agent P02", "http://second/mcp")
	other := applicant("Agent P03", "http://other/mcp")
	for _, a := range []*decide.Applicant{first, second, other} {
		_, _, err := r.Admit(s, a, begin)
		require.ErrorContains(t, err, "is taken")
	}
	_, _, err := r.Admit(s, second, begin.Add(grace))
	require.ErrorContains(t, err, "1 other applicants have waited longer")
	for _, a := range []*decide.Applicant{other, first} {
		_, admitted, err := r.Admit(s, a, begin.Add(grace))
		require.NoError(t, err)
		assert.Equal(t, a.DisplayName, admitted.DisplayName)
	}
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

func TestRosterChecksNameAndCode(t *testing.T) {
	roster := decide.NewRoster()
	roster.Add(true, "André", "code-of-andre")
	roster.Add(true, "Bob", "code-of-bobby")
	roster.Add(false, "Whistle", "code-of-whistle")
	for name, tt := range map[string]struct {
		role, name, code string
		want             protocol.Code
		says             string
	}{
		"a right code":               {"player", "Bob", "code-of-bobby", "", ""},
		"a name in another form":     {"player", "Andre\u0301", "code-of-andre", "", ""},
		"a referee":                  {"referee", "Whistle", "code-of-whistle", "", ""},
		"no code":                    {"player", "Bob", "", protocol.ErrMissingField, "registration_code is missing"},
		"no code, unknown name":      {"player", "Carol", "", protocol.ErrMissingField, "registration_code is missing"},
		"a wrong code":               {"player", "Bob", "code-of-bobbY", protocol.ErrNotAuthorized, `registration_code is not that of "Bob"`},
		"an unknown name":            {"player", "Carol", "code-of-carol", protocol.ErrNotAuthorized, `no player with the display_name "Carol"`},
		"a name in capitals":         {"player", "BOB", "code-of-carol", protocol.ErrNotAuthorized, `no player with the display_name "BOB"`},
		"a code of another name":     {"player", "Bob", "code-of-andre", protocol.ErrNotAuthorized, `registration_code is not that of "Bob"`},
		"an unknown name, real code": {"player", "Carol", "code-of-bobby", protocol.ErrNotAuthorized, `no player with the display_name "Carol"`},
		"a player's code, a referee": {"referee", "Bob", "code-of-bobby", protocol.ErrNotAuthorized, `no referee with the display_name "Bob"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := roster.Check(&decide.Applicant{Code: tt.code, AgentRegistered: journal.AgentRegistered{Role: tt.role, DisplayName: tt.name}})
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			var no *decide.RejectionError
			require.ErrorAs(t, err, &no)
			assert.Equal(t, tt.want, no.Reason.Code)
			assert.Contains(t, no.Reason.Detail, tt.says)
			for _, name := range []string{"André", "Bob", "Whistle"} {
				if name != tt.name {
					assert.NotContains(t, no.Reason.Detail, name, "a guess shows no name of another agent")
				}
			}
			if tt.code != "" {
				assert.NotContains(t, no.Reason.Detail, tt.code)
			}
			assert.Zero(t, no.Retry, "waiting does not help")
		})
	}
	assert.Equal(t, &journal.Roster{Players: 2, Referees: 1}, roster.Size())
}

func TestRosterRestrictsOnlyTheRolesThatItLists(t *testing.T) {
	var none *decide.Roster
	anybody := &decide.Applicant{AgentRegistered: journal.AgentRegistered{Role: "referee", DisplayName: "Whistle"}}
	require.NoError(t, none.Check(anybody))
	assert.Nil(t, none.Size())
	players := decide.NewRoster()
	players.Add(true, "Alice", "code-of-alice")
	require.NoError(t, players.Check(anybody))
	anybody.Role = "player"
	require.Error(t, players.Check(anybody))
}

// Everybody at one address may fail five times in a minute for each name. Others are not affected.
func TestGuessesAtRegistrationCodesAreLimited(t *testing.T) {
	roster := decide.NewRoster()
	roster.Add(true, "Bob", "code-of-bobby")
	roster.Add(true, "Zoë", "code-of-zoe")
	roster.Add(false, "Bob", "code-of-whistle")
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var guesses decide.Guesses
	guess := func(role, name, code, address string) protocol.Code {
		err := guesses.Check(roster, &decide.Applicant{Code: code, AgentRegistered: journal.AgentRegistered{Role: role, DisplayName: name}}, address, now)
		if no := (*decide.RejectionError)(nil); errors.As(err, &no) {
			return no.Reason.Code
		}
		if err == nil {
			return ""
		}
		return protocol.AsError(err).Code
	}
	for range 9 { // these are no guesses
		assert.Empty(t, guess("player", "Bob", "code-of-bobby", "a"))
		assert.Equal(t, protocol.ErrMissingField, guess("player", "Bob", "", "a"))
		assert.Equal(t, protocol.ErrNotAuthorized, guess("player", "Carol", "code-of-bobby", "a"))
	}
	for range 5 {
		assert.Equal(t, protocol.ErrNotAuthorized, guess("player", "Bob", "code-of-zoe", "a"))
		assert.Equal(t, protocol.ErrNotAuthorized, guess("player", "Zoë", "code-of-bobby", "a"))
	}
	now = now.Add(40 * time.Second)
	for _, code := range []string{"code-of-zoe", "code-of-bobby"} {
		err := guesses.Check(roster, &decide.Applicant{Code: code, AgentRegistered: journal.AgentRegistered{Role: "player", DisplayName: "Bob"}}, "a", now)
		e := protocol.AsError(err)
		assert.Equal(t, protocol.ErrRateLimited, e.Code)
		assert.Equal(t, "too many wrong values of registration_code for this name from this address: wait 20s", e.Detail)
		assert.Equal(t, 20*time.Second, e.RetryAfter())
	}
	assert.Equal(t, protocol.ErrRateLimited, guess("player", "Zoe\u0308", "code-of-bobby", "a"), "the same name in another form")
	assert.Empty(t, guess("player", "Bob", "code-of-bobby", "b"), "the owner at another address")
	assert.Equal(t, protocol.ErrNotAuthorized, guess("referee", "Bob", "code-of-bobby", "a"), "another role")
	now = now.Add(20 * time.Second)
	assert.Equal(t, protocol.ErrNotAuthorized, guess("player", "Bob", "code-of-zoe", "a"))
	assert.Empty(t, guess("player", "Bob", "code-of-bobby", "a"), "a minute later")
	assert.NoError(t, guesses.Check(nil, &decide.Applicant{}, "a", now), "no roster")
}

func TestStartIsDue(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	at := protocol.FormatTimestamp
	planned := func(start time.Time) *journal.Decided {
		return &journal.Decided{Command: protocol.CommandStart, Decision: smith, StartAt: at(start)}
	}
	for name, tt := range map[string]struct {
		rule              journal.Configuration
		windowOver        bool
		planned           *journal.Decided
		players, referees int
		want              bool
	}{
		"enough players":                      {rule: journal.Configuration{Participants: journal.Participants{Players: 4, Referees: 1}}, players: 4, referees: 1, want: true},
		"too few players":                     {rule: journal.Configuration{Participants: journal.Participants{Players: 4, Referees: 1}}, players: 3, referees: 1},
		"too few referees":                    {rule: journal.Configuration{Participants: journal.Participants{Players: 4, Referees: 2}}, players: 4, referees: 1},
		"only start_league":                   {rule: journal.Configuration{Participants: journal.Participants{Referees: 1}}, players: 9, referees: 9},
		"the window is over":                  {rule: journal.Configuration{Participants: journal.Participants{Players: 4, Referees: 1}}, windowOver: true, players: 2, referees: 1, want: true},
		"before the time":                     {rule: journal.Configuration{Participants: journal.Participants{Referees: 1}, StartAt: at(noon.Add(time.Second))}, players: 9, referees: 9},
		"at the time":                         {rule: journal.Configuration{Participants: journal.Participants{Referees: 5}, StartAt: at(noon)}, players: 2, referees: 1, want: true},
		"after the time, one player":          {rule: journal.Configuration{Participants: journal.Participants{Referees: 1}, StartAt: at(noon.Add(-time.Hour))}, players: 1, referees: 1},
		"after the time, no referee":          {rule: journal.Configuration{Participants: journal.Participants{Referees: 1}, StartAt: at(noon.Add(-time.Hour))}, players: 5},
		"registration has ended":              {rule: journal.Configuration{Participants: journal.Participants{Referees: 1}, RegistrationUntil: at(noon)}, players: 2, referees: 1, want: true},
		"registration has ended, start later": {rule: journal.Configuration{Participants: journal.Participants{Referees: 1}, RegistrationUntil: at(noon), StartAt: at(noon.Add(time.Hour))}, players: 2, referees: 1},
		"before the time, enough players":     {rule: journal.Configuration{Participants: journal.Participants{Players: 4, Referees: 1}, StartAt: at(noon.Add(time.Hour))}, players: 4, referees: 1, want: true},
		"planned for now":                     {rule: journal.Configuration{Participants: journal.Participants{Players: 9}, StartAt: at(noon.Add(time.Hour))}, planned: planned(noon), players: 2, referees: 1, want: true},
		"planned for later, enough players":   {rule: journal.Configuration{Participants: journal.Participants{Players: 2, Referees: 1}, StartAt: at(noon)}, planned: planned(noon.Add(time.Hour)), players: 2, referees: 1},
		"planned for later, window over":      {windowOver: true, planned: planned(noon.Add(time.Hour)), players: 2, referees: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := created()
			c.Configuration = tt.rule
			c.MinPlayers = 2
			s := fold(t, c)
			for i := range tt.players {
				apply(t, s, player(league.PlayerID(i+1)))
			}
			for i := range tt.referees {
				apply(t, s, referee(league.RefereeID(i+1), 1, ""))
			}
			if tt.planned != nil {
				apply(t, s, tt.planned)
			}
			registrations := decide.Registrations{WindowOver: tt.windowOver}
			assert.Equal(t, tt.want, registrations.Due(s, noon))
		})
	}
}

func TestRefereeThatLacksAFeatureOfTheLeagueIsRejected(t *testing.T) {
	_, s := registrations(t)
	a := applicant("Arbiter", "http://localhost:8001/mcp")
	a.Role = protocol.RoleReferee
	assert.NoError(t, decide.Lacks(s, a))
	s.Created.Openings = 4
	assert.ErrorContains(t, decide.Lacks(s, a), `register with "features": ["openings"] in referee_meta`)
	a.Features = []string{"others", protocol.FeatureOpenings}
	assert.NoError(t, decide.Lacks(s, a))
	s.Created.TimeBank = &protocol.TimeBank{Initial: 60_000}
	assert.ErrorContains(t, decide.Lacks(s, a), `register with "features": ["time_bank"]`)
	a.Features = []string{protocol.FeatureTimeBank, protocol.FeatureOpenings}
	assert.NoError(t, decide.Lacks(s, a))
	assert.NoError(t, decide.Lacks(s, applicant("Alpha", "http://localhost:8101/mcp")), "a player plays by its questions")
}
