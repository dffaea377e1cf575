package decide_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

// smith is the author of the earlier decisions of these tests, jones that of the command.
var smith = journal.Decision{By: "A. Smith", Reason: "earlier"}

func command(name, about, winner string) protocol.OrganiseRequest {
	c := protocol.OrganiseRequest{Command: name, By: "B. Jones", Reason: "because", AgentID: about, Winner: winner}
	if name == protocol.CommandRematch || name == protocol.CommandRule {
		c.AgentID, c.MatchID = "", about
	}
	return c
}

// reported are the assignment and the result of a match, which its player A wins.
func reported(s *journal.State, id league.MatchID) []journal.Data {
	_, idA, idB, _ := s.Find(id)
	at := league.Attempt{MatchID: id, Number: s.Match(id).NextAttempt()}
	return []journal.Data{&journal.MatchAssigned{Attempt: at, RefereeID: "REF01"}, &journal.MatchReported{
		Attempt: at, RefereeID: "REF01", Score: league.Both(idA, 3, idB, 0),
		Result: league.Result{
			Status: league.StatusWin, WinnerPlayerID: &idA, Choices: league.Both(idA, new("even"), idB, new("odd")),
		},
	}}
}

// playNext plays the next round of a league.
func playNext(t *testing.T, s *journal.State) {
	t.Helper()
	d := s.Announcement(nil)
	for range s.Pairings(d.RoundID) {
		d.Referees = append(d.Referees, "REF01")
	}
	apply(t, s, d)
	for i := range s.Pairings(d.RoundID) {
		apply(t, s, reported(s, league.MatchID{Round: d.RoundID, Number: i + 1})...)
	}
	apply(t, s, &journal.RoundCompleted{RoundID: d.RoundID, Summary: s.Summary(d.RoundID)})
}

// playedRounds is the league of started after some rounds and further events.
func playedRounds(t *testing.T, rounds int, more ...journal.Data) *journal.State {
	t.Helper()
	s := started(t)
	for range rounds {
		playNext(t, s)
	}
	apply(t, s, more...)
	return s
}

func knockout(t *testing.T, rounds int) *journal.State {
	t.Helper()
	c := created()
	c.Tournament = &journal.Tournament{Algorithm: pairing.Knockout}
	s := fold(t, c, player("P01"), player("P02"), player("P03"), player("P04"), referee("REF01", 2, ""),
		&journal.Started{Players: []string{"P01", "P02", "P03", "P04"}, Referees: []string{"REF01"}})
	for range rounds {
		playNext(t, s)
	}
	return s
}

func TestCommandOfAnOrganiserBecomesAnEvent(t *testing.T) {
	for _, test := range []struct {
		name    string
		state   *journal.State
		command protocol.OrganiseRequest
		want    string // About of the event
		holds   func(s *journal.State) bool
	}{
		{"pause", started(t), command("pause", "", ""), "the league paused by B. Jones: because", func(s *journal.State) bool { return s.Paused != nil }},
		{"resume", started(t, &journal.Decided{Command: protocol.CommandPause, Decision: smith}), command("resume", "", ""), "the league resumed by B. Jones: because", func(s *journal.State) bool { return s.Paused == nil }},
		{"suspend a player", started(t), command("suspend", "P02", ""), "P02 suspended by B. Jones: because", func(s *journal.State) bool { return s.Agents["P02"].Inactive() }},
		{"suspend one of two referees", started(t), command("suspend", "REF01", ""), "REF01 suspended by B. Jones: because", func(s *journal.State) bool { return s.Agents["REF01"].Inactive() }},
		{"readmit a player that an organiser suspended", started(t, &journal.Decided{Command: protocol.CommandSuspend, Decision: smith, AgentID: "P02"}), command("readmit", "P02", ""),
			"P02 readmitted by B. Jones: because", func(s *journal.State) bool { return !s.Agents["P02"].Inactive() }},
		{"readmit a player that its failures shut down", started(t, &journal.AgentShutdown{AgentID: "P02", Reason: "failed"}), command("readmit", "P02", ""),
			"P02 readmitted by B. Jones: because", func(s *journal.State) bool { return !s.Agents["P02"].Inactive() }},
		{"withdraw a player before half of its matches", playedRounds(t, 1), command("withdraw", "P02", ""), "P02 withdrawn by B. Jones: because; its results are annulled",
			func(s *journal.State) bool { return s.Agents["P02"].Annulled && s.Standings()[3].PlayerID == "P02" }},
		{"withdraw a player after half of its matches", playedRounds(t, 2), command("withdraw", "P02", ""), "P02 withdrawn by B. Jones: because",
			func(s *journal.State) bool { return !s.Agents["P02"].Annulled && s.Agents["P02"].Inactive() }},
		{"withdraw a player of a knockout", knockout(t, 1), command("withdraw", "P02", ""), "P02 withdrawn by B. Jones: because", func(s *journal.State) bool { return s.Agents["P02"].Inactive() }},
		{"withdraw a referee", started(t), command("withdraw", "REF02", ""), "REF02 withdrawn by B. Jones: because", func(s *journal.State) bool { return s.Agents["REF02"].Inactive() }},
		{"withdraw a player before the start", fold(t, created(), player("P01")), command("withdraw", "P01", ""), "P01 withdrawn by B. Jones: because",
			func(s *journal.State) bool { return s.Agents["P01"] == nil && s.Dropped["P01"] != nil }},
		{"rematch", playedRounds(t, 1), command("rematch", "R1M1", ""), "a rematch of R1M1 ordered by B. Jones: because", func(s *journal.State) bool { return len(s.Rematches) == 1 && s.Match(first()).Report != nil }},
		{"rule a match that has a result", playedRounds(t, 1), command("rule", "R1M1", "P02"), "R1M1 ruled a win of P02 by B. Jones: because",
			func(s *journal.State) bool {
				return *s.Match(first()).Report.WinnerPlayerID == "P02" && len(s.Match(first()).Annulled) == 1
			}},
		{"rule a running match", started(t, announced()), command("rule", "R1M1", "draw"), "R1M1 ruled a draw by B. Jones: because",
			func(s *journal.State) bool { return s.Match(first()).Report.Status == league.StatusDraw }},
		{"rule a loss of both players", playedRounds(t, 1), command("rule", "R1M1", "none"), "R1M1 ruled a loss of both players by B. Jones: because",
			func(s *journal.State) bool {
				return s.Match(first()).Report.Status == league.StatusTechnicalLoss && s.Agents["P01"].Failures == 0
			}},
		{"rule a match whose rematch is ordered", playedRounds(t, 1, &journal.Decided{Command: protocol.CommandRematch, Decision: smith, MatchID: first()}), command("rule", "R1M1", "P01"),
			"R1M1 ruled a win of P01 by B. Jones: because", func(s *journal.State) bool { return len(s.Rematches) == 0 }},
		{"rule a match again with another winner", playedRounds(t, 1, ruled("P02")), command("rule", "R1M1", "P01"), "R1M1 ruled a win of P01 by B. Jones: because",
			func(s *journal.State) bool { return len(s.Match(first()).Annulled) == 2 }},
		{"rule the last round of a knockout", knockout(t, 1), command("rule", "R1M2", "P03"), "R1M2 ruled a win of P03 by B. Jones: because",
			func(s *journal.State) bool { return s.Pairings(2)[0] == pairing.Pairing{A: 0, B: 2} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := decide.Decision(test.state, &test.command)
			require.NoError(t, err)
			assert.Equal(t, test.want, d.About())
			assert.Equal(t, test.command.AgentID, d.AgentID)
			apply(t, test.state, d)
			assert.True(t, test.holds(test.state))
		})
	}
}

// ruled is an earlier ruling of the first match.
func ruled(winner string) journal.Data {
	return &journal.Decided{Command: protocol.CommandRule, Decision: smith, MatchID: first(), Winner: winner}
}

func TestRefusedCommandTellsWhatHoldsNow(t *testing.T) {
	const earlier = "by A. Smith at 2026-01-01 00:00 UTC"
	held, order := &journal.Decided{Command: protocol.CommandSuspend, Decision: smith, AgentID: "P02"}, &journal.Decided{Command: protocol.CommandRematch, Decision: smith, MatchID: first()}
	withdrawn := func(id string, annulled bool) journal.Data {
		return &journal.Decided{Command: protocol.CommandWithdraw, Decision: smith, AgentID: id, Annulled: annulled}
	}
	completed := playedRounds(t, 3)
	champion := completed.Standings()[0]
	apply(t, completed, &journal.LeagueCompleted{Champion: league.Champion{PlayerID: champion.PlayerID, Points: champion.Points}})
	for _, test := range []struct {
		name    string
		state   *journal.State
		command protocol.OrganiseRequest
		code    protocol.Code
		want    string
	}{
		{"an unknown command", started(t), command("stop", "", ""), protocol.ErrInvalidFieldType, `command "stop": want one of start, pause,`},
		{"no author", started(t), protocol.OrganiseRequest{Command: "pause"}, protocol.ErrInvalidFieldType, "name the author"},
		{"an author in two lines", started(t), protocol.OrganiseRequest{Command: "pause", By: "A\nB"}, protocol.ErrInvalidFieldType, "printable"},
		{"a pause of a paused league", started(t, &journal.Decided{Command: protocol.CommandPause, Decision: smith}), command("pause", "", ""), protocol.ErrInvalidMatchState, "the league is paused already, " + earlier},
		{"a resume of a running league", started(t), command("resume", "", ""), protocol.ErrInvalidMatchState, "not paused"},
		{"a pause of a completed league", completed, command("pause", "", ""), protocol.ErrLeagueComplete, "the league is completed"},
		{"a rematch in a completed league", completed, command("rematch", "R1M1", ""), protocol.ErrLeagueComplete, "the league is completed"},
		{"an agent that nobody knows", started(t), command("suspend", "P99", ""), protocol.ErrPlayerNotRegistered, `no agent "P99": the league has P01 Agent P01, P02 Agent P02,`},
		{"an agent that was withdrawn before the start", fold(t, created(), player("P01"), withdrawn("P01", false)), command("withdraw", "P01", ""), protocol.ErrPlayerNotRegistered, "lost its registration"},
		{"a suspension of a suspended agent", started(t, held), command("suspend", "P02", ""), protocol.ErrInvalidMatchState, "P02 is suspended already, " + earlier},
		{"a suspension of a withdrawn agent", started(t, withdrawn("P02", true)), command("suspend", "P02", ""), protocol.ErrInvalidMatchState, "P02 Agent P02 is withdrawn, " + earlier},
		{"a suspension of the last referee", started(t, &journal.Decided{Command: protocol.CommandSuspend, Decision: smith, AgentID: "REF01"}), command("suspend", "REF02", ""), protocol.ErrInvalidMatchState, "REF02 is the only referee"},
		{"a withdrawal of the last referee", started(t, withdrawn("REF01", false)), command("withdraw", "REF02", ""), protocol.ErrInvalidMatchState, "REF02 is the only referee"},
		{"a readmission of an agent that takes part", started(t), command("readmit", "P02", ""), protocol.ErrInvalidMatchState, "neither suspended nor shut down"},
		{"a readmission of a withdrawn agent", started(t, withdrawn("P02", true)), command("readmit", "P02", ""), protocol.ErrInvalidMatchState, "P02 Agent P02 is withdrawn, " + earlier},
		{"a second withdrawal", started(t, withdrawn("P02", true)), command("withdraw", "P02", ""), protocol.ErrInvalidMatchState, "P02 Agent P02 is withdrawn, " + earlier},
		{"a start at no time", fold(t, created()), protocol.OrganiseRequest{Command: "start", By: "B. Jones", StartAt: "tomorrow"}, protocol.ErrInvalidTimestamp, `start_at "tomorrow"`},
		{"a start after the start", started(t), protocol.OrganiseRequest{Command: "start", By: "B. Jones", StartAt: "2026-01-01T02:00:00+01:00"}, protocol.ErrLateRegistration, "the league has started"},
		{"no match id", started(t), command("rematch", "M1", ""), protocol.ErrInvalidFieldType, `match "M1": want an id such as R1M2, or two players`},
		{"a match before the start", fold(t, created()), command("rule", "R1M1", "P01"), protocol.ErrLeagueNotStarted, "has not started"},
		{"a match of a later round", started(t, announced()), command("rule", "R2M1", "P01"), protocol.ErrMatchNotFound, "round 2 has not begun"},
		{"a match of no round", started(t, announced()), command("rule", "R9M1", "P01"), protocol.ErrMatchNotFound, "the league has 3 rounds"},
		{"a match that the round does not have", started(t, announced()), command("rule", "R1M9", "P01"), protocol.ErrMatchNotFound, "round 1 has 2 matches"},
		{"a rematch of a match without a result", started(t, announced()), command("rematch", "R1M1", ""), protocol.ErrInvalidMatchState, "R1M1 has no result yet"},
		{"a second rematch", playedRounds(t, 1, order), command("rematch", "R1M1", ""), protocol.ErrInvalidMatchState, "a rematch of R1M1 is ordered already, " + earlier},
		{"a rematch of a match that is played again", playedRounds(t, 1, order, &journal.Decided{Command: journal.CommandReopen, Decision: smith, MatchID: first()}), command("rematch", "R1M1", ""),
			protocol.ErrInvalidMatchState, "R1M1 is being played again"},
		{"a rematch of a withdrawn player", playedRounds(t, 1, withdrawn("P01", true)), command("rematch", "R1M1", ""), protocol.ErrInvalidMatchState, "match R1M1: P01 Agent P01 is withdrawn, " + earlier},
		{"a rematch before the present round of a knockout", knockout(t, 2), command("rematch", "R1M1", ""), protocol.ErrInvalidMatchState, "the pairings of round 2 follow from it"},
		{"a ruling before the present round of a knockout", knockout(t, 2), command("rule", "R1M1", "P01"), protocol.ErrInvalidMatchState, "the pairings of round 2 follow from it"},
		{"a ruling for a player that does not play the match", playedRounds(t, 1), command("rule", "R1M1", "P03"), protocol.ErrInvalidFieldType, `winner "P03": want P01 Agent P01 or P02 Agent P02, the players of R1M1, or draw, or none`},
		{"the same ruling again", playedRounds(t, 1, ruled("P02")), command("rule", "R1M1", "P02"), protocol.ErrInvalidMatchState, "R1M1 is ruled a win of P02 Agent P02 already, " + earlier},
		{"a ruling about a withdrawn player", playedRounds(t, 1, withdrawn("P02", true)), command("rule", "R1M1", "P02"), protocol.ErrInvalidMatchState, "match R1M1: P02 Agent P02 is withdrawn, " + earlier},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := decide.Decision(test.state, &test.command)
			assert.Nil(t, d)
			require.ErrorContains(t, err, test.want)
			assert.Equal(t, test.code, protocol.AsError(err).Code)
		})
	}
}

func TestRematchesBeginInTheOrderOfTheDecisions(t *testing.T) {
	second := league.MatchID{Round: 1, Number: 2}
	s := playedRounds(t, 1, &journal.Decided{Command: protocol.CommandRematch, Decision: smith, MatchID: second}, &journal.Decided{Command: protocol.CommandRematch, Decision: smith, MatchID: first()})
	for _, want := range []league.MatchID{second, first()} {
		d := decide.Reopen(s)
		require.Equal(t, &journal.Decided{Command: journal.CommandReopen, Decision: smith, MatchID: want}, d)
		apply(t, s, d)
		assert.Empty(t, decide.Holder(s, want), "no referee has the rematch yet")
		number, again := decide.AttemptFor(s.Match(want), "REF01", false)
		assert.Equal(t, []any{2, false}, []any{number, again}, "the rematch is a new attempt")
		apply(t, s, reported(s, want)...)
	}
	assert.Nil(t, decide.Reopen(s))
	assert.Empty(t, s.Rematches)
}

func TestForfeitNamesTheDecision(t *testing.T) {
	s := started(t, &journal.Decided{Command: protocol.CommandSuspend, Decision: smith, AgentID: "P01"}, &journal.Decided{Command: protocol.CommandWithdraw, Decision: smith, AgentID: "P02", Annulled: true}, announced())
	f, err := decide.Forfeit(s, first())
	require.NoError(t, err)
	assert.Equal(t, "P01 is suspended by A. Smith; P02 was withdrawn by A. Smith - both lose", f.Reason)
	assert.Empty(t, f.Faults, "they did not fail")
	apply(t, s, f)
	assert.Zero(t, s.Agents["P01"].Failures)
}

func TestReportsOfDecidedMatches(t *testing.T) {
	assigned := func(number int) journal.Data {
		return &journal.MatchAssigned{Attempt: attempt(number), RefereeID: "REF01"}
	}
	s := started(t, announced(), assigned(1))
	before := judge(s, report(), "REF01", decide.NotPinged).Result
	other := league.MatchID{Round: 1, Number: 2}
	apply(t, s, before)
	apply(t, s, reported(s, other)...)
	apply(t, s, &journal.RoundCompleted{RoundID: 1, Summary: s.Summary(1)}, &journal.Decided{Command: protocol.CommandRematch, Decision: smith, MatchID: first()})
	apply(t, s, &journal.Decided{Command: journal.CommandReopen, Decision: smith, MatchID: first()})

	v := judge(s, report(), "REF01", decide.NotPinged)
	require.ErrorContains(t, v.Err, "the earlier attempts at match R1M1 are annulled by A. Smith", "before the referee has the rematch")
	apply(t, s, assigned(2))
	second := func(q *protocol.MatchResultReport) { q.Attempt = 2 }
	v = judge(s, report(), "REF01", decide.NotPinged)
	assert.True(t, v.Repeated, "the annulled result again")
	two := report(func(q *protocol.MatchResultReport) { q.Result.DrawnNumber = new(2) })
	v = judge(s, two, "REF01", decide.NotPinged)
	require.ErrorContains(t, v.Err, "annulled by A. Smith", "another result of the annulled attempt")
	assert.False(t, v.Accepted || v.Disputed)
	v = judge(s, report(second), "REF01", decide.NotPinged)
	assert.True(t, v.Accepted, "the result of the rematch")
	apply(t, s, v.Result)
	otherNumber := func(q *protocol.MatchResultReport) { q.Result.DrawnNumber = new(2) }
	v = judge(s, report(otherNumber), "REF01", decide.NotPinged)
	require.ErrorContains(t, v.Err, "annulled by A. Smith", "another result of the annulled attempt, after the rematch")
	assert.False(t, v.Accepted || v.Disputed)

	apply(t, s, ruled("P02"))
	assert.True(t, judge(s, report(second), "REF01", decide.NotPinged).Repeated, "the result of the rematch again")
	v = judge(s, report(second, otherNumber), "REF01", decide.NotPinged)
	require.ErrorContains(t, v.Err, "match R1M1 has a result by A. Smith", "a report of a ruled match")
	assert.Equal(t, protocol.ErrInvalidMatchState, protocol.AsError(v.Err).Code)
	assert.False(t, v.Accepted || v.Disputed)
}

// REF01 has failed, REF02 has a result, which is annulled: what REF01 saw is no result of the rematch.
func TestLateReportFromBeforeARematchIsNoDispute(t *testing.T) {
	assigned := func(number int, refereeID string) journal.Data {
		return &journal.MatchAssigned{Attempt: attempt(number), RefereeID: refereeID}
	}
	other := league.MatchID{Round: 1, Number: 2}
	s := started(t, announced(), assigned(1, "REF01"), assigned(2, "REF02"))
	second := func(q *protocol.MatchResultReport) { q.Attempt = 2 }
	apply(t, s, judge(s, report(second), "REF02", decide.NotPinged).Result)
	otherNumber := func(q *protocol.MatchResultReport) { q.Attempt, q.Result.DrawnNumber = 1, new(2) }
	assert.True(t, judge(s, report(otherNumber), "REF01", decide.NotPinged).Disputed, "before the rematch")
	apply(t, s, reported(s, other)...)
	apply(t, s, &journal.RoundCompleted{RoundID: 1, Summary: s.Summary(1)}, &journal.Decided{Command: protocol.CommandRematch, Decision: smith, MatchID: first()})
	apply(t, s, &journal.Decided{Command: journal.CommandReopen, Decision: smith, MatchID: first()}, assigned(3, "REF02"))
	third := func(q *protocol.MatchResultReport) { q.Attempt = 3 }
	apply(t, s, judge(s, report(third), "REF02", decide.NotPinged).Result)
	for number, refereeID := range map[int]string{1: "REF01", 2: "REF02"} {
		earlier := func(q *protocol.MatchResultReport) { q.Attempt, q.Result.DrawnNumber = number, new(2) }
		v := judge(s, report(earlier), refereeID, decide.NotPinged)
		require.ErrorContains(t, v.Err, "the earlier attempts at match R1M1 are annulled by A. Smith", "attempt %d", number)
		assert.False(t, v.Accepted || v.Disputed)
	}
}

func TestNextMatchOfAPlayerIsItsRematch(t *testing.T) {
	s := playedRounds(t, 1, &journal.Decided{Command: protocol.CommandRematch, Decision: smith, MatchID: first()})
	next := func() string {
		r := ask(t, s, "P01", protocol.QueryNextMatch, protocol.QueryParams{})
		return r.Data.(protocol.NextMatchData).NextMatch.MatchID
	}
	assert.Equal(t, "R2M1", next(), "the result counts until the rematch begins")
	apply(t, s, decide.Reopen(s))
	assert.Equal(t, "R1M1", next())
}
