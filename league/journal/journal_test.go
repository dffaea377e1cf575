package journal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// when is the time of all events of these tests. No result depends on it.
const when = "2026-01-01T00:00:00.000Z"

// events are a whole league of two players: one match, one round.
func events() []journal.Data {
	return []journal.Data{
		&journal.Created{
			SchemaVersion: journal.SchemaVersion, LeagueID: "L", DisplayName: "A ✓ league\n", GameType: "even_odd", Legs: 1,
			Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points"},
			Simulation: &journal.Simulation{Seed: 1<<64 - 1, Players: 2, Referees: 1, Strategies: []string{"random"}},
		},
		&journal.AgentRegistered{AgentID: "REF01", Role: protocol.RoleReferee, DisplayName: "R", Endpoint: "http://r/mcp", Capacity: 2, Generation: 1},
		&journal.AgentRegistered{AgentID: "P01", Role: protocol.RolePlayer, DisplayName: "One", Endpoint: "http://1/mcp", Generation: 1},
		&journal.AgentRegistered{AgentID: "P02", Role: protocol.RolePlayer, DisplayName: "Two", Endpoint: "http://2/mcp", Generation: 1},
		&journal.AgentSuspended{AgentID: "P02", Reason: "gone"},
		&journal.AgentReturned{AgentID: "P02", Endpoint: "http://2b/mcp", Generation: 2},
		&journal.Started{Algorithm: journal.Algorithm, Players: []string{"P01", "P02"}, Referees: []string{"REF01"}},
		&journal.RoundAnnounced{RoundID: 1, Referees: []string{"REF01"}},
		&journal.MatchAssigned{Attempt: firstAttempt, RefereeID: "REF01"},
		&journal.MatchDeclined{Attempt: firstAttempt, RefereeID: "REF01", Reason: "busy"},
		&journal.MatchAccepted{Attempt: firstAttempt, RefereeID: "REF01", DrawCommitment: strings.Repeat("ab", 32)},
		&journal.MatchReported{
			Attempt: firstAttempt, RefereeID: "REF01",
			Result: league.Result{
				Status: league.StatusWin, WinnerPlayerID: new("P02"), DrawnNumber: new(7), NumberParity: new("odd"),
				Choices: league.Both("P01", new("even"), "P02", new("odd")), Reason: "so",
			},
			Score: league.Both("P01", 0, "P02", 3),
			Draw:  &protocol.Draw{Commitment: strings.Repeat("ab", 32), Nonce: strings.Repeat("cd", 32), Entropies: league.PerPlayer[string]{{Name: "P01", Value: strings.Repeat("01", 32)}}},
		},
		&journal.MatchDisputed{
			Attempt: firstAttempt, RefereeID: "REF01",
			Result: league.Result{Status: league.StatusDraw, Choices: league.Both("P01", new("odd"), "P02", nil)},
		},
		&journal.RoundCompleted{RoundID: 1, Summary: protocol.RoundSummary{TotalMatches: 1, Wins: 1}},
		&journal.LeagueCompleted{Champion: league.Champion{PlayerID: "P02", DisplayName: "Two", Points: 3}},
		&journal.AgentInformed{AgentID: "P01"},
	}
}

func textOf(t *testing.T, s *journal.State) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"events": s.Events, "created": s.Created, "agents": s.Agents, "started": s.Started, "rounds": s.Rounds,
		"recorded": s.Recorded, "completed": s.Completed, "standings": s.Standings(), "records": s.RoundRecords(),
	})
	require.NoError(t, err)
	return string(raw)
}

func TestImpossibleEventIsRejectedAndChangesNothing(t *testing.T) {
	later := *events()[11].(*journal.MatchReported)
	later.Number = 2
	for _, tt := range []struct {
		name  string
		after int // events
		event journal.Data
		want  string
	}{
		{"a second created event", 3, events()[0], "created once"},
		{"a second registration of an agent", 3, events()[2], "registered already"},
		{"an agent with an unknown role", 3, &journal.AgentRegistered{AgentID: "X", Role: "king"}, "player or referee"},
		{"a referee with an unknown referee_auth", 3, &journal.AgentRegistered{AgentID: "X", Role: protocol.RoleReferee, RefereeAuth: "some"}, "referee_auth"},
		{"a referee that returns with an unknown referee_auth", 3, &journal.AgentReturned{AgentID: "REF01", RefereeAuth: "some"}, "referee_auth"},
		{"an unregistered agent returns", 3, &journal.AgentReturned{AgentID: "P09"}, "not registered"},
		{"a round before the start", 3, events()[7], "before the start"},
		{"an unknown algorithm", 6, &journal.Started{Algorithm: "circle-v2", Players: []string{"P01", "P02"}, Referees: []string{"REF01"}}, "another version"},
		{"players that are not in order of ids", 6, &journal.Started{Algorithm: journal.Algorithm, Players: []string{"P02", "P01"}, Referees: []string{"REF01"}}, "ascending"},
		{"a match before its round", 7, events()[8], "not of an announced round"},
		{"an attempt number that is skipped", 8, &journal.MatchAssigned{Attempt: league.Attempt{MatchID: firstAttempt.MatchID, Number: 2}, RefereeID: "REF01"}, "follows attempt 0"},
		{"an attempt number that is used twice", 9, events()[8], "attempt 1 follows attempt 1"},
		{"a player as referee", 8, &journal.MatchAssigned{Attempt: firstAttempt, RefereeID: "P01"}, "no referee"},
		{"a result of a match that was not assigned", 8, events()[11], "was not assigned"},
		{"a second result", 12, events()[11], "second result"},
		{"a second result, of another attempt", 12, &later, "second result"},
		{"a result of a referee that declined", 10, events()[11], "was not assigned"},
		{"a second commitment", 11, &journal.MatchAccepted{Attempt: firstAttempt, RefereeID: "REF01", DrawCommitment: strings.Repeat("00", 32)}, "second, different"},
		{"a round without results", 11, events()[13], "no result"},
		{"a dispute about a match without a result", 11, events()[12], "no result"},
		{"the end of the league before its last round", 13, events()[14], "before its last round"},
		{"another champion", 14, &journal.LeagueCompleted{Champion: league.Champion{PlayerID: "P01"}}, "by the table it is P02"},
		{"a takeover without a term", 7, &journal.ManagerTookOver{Manager: "second"}, "after term 0"},
		{"an agent is informed of an end that has not come", 14, events()[15], "not"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := folded(t, events()[:tt.after]...)
			before := textOf(t, l.State)
			require.ErrorContains(t, l.try(tt.event), tt.want)
			assert.Equal(t, before, textOf(t, l.State))
		})
	}
}

// Referees in journals without referee_auth show players their access tokens.
func TestRefereeAuthFollowsRegistrationAndReturn(t *testing.T) {
	l := folded(t)
	for i, step := range []struct {
		event  journal.Data
		proves bool
	}{
		{events()[0], false},
		{&journal.AgentRegistered{AgentID: "REF07", Role: protocol.RoleReferee}, true},
		{&journal.AgentReturned{AgentID: "REF07", RefereeAuth: protocol.RefereeAuthNone}, false},
		{&journal.AgentReturned{AgentID: "REF07"}, false},
		{&journal.AgentReturned{AgentID: "REF07", RefereeAuth: protocol.RefereeAuthAccessToken}, true},
	} {
		l.apply(step.event)
		if i > 0 {
			assert.Equal(t, step.proves, l.Agents["REF07"].ShowsAccessTokens(), "event %d", i+1)
		}
	}
	created := *events()[0].(*journal.Created)
	created.Auth = "some"
	assert.ErrorContains(t, folded(t).try(&created), "auth")
}

// A journal of a few lines must not cost unlimited time.
func TestLeagueWithTooManyMatchesIsRejected(t *testing.T) {
	all := events()
	all[0].(*journal.Created).Legs = 1 << 30
	require.ErrorContains(t, folded(t, all[:6]...).try(all[6]), "more than")
}

func TestEventWithInvalidMatchIDIsNotDecoded(t *testing.T) {
	text, err := journal.Encode(&journal.Event{Seq: 1, At: when, Prev: journal.Origin, Data: events()[8]})
	require.NoError(t, err)
	e, err := journal.Decode(text)
	require.NoError(t, err)
	assert.Equal(t, events()[8], e.Data)
	for _, id := range []string{"R0M1", "R1", "final", ""} {
		_, err := journal.Decode([]byte(strings.Replace(string(text), `"R1M1"`, `"`+id+`"`, 1)))
		assert.ErrorContains(t, err, "match id", "%q", id)
	}
}

// withoutDraws is a copy of a match without what Condense drops.
func withoutDraws(m *journal.Match) journal.Match {
	c := *m
	c.Attempts = append([]journal.Attempt(nil), m.Attempts...)
	for i := range c.Attempts {
		c.Attempts[i].Commitment, c.Attempts[i].Event = "", 0
	}
	if m.Report != nil {
		report := *m.Report
		report.Draw, report.Evidence = nil, protocol.Evidence{}
		c.Report = &report
	}
	return c
}

// anyResult draws a result of P01 and P02 that the state accepts: one of our referees, of a
// third-party referee, or of a forged journal.
func anyResult(t *rapid.T) league.Result {
	text := func(name string) *string {
		return rapid.Ptr(rapid.SampledFrom([]string{"", "even", "odd", "rock"}), true).Draw(t, name)
	}
	r := league.Result{
		Status:       rapid.SampledFrom([]string{league.StatusWin, league.StatusDraw, league.StatusTechnicalLoss}).Draw(t, "status"),
		DrawnNumber:  rapid.Ptr(rapid.IntRange(0, 10), true).Draw(t, "number"),
		NumberParity: text("parity"),
		Reason: strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"P01", "P02", "P0", "P011", " chose ", "\x00", "\x00A", "B"}), 0, 4).
			Draw(t, "reason"), ""),
	}
	ids := rapid.Permutation([]string{"P01", "P02"})
	if r.Status != league.StatusDraw && (r.Status == league.StatusWin || rapid.Bool().Draw(t, "one failed")) {
		r.WinnerPlayerID = &ids.Draw(t, "winner")[0]
	}
	for _, id := range ids.Draw(t, "choices")[:rapid.SampledFrom([]int{0, 1, 2, 2, 2, 2}).Draw(t, "chosen")] {
		r.Choices = append(r.Choices, league.Member[*string]{Name: id, Value: text("choice")})
	}
	if rapid.Bool().Draw(t, "faults") {
		r.Faults = league.PerPlayer[string]{}
		for _, id := range ids.Draw(t, "failed")[:rapid.IntRange(0, 2).Draw(t, "failures")] {
			r.Faults = append(r.Faults, league.Member[string]{Name: id, Value: rapid.SampledFrom([]string{"", "E001", "E009"}).Draw(t, "code")})
		}
	}
	if rapid.Bool().Draw(t, "fallbacks") {
		r.Fallbacks = league.PerPlayer[int]{}
		for _, id := range ids.Draw(t, "fell back")[:rapid.IntRange(0, 2).Draw(t, "fallbacks of")] {
			r.Fallbacks = append(r.Fallbacks, league.Member[int]{Name: id, Value: rapid.IntRange(0, 2).Draw(t, "count")})
		}
	}
	return r
}

func TestCondensedMatchLacksOnlyTheDraw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newTestLeague(t, 0, 0)
		var want []journal.Match
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			id := l.announce()
			attempt := league.Attempt{MatchID: id, Number: 1}
			l.apply(&journal.MatchAssigned{Attempt: attempt, RefereeID: "REF01"})
			if rapid.Bool().Draw(rt, "declined") {
				l.apply(&journal.MatchDeclined{Attempt: attempt, RefereeID: "REF01"})
				attempt.Number = 2
				l.apply(&journal.MatchAssigned{Attempt: attempt, RefereeID: "REF02"})
			}
			referee := []string{"REF01", "REF02"}[attempt.Number-1]
			if rapid.Bool().Draw(rt, "accepted") {
				l.apply(&journal.MatchAccepted{Attempt: attempt, RefereeID: referee, DrawCommitment: "c"})
			}
			l.report(id, attempt.Number, referee, anyResult(rt))
			if rapid.Bool().Draw(rt, "disputed") {
				l.apply(&journal.MatchDisputed{Attempt: attempt, RefereeID: "REF02"})
			}
			l.complete()
			want = append(want, withoutDraws(l.Match(id)))
		}
		records, results := l.RoundRecords(), l.Recorded
		l.Condense(l.Round)
		for _, m := range l.Matches() {
			require.Equal(rt, want[m.Report.MatchID.Round-1], withoutDraws(m))
		}
		assert.Equal(rt, records, l.RoundRecords())
		assert.Equal(rt, results, l.Recorded)
	})
}

func TestMatchesWithAnotherOpeningAreNoCopies(t *testing.T) {
	numbers := map[uint64]bool{}
	for _, opening := range [][]string{nil, {"1"}, {"1", "2"}, {"12"}} {
		l := newTestLeague(t, 0, 0)
		id := l.announce()
		attempt := league.Attempt{MatchID: id, Number: 1}
		l.apply(&journal.MatchAssigned{Attempt: attempt, RefereeID: "REF01"})
		l.apply(&journal.MatchReported{Attempt: attempt, RefereeID: "REF01", Score: league.Both("P01", 1, "P02", 1),
			Result:   league.Result{Status: league.StatusDraw, Choices: league.Both[*string]("P01", nil, "P02", nil)},
			Evidence: protocol.Evidence{Opening: opening, Moves: []protocol.PlayerMove{{PlayerID: "P01", Move: "3"}}}})
		numbers[l.Match(id).Moves] = true
	}
	assert.Len(t, numbers, 4)
}

// Statistics recognise copies of a match after its moves are gone.
func TestCondensedMatchKeepsTheNumberOfItsMoves(t *testing.T) {
	l := newTestLeague(t, 0, 0)
	id := l.announce()
	attempt := league.Attempt{MatchID: id, Number: 1}
	l.apply(&journal.MatchAssigned{Attempt: attempt, RefereeID: "REF01"})
	l.apply(&journal.MatchAccepted{Attempt: attempt, RefereeID: "REF01"})
	one, other := "1", "2"
	l.report(id, 1, "REF01", league.Result{Status: league.StatusDraw, Choices: league.Both("P01", &one, "P02", &other)})
	l.complete()
	moves := l.Match(id).Moves
	assert.NotZero(t, moves)
	l.Condense(1)
	require.Empty(t, l.Match(id).Report.Evidence.Moves, "the match is condensed")
	assert.Equal(t, moves, l.Match(id).Moves)
}
