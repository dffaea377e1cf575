package manager_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// saysNo is a player that denies each result that it is asked about.
func saysNo() leaguetest.Option {
	return leaguetest.On(protocol.Ping.Name, leaguetest.EditAnswer("asked", false))
}

// A referee reports a technical loss of a player that it never asked. The loss counts at once; the
// player denies it, which is an event, a warning and a note.
func TestPlayerDeniesALossOfWhichItKnowsNothing(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		log, folder := w.CaptureLog(), leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 2)
		w.Referee("REF01", w.OnlyAccepting())
		w.Referee("REF02", w.OnlyAccepting())
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		q := w.WinReport("REF01")
		q.Result.Details = &protocol.ResultDetails{Status: protocol.StatusTechnicalLoss}
		_, err := w.Report(q)
		require.NoError(t, err)
		x.Finish()
		r := x.Manager.Results()[0]
		assert.Equal(t, []string{protocol.StatusTechnicalLoss, "P01", ""}, []string{r.Status, r.Winner, r.Grade})
		require.NoError(t, x.CloseFiles())
		state := w.CheckFiles(folder)
		assert.Equal(t, []string{"P02"}, state.Rounds[0].Matches[0].Disputed, "the winner is not asked")
		assert.Equal(t, []string{"P02"}, state.Agents["REF01"].DeniedBy)
		assert.Zero(t, state.Agents["REF01"].Failures)
		assert.Equal(t, 1, strings.Count(log.Text(), protocol.EventResultDenied))
		audited := auditOf(w, folder)
		assert.Empty(t, audited.Findings)
		assert.Contains(t, rulesOf(audited.Notes), audit.RuleDispute)
	})
}

// A manager that is killed before the player answers asks it again, and records each denial once.
func TestPlayerIsAskedAfterARestartOfTheManager(t *testing.T) {
	for name, answered := range map[string]bool{"before the answer": false, "after the answer": true} {
		t.Run(name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				log, folder := w.CaptureLog(), leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 4, 1)
				w.Referee("REF01", w.OnlyAccepting())
				w.Players(4, leaguetest.On(protocol.Ping.Name, leaguetest.Delayed(leaguetest.Second, leaguetest.EditAnswer("asked", false))))
				w.WaitUntil(3 * leaguetest.Second)
				q := w.WinReport("REF01")
				q.Result.Details = &protocol.ResultDetails{Status: protocol.StatusTechnicalLoss}
				_, err := w.Report(q)
				require.NoError(t, err)
				if answered {
					w.WaitUntil(5 * leaguetest.Second)
				}
				x.Kill()
				x = w.StartManagerIn(folder, 4, 1)
				w.WaitUntil(10 * leaguetest.Second)
				state, _ := w.FoldJournal(folder)
				assert.Equal(t, []string{"P02"}, state.Rounds[0].Matches[0].Disputed)
				assert.Equal(t, 1, strings.Count(log.Text(), protocol.EventResultDenied))
				x.Kill()
			})
		})
	}
}

// The manager asks both players of a match that rests on the word of its referee alone.
func TestBothPlayersAreAskedAboutAStatedResult(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Player("P01")
		w.Player("P02", leaguetest.On(protocol.Ping.Name, leaguetest.AnswerWith(map[string]string{"status": "ok"})))
		w.WaitUntil(leaguetest.Second)
		q := w.WinReport("REF01")
		q.Result.Details = nil
		_, err := w.Report(q)
		require.NoError(t, err)
		x.Finish()
		require.NoError(t, x.CloseFiles())
		assert.Equal(t, []string{"P01"}, w.CheckFiles(folder).Rounds[0].Matches[0].Disputed, "an answer without the member proves nothing")
		for _, id := range []string{"p01", "p02"} {
			calls := w.Calls(protocol.Ping.Name, id)
			about := leaguetest.Decode[protocol.ToolRequest](calls[len(calls)-1].Message)
			assert.Equal(t, []any{"R1M1", 1}, []any{about.MatchID, about.Attempt})
		}
	})
}

// A player that stops answering when it is losing, and then denies its loss, loses.
func TestPlayerThatStopsWhenItIsLosingGainsNothing(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 2)
		w.Referee("REF01")
		w.Referee("REF02")
		w.Player("P01")
		w.Player("P02", saysNo(), leaguetest.On(protocol.ChooseParity.Name, leaguetest.Silent))
		x.Finish()
		r := x.Manager.Results()[0]
		assert.Equal(t, []string{protocol.StatusTechnicalLoss, "P01"}, []string{r.Status, r.Winner})
		assert.Equal(t, 1, w.CountCalls(protocol.StartMatch.Name), "nothing is played again")
		require.NoError(t, x.CloseFiles())
		assert.Equal(t, []string{"P02"}, w.CheckFiles(folder).Rounds[0].Matches[0].Disputed)
		assert.Empty(t, auditOf(w, folder).Findings)
	})
}

// Two players lose each match technically and deny each loss. That suspends no honest referee.
func TestTwoPlayersThatLieDoNotSuspendARefereeOrChangeAResult(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 6, 2)
		w.Referee("REF01")
		w.Referee("REF02")
		for _, id := range []string{"P01", "P02", "P03", "P04"} {
			w.Player(id)
		}
		for _, id := range []string{"P05", "P06"} {
			w.Player(id, saysNo(), leaguetest.On(protocol.ChooseParity.Name, leaguetest.Silent))
		}
		x.Finish()
		require.NoError(t, x.CloseFiles())
		state := w.CheckFiles(folder)
		for _, id := range []string{"REF01", "REF02"} {
			r := state.Agents[id]
			assert.Equal(t, []any{true, false, 0}, []any{r.LastChoice(), r.Inactive(), r.Failures}, id)
		}
		for _, r := range x.Manager.Results() {
			liar := r.PlayerA > "P04" || r.PlayerB > "P04"
			assert.Equal(t, liar, r.Status == protocol.StatusTechnicalLoss, r.MatchID)
			assert.NotContains(t, []string{"P05", "P06"}, r.Winner)
		}
		assert.Empty(t, auditOf(w, folder).Findings)
	})
}

// Two players answer pings but no question. The second referee says the same as the first: the loss
// is recorded, and no referee failed.
func TestTwoBrokenPlayersThatAnswerPingsGiveNoFinding(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 3)
		w.Referee("REF01")
		w.Referee("REF02")
		w.Referee("REF03")
		w.Players(2, leaguetest.On(protocol.ChooseParity.Name, leaguetest.Silent))
		x.Finish()
		r := x.Manager.Results()[0]
		assert.Equal(t, []string{protocol.StatusTechnicalLoss, "", "REF02"}, []string{r.Status, r.Winner, r.RefereeID})
		require.NoError(t, x.CloseFiles())
		state := w.CheckFiles(folder)
		lost := state.Rounds[0].Matches[0].LostAttempts
		require.Len(t, lost, 1)
		assert.Equal(t, []any{"REF01", journal.CauseBothAnswer}, []any{lost[0].RefereeID, lost[0].Cause})
		assert.Zero(t, state.Agents["REF01"].Failures+state.Agents["REF02"].Failures)
		audited := auditOf(w, folder)
		assert.Empty(t, audited.Findings)
		assert.Contains(t, rulesOf(audited.Notes), audit.RuleDoubt)
	})
}

// Four results of one referee without a move or a number: one warning for the referee.
func TestOneWarningForARefereeWhoseResultsRestOnItsWord(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		log := w.CaptureLog()
		x := w.StartManager(4, 1)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Players(4)
		reportRounds(w, 3)
		w.Finish()
		assert.Equal(t, 1, strings.Count(log.Text(), protocol.EventResultStated))
		assert.Equal(t, []string{"6 results rest on the word of referee REF01 alone."}, x.Evidence())
		for _, r := range x.Results() {
			assert.Equal(t, journal.GradeStated, r.Grade)
		}
	})
}

// reportRounds reports each match of REF01 with a winner alone.
func reportRounds(w *leaguetest.World, rounds int) {
	for round := 1; round <= rounds; round++ {
		for number := 1; number <= 2; number++ {
			w.WaitUntil(w.Now() + 20*leaguetest.Second)
			id := protocol.MatchID{Round: round, Number: number}.String()
			players := pairOf(w, id)
			_, err := w.Report(w.ReportOf("REF01", id, &players[0], players[0], players[1], 3, 0))
			require.NoError(w.T, err)
		}
	}
}

// A league with evidence: recomputed refuses a report without moves, also after it was resumed. It
// never refuses a technical loss.
func TestRequiredEvidenceIsKeptFromTheStart(t *testing.T) {
	required := func(o *league.Options) { o.RequireEvidence = true }
	for name, status := range map[string]string{"a win": protocol.StatusWin, "a technical loss": protocol.StatusTechnicalLoss} {
		t.Run(name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 2, 1, required)
				thirdPartyReferee(w, "REF01", w.AcceptMatch)
				w.Players(2)
				w.WaitUntil(leaguetest.Second)
				x.Kill()
				x = w.StartManagerIn(folder, 2, 1) // the journal, not the option, decides
				w.WaitUntil(5 * leaguetest.Second)
				q := w.WinReport("REF01")
				q.Result.Details = &protocol.ResultDetails{Status: status}
				_, err := w.Report(q)
				if status == protocol.StatusTechnicalLoss {
					require.NoError(t, err)
				} else {
					leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
					assert.Contains(t, protocol.AsError(err).Detail, "a report shows all moves of both players")
					for range 2 {
						_, err = w.Report(q)
						require.Error(t, err)
					}
				}
				x.Finish()
				r := x.Manager.Results()[0]
				if status == protocol.StatusTechnicalLoss {
					assert.Equal(t, []string{status, "P01", ""}, []string{r.Status, r.Winner, r.Grade})
				} else {
					assert.Equal(t, []string{protocol.StatusDraw, "", journal.GradeStated}, []string{r.Status, r.Winner, r.Grade})
				}
				require.NoError(t, x.CloseFiles())
				w.CheckFiles(folder)
				assert.Empty(t, auditOf(w, folder).Findings)
			})
		})
	}
}

// A third-party referee reports without its token to a league that demands it. Another referee gets
// the match at once, and log and state of the agents say what to do.
func TestMatchOfARefereeWithoutTokenGoesToAnother(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		log, folder := w.CaptureLog(), leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 2)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Referee("REF02")
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		_, err := w.Report(tokenless(w.WinReport("REF01")))
		leaguetest.AssertRefused(t, err, protocol.ErrTokenMissing, 5001)
		x.Finish()
		assert.Equal(t, leaguetest.Second, w.Calls(protocol.StartMatch.Name, "ref02")[0].At, "at once")
		assert.Equal(t, "REF02", x.Manager.Results()[0].RefereeID)
		assert.Equal(t, 1, strings.Count(log.Text(), journal.NoToken("REF01")))
		require.NoError(t, x.CloseFiles())
		state := w.CheckFiles(folder)
		assert.Equal(t, []any{true, 1}, []any{state.Agents["REF01"].Tokenless, state.Agents["REF01"].Failures})
		assert.Empty(t, auditOf(w, folder).Findings)
	})
}

// Requests without a token take no match from a referee that could report, nor a match that the
// report does not name.
func TestReportWithoutTokenTakesNoMatchFromAnother(t *testing.T) {
	for _, test := range []struct {
		name   string
		holder func(w *leaguetest.World)
		report func(w *leaguetest.World) *protocol.MatchResultReport
	}{
		{"a referee that shows access tokens", func(w *leaguetest.World) { w.Referee("REF01", w.OnlyAccepting()) },
			func(w *leaguetest.World) *protocol.MatchResultReport { return w.WinReport("REF01") }},
		{"a third-party referee that has used its token", func(w *leaguetest.World) {
			thirdPartyReferee(w, "REF01", w.AcceptMatch)
			_, err := w.Query("REF01", protocol.QuerySchedule).Send()
			require.NoError(w.T, err)
		}, func(w *leaguetest.World) *protocol.MatchResultReport { return w.WinReport("REF01") }},
		{"a match that is not played", func(w *leaguetest.World) { thirdPartyReferee(w, "REF01", w.AcceptMatch) },
			func(w *leaguetest.World) *protocol.MatchResultReport {
				q := w.WinReport("REF01")
				q.MatchID = "R1M2"
				return q
			}},
		{"a match of another referee", func(w *leaguetest.World) { thirdPartyReferee(w, "REF01", w.AcceptMatch) },
			func(w *leaguetest.World) *protocol.MatchResultReport { return w.WinReport("REF02") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				log := w.CaptureLog()
				w.StartManager(2, 2)
				test.holder(w)
				w.Referee("REF02", w.OnlyAccepting())
				w.Players(2)
				w.WaitUntil(leaguetest.Second)
				for range 5 {
					_, err := w.Report(tokenless(test.report(w)))
					require.Error(t, err)
				}
				w.WaitUntil(2 * leaguetest.Second)
				assert.Empty(t, w.Calls(protocol.StartMatch.Name, "ref02"))
				assert.NotContains(t, log.Text(), protocol.EventRefereeTokenless)
				_, err := w.Report(w.WinReport("REF01"))
				require.NoError(t, err)
				w.Finish()
				assert.Equal(t, "REF01", w.Manager.Results()[0].RefereeID)
			})
		})
	}
}

// Without another referee the league pauses and says why. A resumed league tries again, also after
// the manager was killed in the pause.
func TestLeagueWithoutARefereeThatSendsTokensPauses(t *testing.T) {
	for name, killed := range map[string]bool{"running": false, "killed in the pause": true} {
		t.Run(name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 2, 1)
				thirdPartyReferee(w, "REF01", w.AcceptMatch)
				w.Players(2)
				w.WaitUntil(leaguetest.Second)
				_, err := w.Report(tokenless(w.WinReport("REF01")))
				require.Error(t, err)
				w.WaitUntil(60 * leaguetest.Second)
				assert.Equal(t, 1, w.CountCalls(protocol.StartMatch.Name), "nothing is tried in a pause")
				if killed {
					x.Kill()
					x = w.StartManagerIn(folder, 2, 1)
					w.WaitUntil(120 * leaguetest.Second)
					assert.Equal(t, 1, w.CountCalls(protocol.StartMatch.Name), "nothing is tried in a pause")
				}
				state, _ := w.FoldJournal(folder)
				require.NotNil(t, state.Paused)
				assert.Equal(t, []string{journal.ByManager, journal.NoToken("REF01")}, []string{state.Paused.By, state.Paused.Reason})
				_, reason := state.Lifecycle(state.Agents["REF01"])
				assert.Equal(t, journal.NoToken("REF01"), reason)
				w.Organise(protocol.CommandResume)
				w.WaitUntil(w.Now() + 2*leaguetest.Second)
				assert.Equal(t, 2, w.CountCalls(protocol.StartMatch.Name))
				_, err = w.Report(w.WinReport("REF01"))
				require.NoError(t, err, "now with its token")
				x.Finish()
				assert.Equal(t, "REF01", x.Manager.Results()[0].RefereeID)
				require.NoError(t, x.CloseFiles())
				w.CheckFiles(folder)
				assert.Empty(t, auditOf(w, folder).Findings)
			})
		})
	}
}
