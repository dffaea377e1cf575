package journal_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// firstAttempt is the first attempt at the first match.
var firstAttempt = league.Attempt{MatchID: league.MatchID{Round: 1, Number: 1}, Number: 1}

// A testLeague is a state of two players and two referees, and the events that change
// it.
type testLeague struct {
	tournamentLog

	round int
}

func newTestLeague(t *testing.T, suspend, shutdown int) *testLeague {
	l := &testLeague{tournamentLog: tournamentLog{journal.NewState(), t}}
	begins := created(99, nil)
	begins.SuspendAfter, begins.ShutdownAfter = suspend, shutdown
	l.apply(begins)
	for _, id := range []string{"P01", "P02"} {
		l.apply(&journal.AgentRegistered{AgentID: id, Role: protocol.RolePlayer, DisplayName: id, Endpoint: "x", Generation: 1})
	}
	for _, id := range []string{"REF01", "REF02"} {
		l.apply(&journal.AgentRegistered{AgentID: id, Role: protocol.RoleReferee, DisplayName: id, Endpoint: "x", Generation: 1})
	}
	assert.Equal(t, "REGISTERED", l.state("P02"))
	l.apply(&journal.Started{Algorithm: journal.Algorithm, Players: []string{"P01", "P02"}, Referees: []string{"REF01", "REF02"}})
	return l
}

func (l *testLeague) state(id string) string {
	state, _ := l.Lifecycle(l.Agents[id])
	return state
}

func (l *testLeague) announce() league.MatchID {
	l.round++
	l.apply(&journal.RoundAnnounced{RoundID: l.round, Referees: []string{"REF01"}})
	return league.MatchID{Round: l.round, Number: 1}
}

func (l *testLeague) complete() {
	l.apply(&journal.RoundCompleted{RoundID: l.round, Summary: l.Summary(l.round)})
}

// playResult plays a round whose match has a result, reported by REF01.
func (l *testLeague) playResult(o league.Result) {
	l.t.Helper()
	id := l.announce()
	l.apply(&journal.MatchAssigned{Attempt: league.Attempt{MatchID: id, Number: 1}, RefereeID: "REF01"})
	l.report(id, 1, "REF01", o)
	l.complete()
}

func (l *testLeague) report(id league.MatchID, attempt int, referee string, o league.Result) {
	l.t.Helper()
	r := &journal.MatchReported{Attempt: league.Attempt{MatchID: id, Number: attempt}, RefereeID: referee, Result: o}
	for _, c := range o.Choices {
		r.Evidence.Moves = append(r.Evidence.Moves, protocol.PlayerMove{PlayerID: c.Name, Move: protocol.ValueOf(c.Value)})
	}
	r.Score = l.score(r)
	l.apply(r)
}

func (l *testLeague) score(r *journal.MatchReported) league.PerPlayer[int] {
	result, err := l.TableResult(r)
	require.NoError(l.t, err)
	_, a, b, _ := l.Find(r.MatchID)
	points := l.Created.Scoring
	return league.Both(a, points.For(result.Outcome(result.A)), b, points.For(result.Outcome(result.B)))
}

func lostBy(id, winner string, faults ...string) league.Result {
	o := league.Result{Status: league.StatusTechnicalLoss}
	if winner != "" {
		o.WinnerPlayerID = &winner
	}
	for _, f := range faults {
		o.Faults = append(o.Faults, league.Member[string]{Name: id, Value: f})
	}
	return o
}

func TestFailuresOfPlayer(t *testing.T) {
	draw := league.Result{Status: league.StatusDraw}
	silent, away := lostBy("P02", "P01", "E001"), lostBy("P02", "P01", "E009")
	for _, tt := range []struct {
		name string
		ends []league.Result
		want int
	}{
		{"the player does not answer", []league.Result{silent}, 1},
		{"the player is not reachable", []league.Result{away, silent}, 2},
		{"a draw", []league.Result{silent, draw}, 0},
		{"a defeat", []league.Result{silent, {Status: league.StatusWin, WinnerPlayerID: new("P01")}}, 0},
		{"a win", []league.Result{silent, {Status: league.StatusWin, WinnerPlayerID: new("P02")}}, 0},
		{"a wrong answer", []league.Result{silent, lostBy("P02", "P01", "E004")}, 0},
		{"the opponent does not answer", []league.Result{silent, lostBy("P01", "P02", "E001")}, 0},
		{"both players do not answer", []league.Result{silent, {
			Status: league.StatusTechnicalLoss, Faults: league.PerPlayer[string]{{Name: "P01", Value: "E001"}, {Name: "P02", Value: "E001"}},
		}}, 2},
		{"both lose, and only the opponent has a fault", []league.Result{silent, lostBy("P01", "", "E001")}, 0},
		{"a technical loss without a fault", []league.Result{silent, lostBy("P02", "P01")}, 1},
		{"a technical win without a fault", []league.Result{silent, lostBy("P01", "P02")}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newTestLeague(t, 3, 10)
			for _, o := range tt.ends {
				l.playResult(o)
			}
			assert.Equal(t, tt.want, l.Agents["P02"].Failures)
		})
	}
}

// due names what an agent's failures require.
func (l *testLeague) due(id string) string {
	suspend, shutdown := l.ExceedsLimits(l.Agents[id])
	switch {
	case suspend && shutdown:
		return "both"
	case suspend:
		return "suspend"
	case shutdown:
		return "shutdown"
	}
	return ""
}

func TestLifecycleOfPlayer(t *testing.T) {
	l := newTestLeague(t, 2, 5)
	silent := lostBy("P02", "P01", "E001")
	l.playResult(silent)
	assert.Empty(t, l.due("P02"))
	l.playResult(silent)
	assert.Equal(t, "suspend", l.due("P02"))
	l.apply(&journal.AgentSuspended{AgentID: "P02", Reason: "away"})
	assert.Equal(t, "SUSPENDED", l.state("P02"))
	assert.Empty(t, l.due("P02"))

	id := l.announce()
	assert.Equal(t, []string{"P02"}, l.InactivePlayers("P01", "P02"))
	forfeit := &journal.MatchForfeited{MatchID: id, Players: []string{"P02"}, Result: silent, Score: league.Both("P01", 3, "P02", 0)}
	wrong := *forfeit
	wrong.Players = []string{"P01"}
	assert.Error(t, l.try(&wrong))
	wrong = *forfeit
	wrong.WinnerPlayerID = new("P02")
	assert.Error(t, l.try(&wrong))
	wrong = *forfeit
	wrong.Status = league.StatusWin
	assert.Error(t, l.try(&wrong))
	l.apply(forfeit)
	assert.Error(t, l.try(forfeit), "once")
	l.complete()
	assert.Equal(t, []int{0, 3}, []int{l.Agents["P01"].Failures, l.Agents["P02"].Failures})
	assert.Equal(t, 3, l.Recorded)
	record := l.RoundRecords()[2].Matches[0]
	assert.Equal(t, []any{"", 0, league.StatusTechnicalLoss}, []any{record.RefereeID, record.Attempt, record.Status})

	l.apply(&journal.AgentReturned{AgentID: "P02", Endpoint: "x", Generation: 1, Reason: "it answers again"})
	assert.Equal(t, "ACTIVE", l.state("P02"))
	assert.Empty(t, l.due("P02"), "no further failure since its return")
	l.playResult(silent)
	assert.Equal(t, "suspend", l.due("P02"), "one further failure is enough")
	l.playResult(silent)
	assert.Equal(t, "shutdown", l.due("P02"))
	l.apply(&journal.AgentShutdown{AgentID: "P02", Reason: "gone"})
	assert.Equal(t, "SHUTDOWN", l.state("P02"))
	assert.Empty(t, l.due("P02"))
	assert.Error(t, l.try(&journal.AgentReturned{AgentID: "P02", Endpoint: "x", Generation: 1}))
	assert.Error(t, l.try(&journal.AgentSuspended{AgentID: "P02", Reason: "again"}))
	assert.Error(t, l.try(&journal.AgentShutdown{AgentID: "P02", Reason: "again"}))
}

func TestLeagueWithoutLimitsSuspendsNoAgent(t *testing.T) {
	l := newTestLeague(t, 0, 0)
	for range 30 {
		l.playResult(lostBy("P02", "P01", "E001"))
	}
	assert.Empty(t, l.due("P02"))
}

// failReferees plays a round in which referees fail in the given order, and another
// attempt of the reporter succeeds.
func (l *testLeague) failReferees(reporter string, order ...string) {
	l.t.Helper()
	id := l.announce()
	attempt := 0
	assigned := func(referee string) {
		attempt++
		l.apply(&journal.MatchAssigned{Attempt: league.Attempt{MatchID: id, Number: attempt}, RefereeID: referee})
	}
	for _, r := range order {
		assigned(r)
		l.apply(&journal.AgentFailed{AgentID: r, Attempt: league.Attempt{MatchID: id, Number: attempt}, Reason: "away"})
	}
	assigned(reporter)
	l.report(id, attempt, reporter, league.Result{Status: league.StatusDraw})
	assert.Empty(l.t, l.due("REF01"), "failures count when the round is completed")
	l.complete()
}

func TestFailuresOfReferee(t *testing.T) {
	l := newTestLeague(t, 2, 4)
	assert.Error(t, l.try(&journal.AgentFailed{AgentID: "P01", Attempt: firstAttempt}), "a player")
	assert.Error(t, l.try(&journal.AgentFailed{AgentID: "REF01", Attempt: firstAttempt}), "never assigned")
	l.failReferees("REF01", "REF01", "REF01")
	assert.Equal(t, 0, l.Agents["REF01"].Failures, "it has reported a result")
	l.failReferees("REF02", "REF01", "REF02", "REF01")
	assert.Equal(t, []int{2, 0}, []int{l.Agents["REF01"].Failures, l.Agents["REF02"].Failures})
	assert.Equal(t, "suspend", l.due("REF01"))
	l.apply(&journal.AgentSuspended{AgentID: "REF01", Reason: "away"})
	l.apply(&journal.AgentReturned{AgentID: "REF01", Endpoint: "x", Generation: 1})
	l.failReferees("REF02", "REF01", "REF01")
	assert.Equal(t, "shutdown", l.due("REF01"))
	l.apply(&journal.AgentShutdown{AgentID: "REF02", Reason: "gone"})
	assert.Equal(t, "suspend", l.due("REF01"), "the last referee is not shut down")
}

// After the start only an agent with a registration code can have lost its key and return.
func TestKeyChangesAfterTheStartOnlyInALeagueWithARoster(t *testing.T) {
	key := func(name string) string {
		return protocol.NewSigningKey([32]byte([]byte(name + "0123456789abcdef0123456789abcdef")[:32])).Public()
	}
	returned := &journal.AgentReturned{AgentID: "P01", Endpoint: "x", Generation: 2, PublicKey: key("second")}
	for _, test := range []struct {
		name   string
		roster *journal.Roster
		agent  string
		want   string // part of the error; "" for none
	}{
		{"no roster", nil, "P01", "P01 gets another public key after the start: that needs a registration code, and the league has no roster for it"},
		{"a roster", &journal.Roster{Players: 2}, "P01", ""},
		{"a referee, and a roster of players", &journal.Roster{Players: 2}, "REF01", "the league has no roster for it"},
		{"a referee, and a roster of both", &journal.Roster{Players: 2, Referees: 1}, "REF01", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := &testLeague{tournamentLog: tournamentLog{journal.NewState(), t}}
			begins := created(9, nil)
			begins.ManagerKey, begins.Roster = key("manager"), test.roster
			l.apply(begins)
			for _, id := range []string{"P01", "P02", "REF01"} {
				role := protocol.RolePlayer
				if id == "REF01" {
					role = protocol.RoleReferee
				}
				l.apply(&journal.AgentRegistered{AgentID: id, Role: role, DisplayName: id, Endpoint: "x", Generation: 1, PublicKey: key("first")})
			}
			l.apply(returned) // before the start
			assert.Empty(t, l.Agents["P01"].WithKeyMark(""))
			l.apply(&journal.Started{Algorithm: journal.Algorithm, Players: []string{"P01", "P02"}, Referees: []string{"REF01"}, Keys: l.PublicKeys()})
			l.playResult(league.Result{Status: league.StatusDraw})
			again := *returned
			again.AgentID, again.PublicKey = test.agent, key("third")
			err := l.try(&again)
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				if test.roster == nil {
					late := journal.Configuration{Roster: &journal.Roster{Players: 2}}
					require.ErrorContains(t, l.try(&journal.Configured{Configuration: &late}),
						"a league that has started without a roster gets none")
				}
				return
			}
			require.NoError(t, err)
			event, is, before := l.Events, l.Agents[test.agent], key("first")
			if test.agent == "P01" {
				before = key("second")
			}
			assert.Equal(t, []string{before, key("third")}, []string{is.KeyAt(event), is.KeyAt(event + 1)})
			l.playResult(league.Result{Status: league.StatusDraw})
			mark := fmt.Sprintf("has had another key since event %d", event)
			assert.Equal(t, "gone; "+mark, l.Agents[test.agent].WithKeyMark("gone"))
			_, reason := l.Lifecycle(l.Agents[test.agent])
			assert.Equal(t, mark, reason)
			assert.Empty(t, l.KeyMarks(l.Match(league.MatchID{Round: 1, Number: 1}), "P01", "P02"), "the result is older")
			if test.agent == "P01" {
				assert.Equal(t, []string{"P01 " + mark}, l.KeyMarks(l.Match(league.MatchID{Round: 2, Number: 1}), "P01", "P02"))
			}
		})
	}
}

// What a tokenless referee has to change is needed most when its league is over.
func TestTokenlessRefereeIsNamedAfterTheEnd(t *testing.T) {
	l := newTestLeague(t, 3, 10)
	a := l.Agents["REF01"]
	a.Tokenless, a.Informed = true, true
	state, reason := l.Lifecycle(a)
	assert.Equal(t, []string{"SHUTDOWN", journal.NoToken("REF01")}, []string{state, reason})
}

// A new token is not confirmed before the agent has used it: a late confirmation of the old one does not count.
func TestConfirmationIsOfOneToken(t *testing.T) {
	l := folded(t, events()[:3]...)
	confirms := func(generation int) bool {
		l.apply(&journal.AgentConfirmed{AgentID: "P01", Generation: generation})
		return l.Agents["P01"].Confirmed
	}
	assert.True(t, confirms(1))
	l.apply(&journal.AgentReturned{AgentID: "P01", Endpoint: "http://1/mcp", Generation: 1})
	assert.True(t, l.Agents["P01"].Confirmed)
	l.apply(&journal.AgentReturned{AgentID: "P01", Endpoint: "http://1/mcp", Generation: 2})
	assert.False(t, confirms(1))
	assert.True(t, confirms(2))
}

// A player plays from the first attempt at its match until the match has a result.
func TestPlayerPlaysWhileItsMatchHasAnAttempt(t *testing.T) {
	for after := range len(events()) {
		l := folded(t, events()[:after]...)
		assert.Equal(t, after >= 9 && after < 12, l.Plays("P01"), "after %d events", after)
		assert.False(t, l.Plays("REF01"))
	}
}

// The load of a referee is what it was given, without the matches that it did not have to conduct.
func TestMatchesOfARefereeAreCounted(t *testing.T) {
	l := folded(t, events()[:8]...)
	assert.Equal(t, 1, l.Agents["REF01"].Assigned)
	l.apply(&journal.AgentSuspended{AgentID: "P01", Reason: "gone"})
	l.apply(&journal.MatchForfeited{
		MatchID: firstAttempt.MatchID, Players: []string{"P01"},
		Result: league.Result{Status: league.StatusTechnicalLoss, WinnerPlayerID: new("P02"), Choices: league.Both[*string]("P01", nil, "P02", nil)},
		Score:  league.Both("P01", 0, "P02", 3),
	})
	assert.Zero(t, l.Agents["REF01"].Assigned)
}
