package manager_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// mustReport sends a report that the manager accepts.
func mustReport(w *leaguetest.World, q *protocol.MatchResultReport) {
	w.T.Helper()
	_, err := w.Report(q)
	require.NoError(w.T, err)
}

// assertReportRefused sends a report that the manager refuses.
func assertReportRefused(
	w *leaguetest.World, q *protocol.MatchResultReport, code protocol.Code, rpc int,
) *protocol.Error {
	w.T.Helper()
	_, err := w.Report(q)
	leaguetest.AssertRefused(w.T, err, code, rpc)
	return protocol.AsError(err)
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
			assertReportRefused(w, q, test.code, test.rpc)
			assert.Zero(t, w.Manager.Status().Recorded)
			mustReport(w, w.WinReport("REF01")) // a correct report is still accepted
		})
	}
}

func TestSecondReportMustAgreeWithTheFirst(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartReporting()
		similar := w.WinReport("REF01")
		similar.Result.Score, similar.Result.Reason = league.Both("P01", 1, "P02", 0), "in other words"
		for _, same := range []*protocol.MatchResultReport{w.WinReport("REF01"), w.WinReport("REF01"), similar} {
			ack, err := w.Report(same)
			require.NoError(t, err)
			assert.Equal(t, []any{protocol.StatusAccepted, "R1M1", 1}, []any{ack.Status, ack.MatchID, ack.RoundID})
			assert.Equal(t, 1, w.Manager.Status().Recorded)
			first := w.Manager.Standings()[0]
			assert.Equal(t, []int{1, 3}, []int{first.Played, first.Points})
		}
		assertReportRefused(w, w.ContradictoryReport("REF01"), protocol.ErrDuplicateReport, 5003)
		assert.Equal(t, record.Match{
			MatchID: "R1M1", RoundID: 1, PlayerAID: "P01", PlayerBID: "P02", RefereeID: "REF01",
			Result: league.Result{
				Status: league.StatusWin, WinnerPlayerID: new("P01"), DrawnNumber: new(8), NumberParity: new("even"),
				Choices: league.Both("P01", new("even"), "P02", new("odd")),
			},
			Score: league.Both("P01", 3, "P02", 0), Grade: journal.GradeRecomputed,
		}, leaguetest.Results(w.Manager)[0])
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
		number     *int
		choices    league.PerPlayer[*string]
		statusWith string
		points     [2]int
		failed     int // technical losses
	}{
		{name: "winner DRAW, no details", winner: text("DRAW"), a: 1, b: 1, statusWith: league.StatusDraw, points: [2]int{1, 1}},
		{name: "a winner, no details", winner: text("P02"), b: 3, statusWith: league.StatusWin, points: [2]int{0, 3}},
		{
			name: "a winner with number and choices, no status", winner: text("P01"), a: 3,
			number: &number, choices: choices, statusWith: league.StatusWin, points: [2]int{3, 0},
		},
		{
			name: "a winner with choices, but no number", winner: text("P01"), a: 3,
			choices: league.Both("P01", text("even"), "P02", nil), statusWith: league.StatusTechnicalLoss, points: [2]int{3, 0}, failed: 1,
		},
		{name: "a score that differs from the league's points", winner: text("P01"), a: 2, b: 1, statusWith: league.StatusWin, points: [2]int{3, 0}},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.StartReporting()
			q := w.ReportOf("REF01", "R1M1", test.winner, "P01", "P02", test.a, test.b)
			q.Result.DrawnNumber, q.Result.Choices = test.number, test.choices
			mustReport(w, q)
			assert.Equal(t, test.statusWith, leaguetest.Results(w.Manager)[0].Status)
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
		mustReport(w, w.WinReport("REF01"))
		mustReport(w, w.ReportOf("REF01", "R1M2", nil, "P03", "P04", 1, 1))
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

// After three contradictory reports, another referee gets the match.
func TestMatchIsReassignedAfterThreeContradictoryReports(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 2)
		w.Referee("REF01", w.OnlyAccepting())
		// while it has not answered, the match has no result
		w.Referee("REF02", leaguetest.On(protocol.StartMatch.Name, leaguetest.Delayed(leaguetest.Second, leaguetest.Normally)))
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		for range 3 {
			e := assertReportRefused(w, w.ContradictoryReport("REF01"), protocol.ErrInvalidFieldType, -32602)
			assert.Contains(t, e.Detail, "result.winner: by the rules of even_odd it is P01")
		}
		late := w.WinReport("REF01")
		late.Attempt = 1 // it does not wait for the answer to attempt 2
		e := assertReportRefused(w, late, protocol.ErrInvalidMatchState, 4005)
		assert.Contains(t, e.Detail, "REF01 has lost attempt 1 at match R1M1")
		state := finish(x)
		assert.Equal(t, leaguetest.Second, w.Calls(protocol.StartMatch.Name, "ref02")[0].At, "without a delay")
		assert.Equal(t, "REF02", leaguetest.Results(x.Manager)[0].RefereeID)
		require.Len(t, state.Rounds[0].Matches[0].LostAttempts, 1)
		assert.Equal(t, "REF01", state.Rounds[0].Matches[0].LostAttempts[0].RefereeID)
		assert.Contains(t, notedRules(w, x.Folder), audit.RuleDoubt)
	})
}

// notedRules are the rules of the notes of an audit.
func notedRules(w *leaguetest.World, folder store.Folder) (names []string) {
	w.T.Helper()
	for _, note := range auditOf(w, folder).Notes {
		names = append(names, note.Rule)
	}
	return names
}

// finish waits for the end of a league and audits it.
func finish(x *leaguetest.ManagerRun) *journal.State {
	x.World.T.Helper()
	x.Finish()
	return x.CloseAudited()
}

// A referee that does not correct a contradictory report within ten seconds loses the match.
func TestContradictoryReportCanBeCorrectedForTenSeconds(t *testing.T) {
	for name, corrected := range map[string]bool{"corrected": true, "not corrected": false} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(2, 2)
			w.Referee("REF01", w.OnlyAccepting())
			w.Referee("REF02")
			w.Players(2)
			w.WaitUntil(leaguetest.Second)
			_, err := w.Report(w.ContradictoryReport("REF01"))
			require.Error(t, err)
			if !corrected {
				w.Finish()
				assert.Equal(t, 11*leaguetest.Second, w.Calls(protocol.StartMatch.Name, "ref02")[0].At)
				assert.Equal(t, "REF02", leaguetest.Results(w.Manager)[0].RefereeID)
				return
			}
			w.WaitUntil(9 * leaguetest.Second)
			mustReport(w, w.WinReport("REF01"))
			w.Finish()
			assert.Equal(t, "P01", leaguetest.Results(w.Manager)[0].Winner())
			assert.Empty(t, w.Calls(protocol.StartMatch.Name, "ref02"))
		})
	}
}

// Rejected reports of a former referee do not count against the present one.
func TestContradictoryReportsAreCountedForEachAttempt(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 3, func(o *manager.Options) { o.LongestMatch = 20 })
		w.Referee("REF01", w.OnlyAccepting())
		w.Referee("REF02", w.OnlyAccepting())
		w.Referee("REF03")
		w.Players(2)
		w.WaitUntil(21 * leaguetest.Second)
		require.Len(t, w.Calls(protocol.StartMatch.Name, "ref02"), 1, "REF01 has not reported in time")
		for _, id := range []string{"REF02", "REF02", "REF01", "REF02"} {
			assertReportRefused(w, w.ContradictoryReport(id), protocol.ErrInvalidFieldType, -32602)
		}
		w.Finish()
		assert.Equal(t, 21*leaguetest.Second, w.Calls(protocol.StartMatch.Name, "ref03")[0].At, "without a delay")
	})
}

// Without another referee, the match is a draw without choices, whatever was reported. The audit
// notes it.
func TestContradictoryReportOfTheOnlyRefereeDecidesNothing(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		w.Referee("REF01", w.OnlyAccepting())
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		for range 3 {
			assertReportRefused(w, w.ContradictoryReport("REF01"), protocol.ErrInvalidFieldType, -32602)
		}
		finish(x)
		r := leaguetest.Results(x.Manager)[0]
		assert.Equal(t, "DRAW   0 stated", fmt.Sprintf("%s %s %s %d %s", r.Status, r.Winner(), r.LastMoves()[0], protocol.ValueOf(r.DrawnNumber), r.Grade))
		assert.Contains(t, notedRules(w, x.Folder), audit.RuleDoubt)
		assert.Equal(t, 1, auditOf(w, x.Folder).Stated)
	})
}

// A third-party referee reports that both players failed, but both answer pings: another
// referee gets the match.
func TestDoubleTechnicalLossOfReachablePlayersIsRejected(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 2)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Referee("REF02")
		w.Players(2, leaguetest.WithDelays(leaguetest.Second, leaguetest.Second, 0))
		w.WaitUntil(leaguetest.Second)
		pings := w.CountCalls(protocol.Ping.Name, "p01")
		for range 2 {
			assertReportRefused(w, doubleLossReport(w, "REF01"), protocol.ErrInvalidMatchState, 4005)
		}
		assert.Equal(t, pings+1, w.CountCalls(protocol.Ping.Name, "p01"), "one ping for the match")
		state := finish(x)
		assert.Equal(t, "REF02", leaguetest.Results(x.Manager)[0].RefereeID)
		assert.NotEqual(t, league.StatusTechnicalLoss, leaguetest.Results(x.Manager)[0].Status)
		assert.Equal(t, "it says that P01 and P02 both failed, but both answer", state.Rounds[0].Matches[0].LostAttempts[0].Reason)
	})
}

// Reports that arrive during the pings wait for the verdict on the first report. The pings
// continue if the referee closes its connection.
func TestReportsWaitForPendingPings(t *testing.T) {
	for _, test := range []struct {
		name     string
		patience time.Duration // how long the first caller waits
		then     func(w *leaguetest.World, refereeID string) *protocol.MatchResultReport
	}{
		{"the same report again", 5 * leaguetest.Second, doubleLossReport},
		{"the same report again after the first caller hung up", leaguetest.Second / 4, doubleLossReport},
		{"a consistent report", 5 * leaguetest.Second, (*leaguetest.World).WinReport},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 2)
			thirdPartyReferee(w, "REF01", w.AcceptMatch)
			w.Referee("REF02")
			// The delays keep REF02 from ending the match at the instant of the verdict: a report that
			// waits would be one of a match with a result, E007.
			w.Players(2, leaguetest.On(protocol.Ping.Name, leaguetest.Delayed(leaguetest.Second, leaguetest.Normally)),
				leaguetest.WithDelays(leaguetest.Second, leaguetest.Second, 0))
			w.WaitUntil(10 * leaguetest.Second)
			pings := w.CountCalls(protocol.Ping.Name, "p01")
			first := w.InBackground(func() {
				ctx, stop := context.WithTimeout(w.Context, test.patience)
				defer stop()
				q := doubleLossReport(w, "REF01")
				_, err := protocol.ReportMatchResult.Call(ctx, w.Untrusted, w.ManagerPeer(), q)
				assert.Error(t, err)
			})
			w.WaitUntil(10*leaguetest.Second + leaguetest.Second/2)
			assertReportRefused(w, test.then(w, "REF01"), protocol.ErrInvalidMatchState, 4005)
			assert.Equal(t, 11*leaguetest.Second, w.Now(), "when both players have answered")
			<-first
			assert.Equal(t, pings+1, w.CountCalls(protocol.Ping.Name, "p01"), "one ping for the match")
			assert.Len(t, finish(x).Rounds[0].Matches[0].LostAttempts, 1)
			assert.Equal(t, "REF02", leaguetest.Results(x.Manager)[0].RefereeID)
		})
	}
}

// cutAfter cuts the files of a league after the first journal event of a type, as after a
// crash.
func cutAfter(t *testing.T, w *leaguetest.World, folder store.Folder, kind string) {
	t.Helper()
	var cut []byte
	for line := range bytes.Lines(leaguetest.ReadJournal(w, folder)) {
		cut = append(cut, line...)
		if bytes.Contains(line, []byte(`"type":"`+kind+`"`)) {
			break
		}
	}
	require.NoError(t, os.WriteFile(folder.Journal(leaguetest.LeagueID), cut, 0o644))
	require.NoError(t, os.Remove(folder.Standings(leaguetest.LeagueID)))
	require.NoError(t, os.RemoveAll(folder.Matches(leaguetest.LeagueID)))
}

// After a restart, the manager still knows that the result comes from a rejected report.
func TestRejectedReportSurvivesARestart(t *testing.T) {
	for _, test := range []struct {
		name   string
		report func(w *leaguetest.World, refereeID string) *protocol.MatchResultReport
		times  int
		want   string // status and winner
	}{
		{"a double loss", doubleLossReport, 1, "TECHNICAL_LOSS "},
		{"a contradictory report", (*leaguetest.World).ContradictoryReport, 3, "DRAW "},
	} {
		for _, last := range []string{"attempt_lost", "agent_failed"} {
			leaguetest.RunInMemory(t, test.name+" until "+last, func(t *testing.T, w *leaguetest.World) {
				x := thirdPartyLeague(w)
				for range test.times {
					_, err := w.Report(test.report(w, "REF01"))
					assert.Equal(t, test.times > 1, err != nil)
				}
				w.WaitUntil(2 * leaguetest.Second)
				x.Kill()
				cutAfter(t, w, x.Folder, last)
				x = w.StartManagerIn(x.Folder, 2, 1)
				for range test.times {
					w.WaitUntil(w.Now() + 5*leaguetest.Second)
					_, _ = w.Report(test.report(w, "REF01")) // accepted or not
				}
				x.Finish()
				r := leaguetest.Results(x.Manager)[0]
				assert.Equal(t, test.want, r.Status+" "+r.Winner())
				require.NoError(t, x.CloseFiles())
				assert.Empty(t, auditOf(w, x.Folder).Findings)
				assert.Contains(t, notedRules(w, x.Folder), audit.RuleDoubt)
			})
		}
	}
}

// A restarted manager also pings the players before it records a double technical loss.
func TestDoubleTechnicalLossIsVerifiedAfterARestart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := thirdPartyLeague(w)
		x.Kill()
		x = w.StartManagerIn(x.Folder, 2, 1, func(o *manager.Options) { o.Pace = 30 })
		w.WaitUntil(10 * leaguetest.Second)
		assertReportRefused(w, doubleLossReport(w, "REF01"), protocol.ErrInvalidMatchState, 4005)
		w.WaitUntil(40 * leaguetest.Second)
		pings := w.CountCalls(protocol.Ping.Name, "p01")
		mustReport(w, doubleLossReport(w, "REF01"))
		assert.Equal(t, pings+1, w.CountCalls(protocol.Ping.Name, "p01"))
		finish(x)
		assert.Contains(t, notedRules(w, x.Folder), audit.RuleDoubt)
	})
}

// doubleLossReport is a report that both players of R1M1 lost technically.
func doubleLossReport(w *leaguetest.World, refereeID string) *protocol.MatchResultReport {
	q := w.ReportOf(refereeID, "R1M1", nil, "P01", "P02", 0, 0)
	q.Result.Status = league.StatusTechnicalLoss
	return q
}
