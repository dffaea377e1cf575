package decide_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

func TestChoiceOfReferees(t *testing.T) {
	suspended := func(id string) journal.Data { return &journal.AgentSuspended{AgentID: id, Reason: "slept"} }
	for _, test := range []struct {
		name   string
		before []journal.Data
		round  int
		want   []string
	}{
		{"the lowest load for the capacity, then the lower id", nil, 1, []string{"REF01", "REF02"}},
		{"then the fewest matches in the league", nil, 2, []string{"REF01", "REF02"}},
		{"no suspended referee", []journal.Data{suspended("REF01")}, 1, []string{"REF02", "REF02"}},
		{"suspended referees if there is no other", []journal.Data{suspended("REF01"), suspended("REF02")}, 1, []string{"REF01", "REF02"}},
		{"a forfeited match is no load", []journal.Data{suspended("P01")}, 1, []string{"REF01", "REF01"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, decide.ChooseReferees(started(t, test.before...), test.round))
		})
	}
	for name, doubt := range map[string]func(a *journal.Agent){
		"two players deny its results": func(a *journal.Agent) { a.DeniedBy = []string{"P01", "P02"} },
		"it sends no token":            func(a *journal.Agent) { a.Tokenless = true },
	} {
		s := started(t, announced())
		doubt(s.Agents["REF01"])
		assert.Equal(t, []string{"REF02", "REF01"}, decide.ChooseReferees(s, 2), "no other is free")
		s.Rounds[0].Referees = []string{"REF01", "REF02"}
		keeps := map[bool]string{true: "REF02", false: "REF01"}[s.Agents["REF01"].Tokenless]
		assert.Equal(t, keeps, decide.NextReferee(s, "REF01", 0, func(string) bool { return false }), name)
		s.Agents["REF02"].Capacity = 2
		assert.Equal(t, []string{"REF02", "REF02"}, decide.ChooseReferees(s, 2), name)
		assert.Equal(t, "REF02", decide.NextReferee(s, "REF01", 0, func(string) bool { return false }), name)
	}
	s := started(t, announced())
	s.Agents["P01"].Endpoint, s.Agents["REF02"].Endpoint = "nats://evenodd.L.agent.anna", "nats://evenodd.L.agent.flag"
	assert.Equal(t, []string{"REF02", "REF01"}, decide.ChooseReferees(s, 2), "only REF02 can call P01")
	assert.True(t, decide.CannotCall(s, "REF01", "P02", "P01"))
	assert.False(t, decide.CannotCall(s, "REF01", "P02", "P03"))
	assert.False(t, decide.CannotCall(s, "REF02", "P01", "P02"))
	s = started(t)
	s.Agents["REF01"].DeniedBy = []string{"P01"}
	assert.Equal(t, []string{"REF01", "REF02"}, decide.ChooseReferees(s, 1), "one player can lie")
}

// Two players that agree to lie must not choose their referee.
func TestDenialsPutNoRefereeThatRelaysSignaturesBelowOneThatProvesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		denied, suspended []string
		want              string // the referee of the match that is announced for REF01
	}{
		"the other relays too":              {[]string{"REF01"}, []string{"REF03"}, "REF02"},
		"the other proves nothing":          {[]string{"REF01"}, []string{"REF02"}, "REF01"},
		"the other is denied as well":       {[]string{"REF01", "REF03"}, []string{"REF02"}, "REF01"},
		"one of the two others relays":      {[]string{"REF01"}, nil, "REF01"},
		"of those two the other is denied":  {[]string{"REF01", "REF03"}, nil, "REF02"},
		"a denied one that proves nothing ": {[]string{"REF03"}, []string{"REF02"}, "REF01"},
	} {
		t.Run(name, func(t *testing.T) {
			s := signed(t)
			for _, id := range tt.denied {
				s.Agents[id].DeniedBy = []string{"P01", "P02"}
			}
			for _, id := range tt.suspended {
				apply(t, s, &journal.AgentSuspended{AgentID: id, Reason: "slept"})
			}
			s.Rounds[0].Referees = []string{"REF01", "REF01"}
			assert.Equal(t, tt.want, decide.NextReferee(s, "REF01", 0, func(string) bool { return false }))
		})
	}
	s := signed(t)
	apply(t, s, &journal.AgentSuspended{AgentID: "REF02", Reason: "slept"})
	s.Agents["REF01"].DeniedBy = []string{"P01", "P02"}
	assert.Contains(t, decide.ChooseReferees(s, 2), "REF01")
}

func TestDiscardedAttempt(t *testing.T) {
	assigned := &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"}
	second := &journal.MatchAssigned{Attempt: attempt(2), RefereeID: "REF02"}
	for name, tt := range map[string]struct {
		before  []journal.Data
		number  int
		referee string
		third   string // the third-party referee
		asks    bool
	}{
		"a new attempt":                      {[]journal.Data{assigned}, 1, "REF01", "", true},
		"one that was declined before":       {[]journal.Data{assigned, &journal.MatchDeclined{Attempt: attempt(1), RefereeID: "REF01"}}, 1, "REF01", "", true},
		"one that was accepted before":       {[]journal.Data{assigned, &journal.MatchAccepted{Attempt: attempt(1), RefereeID: "REF01"}}, 1, "REF01", "", false},
		"an attempt of a third-party agent":  {[]journal.Data{assigned}, 1, "REF01", "REF01", true},
		"after one of our referees":          {[]journal.Data{assigned, second}, 2, "REF02", "REF02", true},
		"after one of a third-party referee": {[]journal.Data{assigned, second}, 2, "REF02", "REF01", false},
	} {
		s := started(t, append([]journal.Data{announced()}, tt.before...)...)
		asks := decide.AsksInvited(s.Match(first()), attempt(tt.number), tt.referee, func(id string) bool { return id == tt.third })
		assert.Equal(t, tt.asks, asks, name)
	}
	alone := []journal.Data{announced(), &journal.AgentSuspended{AgentID: "REF02", Reason: "slept"}, assigned}
	broken, both := protocol.Fault(protocol.ErrInvalidMatchState, "it broke"), "it declined the match after it had invited P01 and P02"
	declined := &journal.MatchDeclined{Attempt: attempt(1), RefereeID: "REF01"}
	erred := &journal.MatchDeclined{Attempt: attempt(1), RefereeID: "REF01", Error: true}
	for name, tt := range map[string]struct {
		before  []journal.Data
		invited []string
		fault   *protocol.Error
		want    string
	}{
		"nobody":                               {[]journal.Data{announced(), assigned}, nil, broken, ""},
		"both":                                 {[]journal.Data{announced(), assigned}, []string{"P01", "P02"}, nil, both},
		"one, and another referee is there":    {[]journal.Data{announced(), assigned}, []string{"P01"}, nil, "it declined the match after it had invited P01"},
		"one, who could lie, of the only one":  {alone, []string{"P01"}, nil, ""},
		"both of the only referee of a league": {alone, []string{"P01", "P02"}, nil, both},
		"an error, and another is there":       {[]journal.Data{announced(), assigned}, []string{"P01", "P02"}, broken, both},
		"a second error of the only referee":   {append(alone[:3:3], erred), []string{"P01", "P02"}, broken, both},
		"an error that only one player knows":  {alone, []string{"P01"}, broken, ""},
		"an error after a decline":             {append(alone[:3:3], declined), []string{"P01", "P02"}, broken, "ERRED"},
		"an error of the only referee":         {alone, []string{"P01", "P02"}, broken, "ERRED"},
	} {
		s := started(t, tt.before...)
		lost, once := decide.Discarded(s, attempt(1), "REF01", tt.invited, tt.fault)
		if tt.want == "ERRED" {
			assert.Equal(t, &journal.MatchDeclined{Attempt: attempt(1), RefereeID: "REF01", Reason: broken.Error(), Error: true}, once, name)
			apply(t, s, once)
			assert.True(t, s.Match(first()).Attempts[0].Erred, name)
		} else {
			assert.Nil(t, once, name)
		}
		if tt.want == "" || once != nil {
			assert.Nil(t, lost, name)
			continue
		}
		require.NotNil(t, lost, name)
		assert.Equal(t, []string{journal.CauseDiscarded, tt.want}, []string{lost.Cause, lost.Reason}, name)
		apply(t, s, lost)
		assert.Empty(t, decide.Holder(s, first()), name)
	}
}

func TestNextReferee(t *testing.T) {
	failed := func(ids ...string) func(string) bool {
		return func(id string) bool { return slices.Contains(ids, id) }
	}
	none := failed()
	s := started(t, announced())
	assert.Equal(t, "REF01", decide.NextReferee(s, "REF01", 0, none), "the announced one")
	assert.Equal(t, "REF01", decide.NextReferee(s, "REF01", 1, none), "the players would refuse REF02")
	assert.Equal(t, "REF01", decide.NextReferee(s, "REF02", 1, none), "the next in turn")
	assert.Equal(t, "REF02", decide.NextReferee(s, "REF01", 1, failed("REF01")), "there is no other")
	assert.Empty(t, decide.NextReferee(s, "REF01", 1, failed("REF01", "REF02")))
}

func TestAttemptThatARefereeGets(t *testing.T) {
	at := func(n int, id string, declined, accepted bool) journal.Attempt {
		return journal.Attempt{Number: n, Referee: id, Declined: declined, Accepted: accepted}
	}
	for _, test := range []struct {
		name     string
		attempts []journal.Attempt
		fresh    bool
		number   int
		again    bool
	}{
		{"the first", nil, false, 1, false},
		{"its own last one", []journal.Attempt{at(1, "REF01", false, true)}, false, 1, true},
		{"a new one, because the last was given up", []journal.Attempt{at(1, "REF01", false, true)}, true, 2, false},
		{"one that it declined before others did", []journal.Attempt{at(1, "REF01", true, false), at(2, "REF02", true, false)}, false, 1, true},
		{"a new one, because another referee may play", []journal.Attempt{at(1, "REF01", true, false), at(2, "REF02", false, false)}, false, 3, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			number, again := decide.AttemptFor(&journal.Match{Attempts: test.attempts}, "REF01", test.fresh)
			assert.Equal(t, test.number, number)
			assert.Equal(t, test.again, again)
		})
	}
}

func TestAcceptanceBindsTheRefereeToItsDraw(t *testing.T) {
	s := started(t, announced(), &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"})
	recorded, _, _, _ := s.Find(first())
	ack := &protocol.MatchAssignmentAck{Status: protocol.StatusAccepted, Attempt: 1, DrawCommitment: "first"}
	event, restarted := decide.Acceptance(recorded, attempt(1), "REF01", ack)
	assert.False(t, restarted)
	require.NotNil(t, event)
	assert.Equal(t, "first", event.DrawCommitment)
	apply(t, s, event)
	event, restarted = decide.Acceptance(recorded, attempt(1), "REF01", ack)
	assert.False(t, restarted)
	assert.Nil(t, event, "the same acceptance again")
	ack.DrawCommitment = "second"
	event, restarted = decide.Acceptance(recorded, attempt(1), "REF01", ack)
	assert.True(t, restarted, "it would draw again")
	assert.Nil(t, event)
}

func TestSuspensionByFailuresInARow(t *testing.T) {
	s := started(t)
	for failures, want := range []journal.Data{
		nil, nil,
		&journal.AgentSuspended{AgentID: "P01", Reason: "did not answer in its last 2 matches"},
		&journal.AgentShutdown{AgentID: "P01", Reason: "did not answer in its last 3 matches"},
	} {
		s.Agents["P01"].Failures = failures
		assert.Equal(t, want, decide.Suspension(s, "P01"))
	}
}

func TestForfeitOfAbsentPlayers(t *testing.T) {
	s := started(t, &journal.AgentSuspended{AgentID: "P01", Reason: "slept"}, announced())
	f, err := decide.Forfeit(s, first())
	require.NoError(t, err)
	require.NotNil(t, f)
	assert.Equal(t, []string{"P01"}, f.Players)
	assert.Equal(t, "P01 is suspended: it slept - P02 wins by default", f.Reason)
	assert.Equal(t, league.Both("P01", 0, "P02", 3), f.Score)
	apply(t, s, f)
	f, err = decide.Forfeit(s, first())
	require.NoError(t, err)
	assert.Nil(t, f, "it has a result")
	f, err = decide.Forfeit(s, league.MatchID{Round: 1, Number: 2})
	require.NoError(t, err)
	assert.Nil(t, f, "both players are present")
}

func TestRefereeFailureCountsUntilItSuspends(t *testing.T) {
	assigned := &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"}
	for _, limits := range []struct{ suspend, shutdown, count int }{
		{2, 0, 2}, {2, 10, 2}, {0, 0, journal.DefaultSuspendAfter},
		{5, 3, 2}, {5, 1, 1}, // one bad round does not shut down a referee
	} {
		s := started(t, announced(), assigned)
		s.Created.SuspendAfter, s.Created.ShutdownAfter = limits.suspend, limits.shutdown
		for range limits.count {
			event := decide.RefereeFailure(s, first(), "REF01", "it slept")
			require.NotNil(t, event, "%+v", limits)
			apply(t, s, event)
		}
		assert.Nil(t, decide.RefereeFailure(s, first(), "REF01", "it slept"), "%+v", limits)
	}
	absent := started(t, announced(), assigned, &journal.AgentSuspended{AgentID: "REF01", Reason: "slept"})
	assert.Nil(t, decide.RefereeFailure(absent, first(), "REF01", "it slept"), "the referee is suspended")
	assert.Nil(t, decide.RefereeFailure(played(t), first(), "REF01", "it slept"), "the match has a result")
}

func TestRefereeThatHoldsAMatch(t *testing.T) {
	assigned := &journal.MatchAssigned{Attempt: attempt(1), RefereeID: "REF01"}
	second := &journal.MatchAssigned{Attempt: attempt(2), RefereeID: "REF02"}
	for _, test := range []struct {
		name   string
		events []journal.Data
		want   string
	}{
		{"nobody before the first attempt", nil, ""},
		{"the referee of the attempt", []journal.Data{assigned}, "REF01"},
		{"the referee of the last attempt", []journal.Data{assigned, second}, "REF02"},
		{"no referee that failed", []journal.Data{assigned, &journal.AgentFailed{AgentID: "REF01", Attempt: attempt(1), Reason: "slept"}}, ""},
		{"no referee that lost the attempt", []journal.Data{assigned, &journal.AttemptLost{Attempt: attempt(1), RefereeID: "REF01", Cause: journal.CauseRejected}}, ""},
		{"no suspended referee", []journal.Data{assigned, &journal.AgentSuspended{AgentID: "REF01", Reason: "slept"}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, decide.Holder(started(t, append([]journal.Data{announced()}, test.events...)...), first()))
		})
	}
}

func TestRevivalEndsASuspension(t *testing.T) {
	suspended := &journal.AgentSuspended{AgentID: "P01", Reason: "slept"}
	for _, test := range []struct {
		name    string
		before  []journal.Data
		revived bool
	}{
		{"an active agent", nil, false},
		{"a suspended agent", []journal.Data{suspended}, true},
		{"an agent that was shut down", []journal.Data{suspended, &journal.AgentShutdown{AgentID: "P01", Reason: "slept"}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := started(t, test.before...)
			assert.Equal(t, test.revived, decide.Revival(s, "P01") != nil)
			assert.Nil(t, decide.Revival(s, "P02"), "it is not suspended")
			s.Completed = &journal.LeagueCompleted{}
			assert.Nil(t, decide.Revival(s, "P01"), "the league is over")
		})
	}
}

func TestForfeitByBothPlayers(t *testing.T) {
	s := started(t, &journal.AgentSuspended{AgentID: "P01", Reason: "slept"}, &journal.AgentSuspended{AgentID: "P02", Reason: "hid"}, announced())
	f, err := decide.Forfeit(s, first())
	require.NoError(t, err)
	require.NotNil(t, f)
	assert.Equal(t, []string{"P01", "P02"}, f.Players)
	assert.Nil(t, f.WinnerPlayerID)
	assert.Equal(t, "P01 is suspended: it slept; P02 is suspended: it hid - both lose", f.Reason)
	assert.Equal(t, league.Both("P01", 0, "P02", 0), f.Score)
}
