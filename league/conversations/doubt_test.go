package conversations

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/audit"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// contradictory is a report of R1M1 whose winner is not the one that its choices
// and its number make: P01 chose even, P02 odd, and 8 was drawn.
func (w *world) contradictory(refereeID string) *protocol.MatchResultReport {
	q := w.wins(refereeID)
	other := "P02"
	q.Result.Winner = &other
	return q
}

// After three reports that contradict themselves, another referee gets the match.
func TestThreeContradictoryReportsCostTheMatch(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 2, 2)
		w.referee("REF01", w.idle())
		w.referee("REF02")
		w.players(2)
		w.at(second)
		for range 3 {
			_, err := w.report(w.contradictory("REF01"))
			assertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
			assert.Contains(t, protocol.AsError(err).Detail, "result.winner: by the rules of even_odd it is P01")
		}
		x.finish()
		assert.Equal(t, second, w.said(protocol.StartMatch.Name, "ref02")[0].at, "at once")
		assert.Equal(t, "REF02", x.manager.Results()[0].RefereeID)
		require.NoError(t, x.close())
		state := w.checkKept(folder)
		require.Len(t, state.Rounds[0].Matches[0].Doubts, 1)
		assert.Equal(t, "REF01", state.Rounds[0].Matches[0].Doubts[0].RefereeID)
		audited := w.auditOf(folder)
		assert.Empty(t, audited.Findings, "the result is that of the other referee")
		assert.Contains(t, rulesOf(audited.Notes), audit.RuleDoubt)
	})
}

func rulesOf(findings []audit.Finding) (names []string) {
	for _, f := range findings {
		names = append(names, f.Rule)
	}
	return names
}

// A referee that falls silent after a contradictory report loses the match ten
// seconds later.
func TestContradictoryReportFollowedBySilence(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 2)
		w.referee("REF01", w.idle())
		w.referee("REF02")
		w.players(2)
		w.at(second)
		_, err := w.report(w.contradictory("REF01"))
		require.Error(t, err)
		w.finish()
		assert.Equal(t, 11*second, w.said(protocol.StartMatch.Name, "ref02")[0].at)
		assert.Equal(t, "REF02", w.manager.Results()[0].RefereeID)
	})
}

// A referee that lost its attempt by rejected reports cannot decide it any more.
func TestReportOfALostAttemptIsRejected(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 2, 2)
		w.referee("REF01", w.idle())
		w.referee("REF02", w.idle())
		w.players(2)
		w.at(second)
		for range 3 {
			_, err := w.report(w.contradictory("REF01"))
			require.Error(t, err)
		}
		_, err := w.report(w.wins("REF01"))
		assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
		assert.Contains(t, protocol.AsError(err).Detail, "REF01 has lost attempt 1 at match R1M1")
		w.at(2 * second)
		_, err = w.report(w.wins("REF02"))
		require.NoError(t, err)
		x.finish()
		assert.Equal(t, "REF02", x.manager.Results()[0].RefereeID)
		require.NoError(t, x.close())
		w.checkKept(folder)
		assert.Empty(t, w.auditOf(folder).Findings)
	})
}

// The reports of a former referee do not change how many reports of the present one
// were rejected.
func TestContradictoryReportsAreCountedForEachAttempt(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 3, func(o *league.Options) { o.LongestMatch = 20 * second })
		w.referee("REF01", w.idle())
		w.referee("REF02", w.idle())
		w.referee("REF03")
		w.players(2)
		w.at(21 * second)
		require.Len(t, w.said(protocol.StartMatch.Name, "ref02"), 1, "REF01 has not reported in time")
		for _, id := range []string{"REF02", "REF02", "REF01", "REF02"} {
			_, err := w.report(w.contradictory(id))
			assertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
		}
		w.finish()
		assert.Equal(t, 21*second, w.said(protocol.StartMatch.Name, "ref03")[0].at, "at once")
	})
}

// A number outside 1 to 10 contradicts a report. Third-party referees report 0 for
// nothing drawn: with a technical loss, and without the choices.
func TestNumbersThatAreNeverDrawn(t *testing.T) {
	even, odd := "even", "odd"
	both := protocol.Both("P01", &even, "P02", &odd)
	one := protocol.Both("P01", &even, "P02", nil)
	for _, test := range []struct {
		name     string
		number   int
		choices  protocol.PerPlayer[*string]
		status   string
		rejected bool
	}{
		{"0 with both choices", 0, both, protocol.StatusWin, true},
		{"0 with both choices and no status", 0, both, "", true},
		{"0 with one choice", 0, one, protocol.StatusWin, false},
		{"0 without choices", 0, nil, "", false},
		{"0 with a technical loss", 0, both, protocol.StatusTechnicalLoss, false},
		{"-1 with both choices", -1, both, protocol.StatusWin, true},
		{"-1 without choices", -1, nil, protocol.StatusWin, true},
		{"-1 with a technical loss", -1, nil, protocol.StatusTechnicalLoss, true},
		{"11 with one choice", 11, one, protocol.StatusWin, true},
		{"7 with a technical loss", 7, one, protocol.StatusTechnicalLoss, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(2, 2)
				w.referee("REF01", w.idle())
				w.referee("REF02")
				w.players(2)
				w.at(second)
				q := w.wins("REF01")
				q.Result.Details = &protocol.ResultDetails{DrawnNumber: &test.number, Choices: test.choices, Status: test.status}
				for range 3 {
					_, err := w.report(q)
					if !test.rejected {
						require.NoError(t, err)
						break
					}
					assertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
					assert.Contains(t, protocol.AsError(err).Detail, "drawn_number: the number is drawn from 1 to 1", "carriers cut what follows")
				}
				w.finish()
				r := w.manager.Results()[0]
				if test.rejected {
					assert.Equal(t, second, w.said(protocol.StartMatch.Name, "ref02")[0].at, "at once")
					assert.Equal(t, "REF02", r.RefereeID)
				} else {
					assert.Equal(t, []any{"REF01", "P01", 0}, []any{r.RefereeID, r.Winner, r.Number})
				}
			})
		})
	}
}

// A better report that follows in time counts.
func TestCorrectedReportCounts(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 2)
		w.referee("REF01", w.idle())
		w.referee("REF02", w.idle())
		w.players(2)
		w.at(second)
		_, err := w.report(w.contradictory("REF01"))
		require.Error(t, err)
		w.at(9 * second)
		_, err = w.report(w.wins("REF01"))
		require.NoError(t, err)
		w.finish()
		assert.Equal(t, "P01", w.manager.Results()[0].Winner)
		assert.Empty(t, w.said(protocol.StartMatch.Name, "ref02"))
	})
}

// Where no other referee is left, the match ends by what the report says, and
// the audit finds it.
func TestContradictoryReportOfTheOnlyReferee(t *testing.T) {
	maybe, eleven, stranger := "maybe", 11, "P77"
	for _, test := range []struct {
		name   string
		change func(q *protocol.MatchResultReport)
		code   protocol.Code
		want   string // status, winner, and choice of P01 that are recorded
	}{
		{"another winner", func(q *protocol.MatchResultReport) {}, protocol.ErrInvalidFieldType, "WIN P01 even"},
		{"a number that is never drawn", func(q *protocol.MatchResultReport) { q.Result.Details.DrawnNumber = &eleven }, protocol.ErrInvalidFieldType, "WIN P02 even"},
		{"a choice that the rules do not allow", func(q *protocol.MatchResultReport) {
			q.Result.Details.Choices = protocol.Both("P01", &maybe, "P02", &maybe)
		}, protocol.ErrInvalidParityChoice, "WIN P02 "},
		{"a winner that does not play", func(q *protocol.MatchResultReport) { q.Result.Winner = &stranger }, protocol.ErrInvalidFieldType, "WIN P01 even"},
		{"a winner of a draw", func(q *protocol.MatchResultReport) {
			q.Result.Details.Status, q.Result.Details.DrawnNumber = protocol.StatusDraw, nil
		}, protocol.ErrInvalidFieldType, "WIN P02 even"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				x := w.tenure(folder, 2, 1)
				w.referee("REF01", w.idle())
				w.players(2)
				w.at(second)
				for range 3 {
					q := w.contradictory("REF01")
					test.change(q)
					_, err := w.report(q)
					require.Error(t, err)
					assert.Equal(t, test.code, protocol.AsError(err).Code)
				}
				x.finish()
				r := x.manager.Results()[0]
				assert.Equal(t, test.want, r.Status+" "+r.Winner+" "+r.ChoiceA)
				require.NoError(t, x.close())
				w.checkKept(folder)
				assert.Contains(t, rulesOf(w.auditOf(folder).Findings), audit.RuleDoubt)
			})
		})
	}
}

// doubleLoss is the report that both players of R1M1 failed.
func (w *world) doubleLoss(refereeID string) *protocol.MatchResultReport {
	q := w.verdict(refereeID, "R1M1", nil, "P01", "P02", 0, 0)
	q.Result.Details = &protocol.ResultDetails{Status: protocol.StatusTechnicalLoss}
	return q
}

// A third-party referee that blames both players, although both answer, has
// perhaps never asked them: another referee gets the match.
func TestDoubleTechnicalLossOfPlayersThatAnswer(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 2, 2)
		w.outsider("REF01", w.accepting)
		w.referee("REF02")
		w.players(2, slow(second, second, 0))
		w.at(second)
		pings := w.often(protocol.Ping.Name, "p01")
		for range 2 {
			_, err := w.report(w.doubleLoss("REF01"))
			assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
		}
		assert.Equal(t, pings+1, w.often(protocol.Ping.Name, "p01"), "once for the match")
		x.finish()
		assert.Equal(t, "REF02", x.manager.Results()[0].RefereeID)
		assert.NotEqual(t, protocol.StatusTechnicalLoss, x.manager.Results()[0].Status)
		require.NoError(t, x.close())
		state := w.checkKept(folder)
		assert.Equal(t, "it says that P01 and P02 both failed, but both answer", state.Rounds[0].Matches[0].Doubts[0].Reason)
		assert.Empty(t, w.auditOf(folder).Findings)
	})
}

// However a third-party referee writes that both players failed, the players are
// pinged before.
func TestDoubleTechnicalLossInAnyForm(t *testing.T) {
	draw, zero := "DRAW", 0
	for name, change := range map[string]func(q *protocol.MatchResultReport){
		"without a status": func(q *protocol.MatchResultReport) {
			q.Result.Details = &protocol.ResultDetails{Choices: protocol.PerPlayer[*string]{}}
		},
		"as a draw":        func(q *protocol.MatchResultReport) { q.Result.Winner = &draw },
		"with a number 0":  func(q *protocol.MatchResultReport) { q.Result.Details.DrawnNumber = &zero },
		"after a bad copy": func(q *protocol.MatchResultReport) { q.RoundID = 7 },
	} {
		t.Run(name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(2, 2)
				w.outsider("REF01", w.accepting)
				w.referee("REF02")
				w.players(2)
				w.at(second)
				q := w.doubleLoss("REF01")
				change(q)
				_, err := w.report(q)
				require.Error(t, err)
				_, err = w.report(w.doubleLoss("REF01"))
				require.Error(t, err)
				w.finish()
				assert.Equal(t, "REF02", w.manager.Results()[0].RefereeID)
			})
		})
	}
}

// Reports that arrive while the players are pinged wait until the report that caused
// the pings is judged. A referee that hangs up does not end the pings.
func TestReportsDuringThePingsWait(t *testing.T) {
	for _, test := range []struct {
		name     string
		patience time.Duration // of the first report
		then     func(w *world, refereeID string) *protocol.MatchResultReport
	}{
		{"a second copy", 5 * second, (*world).doubleLoss},
		{"a second copy after the first hung up", second / 4, (*world).doubleLoss},
		{"a consistent report", 5 * second, (*world).wins},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				x := w.tenure(folder, 2, 2)
				w.outsider("REF01", w.accepting)
				w.referee("REF02")
				w.players(2, does(protocol.Ping.Name, after(second, honestly)))
				w.at(10 * second)
				pings := w.often(protocol.Ping.Name, "p01")
				first := w.meanwhile(func() {
					limited, stop := context.WithTimeout(w.life, test.patience)
					defer stop()
					_, err := protocol.ReportMatchResult.Call(limited, w.stranger, w.manage(), w.doubleLoss("REF01"))
					assert.Error(t, err)
				})
				w.at(10*second + second/2)
				_, err := w.report(test.then(w, "REF01"))
				assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
				assert.Equal(t, 11*second, w.now(), "when both players have answered")
				<-first
				assert.Equal(t, pings+1, w.often(protocol.Ping.Name, "p01"), "once for the match")
				x.finish()
				assert.Equal(t, "REF02", x.manager.Results()[0].RefereeID)
				require.NoError(t, x.close())
				assert.Len(t, w.checkKept(folder).Rounds[0].Matches[0].Doubts, 1)
				assert.Empty(t, w.auditOf(folder).Findings)
			})
		})
	}
}

// The match file of a result that rests on a rejected report is written with it.
func TestMatchFileOfARejectedReport(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 4, 1)
		w.outsider("REF01", w.accepting)
		w.players(4)
		w.at(second)
		players := w.pairOf("R1M1")
		q := w.verdict("REF01", "R1M1", nil, players[0], players[1], 0, 0)
		q.Result.Details = &protocol.ResultDetails{Status: protocol.StatusTechnicalLoss}
		_, err := w.report(q)
		require.Error(t, err)
		w.at(2 * second)
		assert.Equal(t, 1, x.manager.Status().Recorded, "R1M2 is not over")
		file, err := store.Read[store.Match](folder.Match(leagueID, "R1M1"))
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusTechnicalLoss, file.Result.Status)
		x.kill()
	})
}

// cutAfter leaves of a league what its manager has on disk when it dies after the
// first event of a kind.
func cutAfter(t *testing.T, w *world, folder store.Folder, kind string) {
	t.Helper()
	var kept []byte
	for line := range bytes.Lines(journalOf(w, folder)) {
		kept = append(kept, line...)
		if bytes.Contains(line, []byte(`"type":"`+kind+`"`)) {
			break
		}
	}
	require.NoError(t, os.WriteFile(folder.Journal(leagueID), kept, 0o644))
	require.NoError(t, os.Remove(folder.Standings(leagueID)))
	require.NoError(t, os.RemoveAll(folder.Matches(leagueID)))
}

// A manager that dies after the doubt still knows that the result rests on a
// rejected report, whatever the only referee reports then.
func TestDoubtOutlastsTheManager(t *testing.T) {
	for _, test := range []struct {
		name   string
		report func(w *world, refereeID string) *protocol.MatchResultReport
		times  int
		want   string // status and winner
	}{
		{"a double loss", (*world).doubleLoss, 1, "TECHNICAL_LOSS "},
		{"a contradictory report", (*world).contradictory, 3, "WIN P01"},
	} {
		for _, last := range []string{"match_doubted", "agent_failed"} {
			t.Run(test.name+" until "+last, func(t *testing.T) {
				onEveryCarrier(t, func(t *testing.T, w *world) {
					folder := folderOf(t)
					x := w.tenure(folder, 2, 1)
					w.outsider("REF01", w.accepting)
					w.players(2)
					w.at(second)
					for range test.times {
						_, err := w.report(test.report(w, "REF01"))
						require.Error(t, err)
					}
					w.at(2 * second)
					x.kill()
					cutAfter(t, w, folder, last)
					x = w.tenure(folder, 2, 1)
					for range test.times {
						w.at(w.now() + 5*second)
						_, _ = w.report(test.report(w, "REF01")) // accepted or not
					}
					x.finish()
					r := x.manager.Results()[0]
					assert.Equal(t, test.want, r.Status+" "+r.Winner)
					require.NoError(t, x.close())
					assert.Contains(t, rulesOf(w.auditOf(folder).Findings), audit.RuleDoubt)
				})
			})
		}
	}
}

// A manager that has just restarted pings the players too before it records a double
// technical loss.
func TestDoubleTechnicalLossBeforeTheRoundIsTakenUpAgain(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 2, 1)
		w.outsider("REF01", w.accepting)
		w.players(2)
		w.at(second)
		x.kill()
		x = w.tenure(folder, 2, 1, func(o *league.Options) { o.Pace = 30 * second })
		w.at(10 * second)
		_, err := w.report(w.doubleLoss("REF01"))
		assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
		w.at(40 * second)
		_, err = w.report(w.doubleLoss("REF01"))
		assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
		x.finish()
		require.NoError(t, x.close())
		w.checkKept(folder)
		assert.Contains(t, rulesOf(w.auditOf(folder).Findings), audit.RuleDoubt)
	})
}

func TestDoubleTechnicalLossOfTheOnlyReferee(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 2, 1)
		w.outsider("REF01", w.accepting)
		w.players(2)
		w.at(second)
		_, err := w.report(w.doubleLoss("REF01"))
		assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
		x.finish()
		assert.Equal(t, protocol.StatusTechnicalLoss, x.manager.Results()[0].Status)
		_, err = w.report(w.doubleLoss("REF01"))
		require.NoError(t, err, "it is the recorded result now")
		require.NoError(t, x.close())
		w.checkKept(folder)
		assert.Contains(t, rulesOf(w.auditOf(folder).Findings), audit.RuleDoubt)
	})
}

// A double loss is believed when a player is gone, and from referees that prove
// themselves to the players.
func TestDoubleTechnicalLossThatIsBelieved(t *testing.T) {
	for _, test := range []struct {
		name string
		gone bool
		ours bool
	}{{"a player is gone", true, false}, {"our referee", false, true}} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(2, 1)
				if test.ours {
					w.referee("REF01", w.idle())
				} else {
					w.outsider("REF01", w.accepting)
				}
				players := w.players(2)
				w.at(second)
				if test.gone {
					players[1].stop()
				}
				_, err := w.report(w.doubleLoss("REF01"))
				require.NoError(t, err)
				assert.Equal(t, protocol.StatusTechnicalLoss, w.manager.Results()[0].Status)
				assert.Less(t, w.now(), 4*time.Second)
			})
		})
	}
}
