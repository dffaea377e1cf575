package manager_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

func TestReportIsIdempotent(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartReporting()
		for range 2 {
			ack, err := w.Report(w.WinReport("REF01"))
			require.NoError(t, err)
			assert.Equal(t, protocol.StatusAccepted, ack.Status)
			assert.Equal(t, "R1M1", ack.MatchID)
			assert.Equal(t, 1, ack.RoundID)
			assert.Equal(t, 1, w.Manager.Status().Recorded)
			assert.Equal(t, 1, w.Manager.Standings()[0].Played)
			assert.Equal(t, 3, w.Manager.Standings()[0].Points)
		}
	})
}

func TestInvalidReportIsRejected(t *testing.T) {
	winner := func(id string) func(*leaguetest.World, *protocol.MatchResultReport) {
		return func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.Result.Winner = &id }
	}
	for _, test := range []struct {
		name   string
		change func(*leaguetest.World, *protocol.MatchResultReport)
		code   protocol.Code
		rpc    int
	}{
		{"a match of another referee", func(w *leaguetest.World, q *protocol.MatchResultReport) {
			*q = *w.WinReport("REF02")
		}, protocol.ErrMatchNotFound, 5002},
		{"a match of a later round", func(_ *leaguetest.World, q *protocol.MatchResultReport) {
			q.MatchID, q.RoundID = "R2M1", 2
		}, protocol.ErrMatchNotFound, 5002},
		{"an unknown match", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.MatchID = "R1M3" }, protocol.ErrMatchNotFound, 5002},
		{"an invalid match id", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.MatchID = "the first" }, protocol.ErrMatchNotFound, 5002},
		{"a match of another round", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.RoundID = 2 }, protocol.ErrMatchNotFound, 5002},
		{"another league", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.LeagueID = "another" }, protocol.ErrLeagueNotFound, 6003},
		{"a player reports", func(w *leaguetest.World, q *protocol.MatchResultReport) {
			q.Sender, q.AuthToken = "player:P01", w.Token("P01")
		}, protocol.ErrRefereeNotRegistered, 13},
		{"no token", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.AuthToken = "" }, protocol.ErrTokenMissing, 5001},
		{"a wrong token", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.AuthToken = "tok-ref01-x" }, protocol.ErrTokenInvalid, 5001},
		{"the token of another referee", func(w *leaguetest.World, q *protocol.MatchResultReport) { q.AuthToken = w.Token("REF02") }, protocol.ErrNotAuthorized, 14},
		{"a winner that did not play", winner("P03"), protocol.ErrInvalidFieldType, -32602},
		{"a winner of a draw", func(_ *leaguetest.World, q *protocol.MatchResultReport) {
			q.Result.Details.Status = protocol.StatusDraw
		}, protocol.ErrInvalidFieldType, -32602},
		{"a win without a winner", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.Result.Winner = nil }, protocol.ErrInvalidFieldType, -32602},
		{"an unknown status", func(_ *leaguetest.World, q *protocol.MatchResultReport) {
			q.Result.Details.Status = "VICTORY"
		}, protocol.ErrInvalidFieldType, -32602},
		{"a negative score", func(_ *leaguetest.World, q *protocol.MatchResultReport) {
			q.Result.Score = protocol.Both("P01", 3, "P02", -3)
		}, protocol.ErrInvalidFieldType, -32602},
		{"another protocol", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.Protocol = "league.v1" }, protocol.ErrProtocolVersion, 18},
		{"no match", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.MatchID = "" }, protocol.ErrMissingField, -32602},
		{"a local time", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.Timestamp = "2000-01-01 00:00:00" }, protocol.ErrInvalidTimestamp, 21},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				w.StartReporting()
				q := w.WinReport("REF01")
				test.change(w, q)
				_, err := w.Report(q)
				leaguetest.AssertRefused(t, err, test.code, test.rpc)
				assert.Zero(t, w.Manager.Status().Recorded)

				_, err = w.Report(w.WinReport("REF01"))
				require.NoError(t, err, "a correct report is still accepted")
			})
		})
	}
}

func TestReportBeforeTheStartIsRejected(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Referee("REF01")
		w.Players(2)
		_, err := w.Report(w.WinReport("REF01"))
		leaguetest.AssertRefused(t, err, protocol.ErrLeagueNotStarted, 30)
	})
}

func TestSecondReportMustAgreeWithTheFirst(t *testing.T) {
	number, odd := 7, "odd"
	for _, test := range []struct {
		name   string
		change func(w *leaguetest.World, q *protocol.MatchResultReport)
		ok     bool
	}{
		{"the same", func(*leaguetest.World, *protocol.MatchResultReport) {}, true},
		{"the same with another score and reason", func(_ *leaguetest.World, q *protocol.MatchResultReport) {
			q.Result.Score, q.Result.Details.Reason = protocol.Both("P01", 1, "P02", 0), "in other words"
		}, true},
		{"another winner", func(_ *leaguetest.World, q *protocol.MatchResultReport) {
			id := "P02"
			q.Result.Winner = &id
		}, false},
		{"another number", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.Result.Details.DrawnNumber = &number }, false},
		{"another choice", func(_ *leaguetest.World, q *protocol.MatchResultReport) {
			q.Result.Details.Choices = protocol.Both("P01", &odd, "P02", &odd)
		}, false},
		{"another status", func(_ *leaguetest.World, q *protocol.MatchResultReport) {
			q.Result.Details.Status = protocol.StatusTechnicalLoss
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				check := func() {
					t.Helper()
					q := w.WinReport("REF01")
					test.change(w, q)
					ack, err := w.Report(q)
					if test.ok {
						require.NoError(t, err)
						assert.Equal(t, protocol.StatusAccepted, ack.Status)
					} else {
						leaguetest.AssertRefused(t, err, protocol.ErrDuplicateReport, 5003)
					}
					assert.Equal(t, league.MatchRecord{
						MatchID: "R1M1", RoundID: 1, PlayerA: "P01", PlayerB: "P02", RefereeID: "REF01",
						Status: protocol.StatusWin, Grade: journal.GradeRecomputed, Winner: "P01", Number: 8, ChoiceA: "even", ChoiceB: "odd",
					}, w.Manager.Results()[0])
					assert.Equal(t, 3, w.Manager.Standings()[0].Points)
				}
				w.StartManager(2, 2)
				w.Referee("REF01", w.OnlyAccepting())
				w.Referee("REF02", w.OnlyAccepting())
				w.Player("P01", leaguetest.On(protocol.UpdateStandings.Name, leaguetest.Silent))
				w.Player("P02")
				w.WaitUntil(leaguetest.Second)
				_, err := w.Report(w.WinReport("REF01"))
				require.NoError(t, err)
				check()
				w.Finish()
				check()
				_, err = w.Report(w.WinReport("REF02"))
				leaguetest.AssertRefused(t, err, protocol.ErrMatchNotFound, 5002)
			})
		})
	}
}

func TestReportFormsOfThirdPartyReferees(t *testing.T) {
	text := func(s string) *string { return &s }
	number := 8
	choices := protocol.Both("P01", text("even"), "P02", text("odd"))
	for _, test := range []struct {
		name       string
		winner     *string
		a, b       int // the score as reported
		details    *protocol.ResultDetails
		statusWith string
		points     [2]int
		failed     int // technical losses
	}{
		{name: "winner DRAW, no details", winner: text("DRAW"), a: 1, b: 1, statusWith: protocol.StatusDraw, points: [2]int{1, 1}},
		{name: "winner null, no details", a: 1, b: 1, statusWith: protocol.StatusDraw, points: [2]int{1, 1}},
		{name: "winner null, 0:0", statusWith: protocol.StatusDraw, points: [2]int{1, 1}},
		{
			name: "winner DRAW with choices, no number", winner: text("DRAW"), a: 1, b: 1,
			details: &protocol.ResultDetails{Choices: choices}, statusWith: protocol.StatusDraw, points: [2]int{1, 1},
		},
		{
			name: "winner null with number and choices", a: 1, b: 1,
			details: &protocol.ResultDetails{DrawnNumber: &number, Choices: protocol.Both("P01", text("even"), "P02", text("even"))}, statusWith: protocol.StatusDraw, points: [2]int{1, 1},
		},
		{name: "a winner, no details", winner: text("P02"), b: 3, statusWith: protocol.StatusWin, points: [2]int{0, 3}},
		{
			name: "a winner with number and choices, no status", winner: text("P01"), a: 3,
			details: &protocol.ResultDetails{DrawnNumber: &number, Choices: choices}, statusWith: protocol.StatusWin, points: [2]int{3, 0},
		},
		{
			name: "a winner with choices, but no number", winner: text("P01"), a: 3,
			details:    &protocol.ResultDetails{Choices: protocol.Both("P01", text("even"), "P02", nil)},
			statusWith: protocol.StatusTechnicalLoss, points: [2]int{3, 0}, failed: 1,
		},
		{name: "a score that differs from the league's points", winner: text("P01"), a: 2, b: 1, statusWith: protocol.StatusWin, points: [2]int{3, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				w.StartReporting()
				q := w.ReportOf("REF01", "R1M1", test.winner, "P01", "P02", test.a, test.b)
				q.Result.Details = test.details
				_, err := w.Report(q)
				require.NoError(t, err)
				assert.Equal(t, test.statusWith, w.Manager.Results()[0].Status)
				points, failed := map[string]int{}, 0
				for _, row := range w.Manager.Standings() {
					points[row.PlayerID] = row.Points
					failed += row.TechnicalLosses
				}
				assert.Equal(t, map[string]int{"P01": test.points[0], "P02": test.points[1], "P03": 0, "P04": 0}, points)
				assert.Equal(t, test.failed, failed)
			})
		})
	}
}

func TestStandingsUpdateMatchesTheSpecification(t *testing.T) { // 003 §8.7 and §8.8
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 1)
		w.Referee("REF01", w.OnlyAccepting())
		for i, name := range []string{"Agent Alpha", "Agent Beta", "Agent Gamma", "Agent Delta"} {
			w.Player(protocol.PlayerID(i+1), leaguetest.WithName(name))
		}
		w.WaitUntil(leaguetest.Second)
		_, err := w.Report(w.WinReport("REF01"))
		require.NoError(t, err)
		_, err = w.Report(w.ReportOf("REF01", "R1M2", nil, "P03", "P04", 1, 1))
		require.NoError(t, err)
		synctest.Wait()
		update := leaguetest.Decode[protocol.StandingsUpdate](w.OnlyCall(protocol.UpdateStandings.Name, "p01").Message)
		assert.Equal(t, "conv-round-1-standings", update.ConversationID)
		assert.Equal(t, []protocol.StandingRow{
			{Rank: 1, PlayerID: "P01", DisplayName: "Agent Alpha", Played: 1, Wins: 1, Points: 3},
			{Rank: 2, Tied: true, SharedRank: 2, PlayerID: "P03", DisplayName: "Agent Gamma", Played: 1, Draws: 1, Points: 1},
			{Rank: 3, Tied: true, SharedRank: 2, PlayerID: "P04", DisplayName: "Agent Delta", Played: 1, Draws: 1, Points: 1},
			{Rank: 4, PlayerID: "P02", DisplayName: "Agent Beta", Played: 1, Losses: 1},
		}, update.Standings)
	})
}
