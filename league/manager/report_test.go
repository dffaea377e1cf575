package manager_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

func TestReportIsIdempotent(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
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
	for _, test := range []struct {
		name   string
		change func(*leaguetest.World, *protocol.MatchResultReport)
		code   protocol.Code
		rpc    int
	}{
		{"a match of another referee", func(w *leaguetest.World, q *protocol.MatchResultReport) {
			*q = *w.WinReport("REF02")
		}, protocol.ErrMatchNotFound, 5002},
		{"another league", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.LeagueID = "another" }, protocol.ErrLeagueNotFound, 6003},
		{"a player reports", func(w *leaguetest.World, q *protocol.MatchResultReport) {
			q.Sender, q.AuthToken = "player:P01", w.Token("P01")
		}, protocol.ErrRefereeNotRegistered, 13},
		{"no token", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.AuthToken = "" }, protocol.ErrTokenMissing, 5001},
		{"a wrong token", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.AuthToken = "tok-ref01-x" }, protocol.ErrTokenInvalid, 5001},
		{"the token of another referee", func(w *leaguetest.World, q *protocol.MatchResultReport) { q.AuthToken = w.Token("REF02") }, protocol.ErrNotAuthorized, 14},
		{"another protocol", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.Protocol = "league.v1" }, protocol.ErrProtocolVersion, 18},
		{"no match", func(_ *leaguetest.World, q *protocol.MatchResultReport) { q.MatchID = "" }, protocol.ErrMissingField, -32602},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.StartReporting()
			q := w.WinReport("REF01")
			test.change(w, q)
			_, err := w.Report(q)
			leaguetest.AssertRefused(t, err, test.code, test.rpc)
			assert.Zero(t, w.Manager.Status().Recorded)

			_, err = w.Report(w.WinReport("REF01"))
			require.NoError(t, err, "a correct report is still accepted")
		})
	}
}

func TestSecondReportMustAgreeWithTheFirst(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartReporting()
		_, err := w.Report(w.WinReport("REF01"))
		require.NoError(t, err)
		same, other := w.WinReport("REF01"), w.WinReport("REF01")
		same.Result.Score, same.Result.Details.Reason = league.Both("P01", 1, "P02", 0), "in other words"
		_, err = w.Report(same)
		require.NoError(t, err)
		winner := "P02"
		other.Result.Winner = &winner
		_, err = w.Report(other)
		leaguetest.AssertRefused(t, err, protocol.ErrDuplicateReport, 5003)
		assert.Equal(t, manager.MatchRecord{
			MatchID: "R1M1", RoundID: 1, PlayerA: "P01", PlayerB: "P02", RefereeID: "REF01",
			Status: league.StatusWin, Grade: journal.GradeRecomputed, Winner: "P01", Number: 8, ChoiceA: "even", ChoiceB: "odd",
		}, w.Manager.Results()[0])
		assert.Equal(t, 3, w.Manager.Standings()[0].Points)
	})
}

func TestReportFormsOfThirdPartyReferees(t *testing.T) {
	text := func(s string) *string { return &s }
	number := 8
	choices := league.Both("P01", text("even"), "P02", text("odd"))
	for _, test := range []struct {
		name       string
		winner     *string
		a, b       int // the score as reported
		details    *protocol.ResultDetails
		statusWith string
		points     [2]int
		failed     int // technical losses
	}{
		{name: "winner DRAW, no details", winner: text("DRAW"), a: 1, b: 1, statusWith: league.StatusDraw, points: [2]int{1, 1}},
		{name: "a winner, no details", winner: text("P02"), b: 3, statusWith: league.StatusWin, points: [2]int{0, 3}},
		{
			name: "a winner with number and choices, no status", winner: text("P01"), a: 3,
			details: &protocol.ResultDetails{DrawnNumber: &number, Choices: choices}, statusWith: league.StatusWin, points: [2]int{3, 0},
		},
		{
			name: "a winner with choices, but no number", winner: text("P01"), a: 3,
			details:    &protocol.ResultDetails{Choices: league.Both("P01", text("even"), "P02", nil)},
			statusWith: league.StatusTechnicalLoss, points: [2]int{3, 0}, failed: 1,
		},
		{name: "a score that differs from the league's points", winner: text("P01"), a: 2, b: 1, statusWith: league.StatusWin, points: [2]int{3, 0}},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
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
	}
}

func TestStandingsUpdateMatchesTheSpecification(t *testing.T) { // 003 §8.7 and §8.8
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 1)
		w.Referee("REF01", w.OnlyAccepting())
		for i, name := range []string{"Agent Alpha", "Agent Beta", "Agent Gamma", "Agent Delta"} {
			w.Player(league.PlayerID(i+1), leaguetest.WithName(name))
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
