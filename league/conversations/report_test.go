package conversations

import (
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// accepting takes every match and conducts none.
func (w *world) accepting(c *call) (jsontext.Value, error) {
	q := read[protocol.MatchAssignment](c.message)
	return written(protocol.MatchAssignmentAck{
		Envelope: protocol.NewStamp("referee:script", w.clock).Envelope(protocol.TypeMatchAssignmentAck, q.ConversationID),
		Status:   protocol.StatusAccepted, MatchID: q.MatchID, Attempt: q.Attempt,
	}), nil
}

// idle makes a trait of it.
func (w *world) idle() trait { return does(protocol.StartMatch.Name, w.accepting) }

// verdict is a report of a referee about a match, before it is sent.
func (w *world) verdict(refereeID, matchID string, winner *string, a, b string, scoreA, scoreB int) *protocol.MatchResultReport {
	id, _ := protocol.ParseMatchID(matchID)
	q := &protocol.MatchResultReport{
		Envelope: protocol.NewStamp(protocol.RefereeSender(refereeID), w.clock).Envelope(protocol.TypeMatchResultReport, "conv-report"),
		LeagueID: leagueID, RoundID: id.Round, MatchID: matchID, GameType: evenodd.Type,
		Result: protocol.MatchResult{Winner: winner, Score: protocol.Both(a, scoreA, b, scoreB)},
	}
	q.AuthToken = w.token(refereeID)
	return q
}

// wins is the report that P01 wins R1M1 against P02.
func (w *world) wins(refereeID string) *protocol.MatchResultReport {
	winner, number, even, odd := "P01", 8, "even", "odd"
	q := w.verdict(refereeID, "R1M1", &winner, "P01", "P02", 3, 0)
	q.Result.Details = &protocol.ResultDetails{
		DrawnNumber: &number, Choices: protocol.Both("P01", &even, "P02", &odd), Status: protocol.StatusWin,
	}
	return q
}

func (w *world) report(q *protocol.MatchResultReport) (*protocol.Ack, error) {
	return protocol.ReportMatchResult.Call(w.life, w.stranger, w.manage(), q)
}

// reporting starts a league of four players whose two referees leave the
// reports to the test: R1M1 is REF01's, and R1M2 is REF02's.
func (w *world) reporting() {
	w.t.Helper()
	w.startManager(4, 2)
	w.referee("REF01", w.idle())
	w.referee("REF02", w.idle())
	w.players(4)
	w.at(second)
	require.Equal(w.t, "RUNNING_LEAGUE", w.manager.Status().State)
}

func TestAReportIsRecordedOnce(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.reporting()
		for range 2 {
			ack, err := w.report(w.wins("REF01"))
			require.NoError(t, err)
			assert.Equal(t, protocol.StatusAccepted, ack.Status)
			assert.Equal(t, "R1M1", ack.MatchID)
			assert.Equal(t, 1, ack.RoundID)
			assert.Equal(t, 1, w.manager.Status().Recorded)
			assert.Equal(t, 1, w.manager.Standings()[0].Played)
			assert.Equal(t, 3, w.manager.Standings()[0].Points)
		}
	})
}

func TestAReportIsRefused(t *testing.T) {
	winner := func(id string) func(*world, *protocol.MatchResultReport) {
		return func(_ *world, q *protocol.MatchResultReport) { q.Result.Winner = &id }
	}
	for _, test := range []struct {
		name   string
		change func(*world, *protocol.MatchResultReport)
		code   protocol.Code
		rpc    int
	}{
		{"a match of another referee", func(w *world, q *protocol.MatchResultReport) {
			*q = *w.wins("REF02")
		}, protocol.ErrMatchNotFound, 5002},
		{"a match of a round to come", func(_ *world, q *protocol.MatchResultReport) {
			q.MatchID, q.RoundID = "R2M1", 2
		}, protocol.ErrMatchNotFound, 5002},
		{"a match there is not", func(_ *world, q *protocol.MatchResultReport) { q.MatchID = "R1M3" }, protocol.ErrMatchNotFound, 5002},
		{"a match of no name", func(_ *world, q *protocol.MatchResultReport) { q.MatchID = "the first" }, protocol.ErrMatchNotFound, 5002},
		{"a match of another round", func(_ *world, q *protocol.MatchResultReport) { q.RoundID = 2 }, protocol.ErrMatchNotFound, 5002},
		{"another league", func(_ *world, q *protocol.MatchResultReport) { q.LeagueID = "another" }, protocol.ErrLeagueNotFound, 6003},
		{"a player reports", func(w *world, q *protocol.MatchResultReport) {
			q.Sender, q.AuthToken = "player:P01", w.token("P01")
		}, protocol.ErrRefereeNotRegistered, 13},
		{"no token", func(_ *world, q *protocol.MatchResultReport) { q.AuthToken = "" }, protocol.ErrTokenMissing, 5001},
		{"a wrong token", func(_ *world, q *protocol.MatchResultReport) { q.AuthToken = "tok-ref01-x" }, protocol.ErrTokenInvalid, 5001},
		{"the token of another", func(w *world, q *protocol.MatchResultReport) { q.AuthToken = w.token("REF02") }, protocol.ErrNotAuthorized, 14},
		{"a winner that did not play", winner("P03"), protocol.ErrInvalidFieldType, -32602},
		{"a winner of a draw", func(_ *world, q *protocol.MatchResultReport) {
			q.Result.Details.Status = protocol.StatusDraw
		}, protocol.ErrInvalidFieldType, -32602},
		{"a win without a winner", func(_ *world, q *protocol.MatchResultReport) { q.Result.Winner = nil }, protocol.ErrInvalidFieldType, -32602},
		{"a status there is not", func(_ *world, q *protocol.MatchResultReport) {
			q.Result.Details.Status = "VICTORY"
		}, protocol.ErrInvalidFieldType, -32602},
		{"a negative score", func(_ *world, q *protocol.MatchResultReport) {
			q.Result.Score = protocol.Both("P01", 3, "P02", -3)
		}, protocol.ErrInvalidFieldType, -32602},
		{"another protocol", func(_ *world, q *protocol.MatchResultReport) { q.Protocol = "league.v1" }, protocol.ErrProtocolVersion, 18},
		{"no match", func(_ *world, q *protocol.MatchResultReport) { q.MatchID = "" }, protocol.ErrMissingField, -32602},
		{"a local time", func(_ *world, q *protocol.MatchResultReport) { q.Timestamp = "2000-01-01 00:00:00" }, protocol.ErrInvalidTimestamp, 21},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.reporting()
				q := w.wins("REF01")
				test.change(w, q)
				_, err := w.report(q)
				assertRefused(t, err, test.code, test.rpc)
				assert.Zero(t, w.manager.Status().Recorded)

				_, err = w.report(w.wins("REF01"))
				require.NoError(t, err, "the right report is still taken")
			})
		})
	}
}

func TestAReportBeforeTheStart(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		w.referee("REF01")
		w.players(2)
		_, err := w.report(w.wins("REF01"))
		assertRefused(t, err, protocol.ErrLeagueNotStarted, 30)
	})
}

func TestASecondReportOfAMatch(t *testing.T) {
	number, odd := 7, "odd"
	for _, test := range []struct {
		name   string
		change func(w *world, q *protocol.MatchResultReport)
		ok     bool
	}{
		{"the same", func(*world, *protocol.MatchResultReport) {}, true},
		{"the same with another score and reason", func(_ *world, q *protocol.MatchResultReport) {
			q.Result.Score, q.Result.Details.Reason = protocol.Both("P01", 1, "P02", 0), "in other words"
		}, true},
		{"another winner", func(_ *world, q *protocol.MatchResultReport) {
			id := "P02"
			q.Result.Winner = &id
		}, false},
		{"another number", func(_ *world, q *protocol.MatchResultReport) { q.Result.Details.DrawnNumber = &number }, false},
		{"another choice", func(_ *world, q *protocol.MatchResultReport) {
			q.Result.Details.Choices = protocol.Both("P01", &odd, "P02", &odd)
		}, false},
		{"another status", func(_ *world, q *protocol.MatchResultReport) {
			q.Result.Details.Status = protocol.StatusTechnicalLoss
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				check := func() {
					t.Helper()
					q := w.wins("REF01")
					test.change(w, q)
					ack, err := w.report(q)
					if test.ok {
						require.NoError(t, err)
						assert.Equal(t, protocol.StatusAccepted, ack.Status)
					} else {
						assertRefused(t, err, protocol.ErrDuplicateReport, 5003)
					}
					assert.Equal(t, league.MatchRecord{
						MatchID: "R1M1", RoundID: 1, PlayerA: "P01", PlayerB: "P02", RefereeID: "REF01",
						Status: protocol.StatusWin, Winner: "P01", Number: 8, ChoiceA: "even", ChoiceB: "odd",
					}, w.manager.Results()[0])
					assert.Equal(t, 3, w.manager.Standings()[0].Points)
				}
				w.startManager(2, 2)
				w.referee("REF01", w.idle())
				w.referee("REF02", w.idle())
				w.player("P01", does(protocol.UpdateStandings.Name, silent))
				w.player("P02")
				w.at(second)
				_, err := w.report(w.wins("REF01"))
				require.NoError(t, err)
				check()
				w.finish()
				check()
				_, err = w.report(w.wins("REF02"))
				assertRefused(t, err, protocol.ErrMatchNotFound, 5002)
			})
		})
	}
}

func TestReportsOfOtherMakers(t *testing.T) {
	word := func(s string) *string { return &s }
	number := 8
	choices := protocol.Both("P01", word("even"), "P02", word("odd"))
	for _, test := range []struct {
		name    string
		winner  *string
		a, b    int // the score as reported
		details *protocol.ResultDetails
		status  string
		points  [2]int
		failed  int // technical losses
	}{
		{name: "winner DRAW, no details", winner: word("DRAW"), a: 1, b: 1, status: protocol.StatusDraw, points: [2]int{1, 1}},
		{name: "winner null, no details", a: 1, b: 1, status: protocol.StatusDraw, points: [2]int{1, 1}},
		{name: "winner null, 0:0", status: protocol.StatusDraw, points: [2]int{1, 1}},
		{
			name: "winner DRAW with choices, no number", winner: word("DRAW"), a: 1, b: 1,
			details: &protocol.ResultDetails{Choices: choices}, status: protocol.StatusDraw, points: [2]int{1, 1},
		},
		{
			name: "winner null with number and choices", a: 1, b: 1,
			details: &protocol.ResultDetails{DrawnNumber: &number, Choices: protocol.Both("P01", word("even"), "P02", word("even"))}, status: protocol.StatusDraw, points: [2]int{1, 1},
		},
		{name: "a winner, no details", winner: word("P02"), b: 3, status: protocol.StatusWin, points: [2]int{0, 3}},
		{
			name: "a winner with number and choices, no status", winner: word("P01"), a: 3,
			details: &protocol.ResultDetails{DrawnNumber: &number, Choices: choices}, status: protocol.StatusWin, points: [2]int{3, 0},
		},
		{
			name: "a winner with choices, but no number", winner: word("P01"), a: 3,
			details: &protocol.ResultDetails{Choices: protocol.Both("P01", word("even"), "P02", nil)},
			status:  protocol.StatusTechnicalLoss, points: [2]int{3, 0}, failed: 1,
		},
		{
			name:    "nobody wins by technical loss",
			details: &protocol.ResultDetails{Status: protocol.StatusTechnicalLoss}, status: protocol.StatusTechnicalLoss, failed: 2,
		},
		{name: "a score that is not the league's", winner: word("P01"), a: 2, b: 1, status: protocol.StatusWin, points: [2]int{3, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.reporting()
				q := w.verdict("REF01", "R1M1", test.winner, "P01", "P02", test.a, test.b)
				q.Result.Details = test.details
				_, err := w.report(q)
				require.NoError(t, err)
				assert.Equal(t, test.status, w.manager.Results()[0].Status)
				points, failed := map[string]int{}, 0
				for _, row := range w.manager.Standings() {
					points[row.PlayerID] = row.Points
					failed += row.TechnicalLosses
				}
				assert.Equal(t, map[string]int{"P01": test.points[0], "P02": test.points[1], "P03": 0, "P04": 0}, points)
				assert.Equal(t, test.failed, failed)
			})
		})
	}
}

func TestTheStandingsOfTheSpecification(t *testing.T) { // 003 §8.7 and §8.8
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(4, 1)
		w.referee("REF01", w.idle())
		for i, name := range []string{"Agent Alpha", "Agent Beta", "Agent Gamma", "Agent Delta"} {
			w.player(protocol.PlayerID(i+1), named(name))
		}
		w.at(second)
		_, err := w.report(w.wins("REF01"))
		require.NoError(t, err)
		_, err = w.report(w.verdict("REF01", "R1M2", nil, "P03", "P04", 1, 1))
		require.NoError(t, err)
		synctest.Wait()
		update := read[protocol.StandingsUpdate](w.only(protocol.UpdateStandings.Name, "p01").message)
		assert.Equal(t, "conv-round-1-standings", update.ConversationID)
		assert.Equal(t, []protocol.StandingRow{
			{Rank: 1, PlayerID: "P01", DisplayName: "Agent Alpha", Played: 1, Wins: 1, Points: 3},
			{Rank: 2, PlayerID: "P03", DisplayName: "Agent Gamma", Played: 1, Draws: 1, Points: 1},
			{Rank: 3, PlayerID: "P04", DisplayName: "Agent Delta", Played: 1, Draws: 1, Points: 1},
			{Rank: 4, PlayerID: "P02", DisplayName: "Agent Beta", Played: 1, Losses: 1},
		}, update.Standings)
	})
}
