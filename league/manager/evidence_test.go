package manager_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/rules/tictactoe"
)

// statedReport is the report that P01 wins R1M1, with a status and without moves.
func statedReport(w *leaguetest.World, status string) *protocol.MatchResultReport {
	q := w.WinReport("REF01")
	q.Result.Result = league.Result{WinnerPlayerID: q.Result.WinnerPlayerID, Status: status}
	return q
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
		mustReport(w, statedReport(w, league.StatusTechnicalLoss))
		state := finish(x)
		r := leaguetest.Results(x.Manager)[0]
		assert.Equal(t, []string{league.StatusTechnicalLoss, "P01", ""}, []string{r.Status, r.Winner(), r.Grade})
		assert.Equal(t, []string{"P02"}, state.Rounds[0].Matches[0].Disputed, "the winner is not asked")
		assert.Equal(t, []string{"P02"}, state.Agents["REF01"].DeniedBy)
		assert.Zero(t, state.Agents["REF01"].Failures)
		assert.Equal(t, 1, strings.Count(log.Text(), "RESULT_DENIED"))
		assert.Contains(t, notedRules(w, folder), audit.RuleDispute)
	})
}

// A player refuses the invitation and denies that it was asked. The transcript has its answer, so that the denial
// does not count; without one it is a dispute.
func TestDenialThatTheTranscriptContradictsDoesNotCount(t *testing.T) {
	for name, kept := range map[string]bool{"a transcript": true, "no transcript": false} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			log := w.CaptureLog()
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, signed)
			if kept {
				w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
			} else {
				w.Referee("REF01")
			}
			w.Player("P01")
			w.Player("P02", leaguetest.On(protocol.Invite.Name, leaguetest.EditAnswer("accept", false)),
				leaguetest.On(protocol.Ping.Name, leaguetest.EditAnswer("asked", false)))
			state := finish(x)
			match := state.Rounds[0].Matches[0]
			assert.Equal(t, []string{league.StatusTechnicalLoss, "P01"}, []string{match.Report.Status, *match.Report.WinnerPlayerID})
			denied := []string{"P02"}
			if kept {
				assert.Equal(t, [][]string{denied, nil, nil}, [][]string{match.Refuted, match.Disputed, state.Agents["REF01"].DeniedBy})
			} else {
				assert.Equal(t, [][]string{nil, denied, denied}, [][]string{match.Refuted, match.Disputed, state.Agents["REF01"].DeniedBy})
			}
			assert.Equal(t, map[bool]int{true: 1}[kept], strings.Count(log.Text(), "DENIAL_CONTRADICTED"))
			assert.Contains(t, notedRules(w, x.Folder), audit.RuleDispute)
		})
	}
}

// A referee that relays signatures does not deliver its transcript. The manager asks once for both players that deny
// the result, and no longer than a ping takes.
func TestSilentTranscriptHoldsTheRoundForTwoSeconds(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, signed)
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t), leaguetest.On(protocol.GetMatchTranscript.Name, leaguetest.Silent))
		for _, id := range []string{"P01", "P02"} {
			w.Player(id, leaguetest.WithoutKey, leaguetest.On(protocol.Ping.Name, leaguetest.EditAnswer("asked", false)))
		}
		x.Finish()
		at := map[string]time.Time{} // of the last event of each kind
		events, _, _, err := x.Manager.Events(1)
		require.NoError(t, err)
		for _, e := range events {
			at[journal.Kind(e.Data)], err = time.Parse(time.RFC3339Nano, e.At)
			require.NoError(t, err)
		}
		assert.Equal(t, 2*leaguetest.Second, at["result_denied"].Sub(at["match_reported"]).Truncate(100*time.Millisecond))
		assert.Equal(t, []string{"P01", "P02"}, x.CloseAudited().Rounds[0].Matches[0].Disputed)
	})
}

// A third-party referee invents choices and a number. Both players are asked, although the report shows everything.
func TestBothPlayersAreAskedAboutAnInventedResult(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, signed)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		mustReport(w, w.WinReport("REF01"))
		state := finish(x)
		assert.Equal(t, journal.GradeRecomputed, leaguetest.Results(x.Manager)[0].Grade)
		assert.Equal(t, []string{"P01", "P02"}, state.Rounds[0].Matches[0].Disputed)
		assert.Equal(t, []string{"1 result of referee REF01 Referee REF01 is disputed by players that know nothing of " +
			"the match: P01 Agent P01, P02 Agent P02."},
			x.Manager.Evidence())
	})
}

// A third-party referee invents a transcript with answers of both players as well. It proves no more than its report.
func TestInventedTranscriptContradictsNoDenial(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, signed)
		doc := &store.Match{LeagueID: leaguetest.LeagueID, MatchID: "R1M1", Attempt: 1, RefereeID: "REF01",
			WrittenBy: store.WrittenByReferee, Result: &protocol.MatchResult{}, Digested: 2}
		for _, id := range []string{"P01", "P02"} {
			doc.Transcript = append(doc.Transcript, store.Exchange{Direction: store.Received, PlayerID: id,
				Method: protocol.Invite.Name, Try: 1, Message: jsontext.Value(`{"accept":true}`)})
		}
		a := leaguetest.NewAgent("REF01", nil)
		a.Script = leaguetest.Script{
			protocol.Ping.Name:       leaguetest.AnswerWith(map[string]string{"message_type": "PONG", "status": "ok"}),
			protocol.StartMatch.Name: w.AcceptMatch,
			protocol.GetMatchTranscript.Name: leaguetest.AnswerWith(map[string]any{
				"message_type": "MATCH_TRANSCRIPT", "match_id": "R1M1", "attempt": 1, "match": doc}),
		}
		w.Open(a, w.ScriptMux(a.Script))
		mustApplyReferee(w, w.RefereeApplication("REF01"))
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		report := w.WinReport("REF01")
		report.TranscriptDigest = doc.Digest()
		mustReport(w, report)
		match := finish(x).Rounds[0].Matches[0]
		assert.Equal(t, [][]string{{"P01", "P02"}, nil}, [][]string{match.Disputed, match.Refuted})
	})
}

// A proven result needs no word of the players; a player without a key is asked once.
func TestOnlyPlayersWithoutASignatureAreAsked(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 3, 1, signed)
		w.Referee("REF01")
		w.Player("P01")
		w.Player("P02")
		w.Player("P03", leaguetest.WithoutKey)
		state := finish(x)
		grades := map[string]int{}
		for _, r := range leaguetest.Results(x.Manager) {
			grades[r.Grade]++
		}
		assert.Equal(t, map[string]int{journal.GradeProven: 1, journal.GradeRecomputed: 2}, grades)
		asked := map[string]int{}
		for _, call := range w.Calls(protocol.Ping.Name) {
			if leaguetest.Decode[protocol.ToolRequest](call.Message).MatchID != "" {
				asked[call.To]++
			}
		}
		assert.Equal(t, map[string]int{"p03": 2}, asked)
		for _, m := range state.Matches() {
			assert.Empty(t, m.Disputed)
		}
	})
}

// invitingThen has REF01 invite P01 and P02 before it answers the assignment.
func invitingThen(w *leaguetest.World, answer leaguetest.Reply) leaguetest.Reply {
	return func(c *leaguetest.Call) (jsontext.Value, error) {
		q := leaguetest.Decode[protocol.MatchAssignment](c.Message)
		for i, side := range []protocol.AssignedPlayer{q.PlayerA, q.PlayerB} {
			invitation := &protocol.GameInvitation{
				Envelope: protocol.NewStamp("referee:REF01", w.Clock).Envelope(protocol.TypeGameInvitation, q.ConversationID),
				LeagueID: q.LeagueID, RoundID: q.RoundID, MatchID: q.MatchID, GameType: q.GameType, Attempt: q.Attempt,
				RoleInMatch: []string{protocol.RolePlayerA, protocol.RolePlayerB}[i], OpponentID: []string{"P02", "P01"}[i],
			}
			invitation.AuthToken = side.AccessToken
			_, err := protocol.Invite.Call(c.Context, w.Untrusted, protocol.Peer{Endpoint: side.Endpoint}, invitation)
			assert.NoError(w.T, err)
		}
		return answer(c)
	}
}

// The only referee answers with an error after it has invited the players: that may be a defect. It gets the offer
// once more, also from another manager, and loses the match with the second error.
func TestOnlyRefereeGetsTheMatchAgainAfterAnError(t *testing.T) {
	broken := leaguetest.RefuseWith(protocol.ErrInvalidMatchState)
	for _, tt := range []struct {
		name     string
		restarts bool
		then     leaguetest.Reply
		offers   int
		lost     int
	}{
		{"a second error", false, broken, 2, 1},
		{"a second error, of another manager", true, broken, 2, 1},
		{"it conducts the match then", false, leaguetest.Normally, 2, 0},
		{"it declines then", false, leaguetest.AnswerWithStatus(protocol.StatusBusy), 2, 1},
	} {
		leaguetest.RunInMemory(t, tt.name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
			w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.FirstN(1, invitingThen(w, broken), tt.then)))
			w.Players(2)
			if tt.restarts {
				w.WaitUntil(leaguetest.Second)
				require.Len(t, w.Calls(protocol.StartMatch.Name), 1)
				x.Kill()
				x = w.StartManagerIn(x.Folder, 2, 1)
			}
			match := finish(x).Rounds[0].Matches[0]
			assert.Len(t, w.Calls(protocol.StartMatch.Name), tt.offers)
			assert.Len(t, match.LostAttempts, tt.lost)
			assert.Equal(t, tt.lost == 1, match.Report.Reason == journal.NotShown, match.Report.Reason)
			assert.True(t, match.Attempts[0].Erred)
		})
	}
}

// A referee invites the players before it answers the assignment, and declines the match when it knows the result.
// Another referee gets the match; the only one loses it.
func TestRefereeThatInvitedPlayersCannotDeclineTheMatch(t *testing.T) {
	for _, tt := range []struct {
		name    string
		others  int
		decline leaguetest.Reply
		want    []string // status and referee of the result
	}{
		{"busy", 1, leaguetest.AnswerWithStatus(protocol.StatusBusy), []string{"REF02"}},
		{"rejected", 1, leaguetest.AnswerWithStatus(protocol.StatusRejected), []string{"REF02"}},
		{"an error", 1, leaguetest.RefuseWith(protocol.ErrInvalidMatchState), []string{"REF02"}},
		{"the only referee", 0, leaguetest.AnswerWithStatus(protocol.StatusBusy), []string{"REF01"}},
	} {
		leaguetest.RunInMemory(t, tt.name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1+tt.others)
			w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, invitingThen(w, tt.decline)))
			if tt.others > 0 {
				w.Referee("REF02")
			}
			w.Players(2)
			state := finish(x)
			match := state.Rounds[0].Matches[0]
			require.Len(t, match.LostAttempts, 1)
			assert.Equal(t, []any{"REF01", journal.CauseDiscarded}, []any{match.LostAttempts[0].RefereeID, match.LostAttempts[0].Cause})
			assert.Equal(t, tt.want, []string{match.Report.RefereeID})
			assert.Contains(t, notedRules(w, x.Folder), audit.RuleDoubt)
			assert.Zero(t, state.Agents["REF01"].Failures)
			_, err := w.Report(w.WinReport("REF01"))
			leaguetest.AssertRefused(t, err, protocol.ErrMatchNotFound, 5002)
			assert.Empty(t, match.Disputed, "a report of that attempt is no dispute")
			if tt.others == 0 {
				assert.Equal(t, "its referee did not show its result", match.Report.Reason)
			}
		})
	}
}

// A manager that is killed before the player answers asks it again, and records each denial once.
func TestPlayerIsAskedAfterARestartOfTheManager(t *testing.T) {
	for name, answered := range map[string]bool{"before the answer": false, "after the answer": true} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			log, folder := w.CaptureLog(), leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 4, 1)
			w.Referee("REF01", w.OnlyAccepting())
			w.Players(4, leaguetest.On(protocol.Ping.Name, leaguetest.Delayed(leaguetest.Second, leaguetest.EditAnswer("asked", false))))
			w.WaitUntil(3 * leaguetest.Second)
			mustReport(w, statedReport(w, league.StatusTechnicalLoss))
			if answered {
				w.WaitUntil(5 * leaguetest.Second)
			}
			x.Kill()
			x = w.StartManagerIn(folder, 4, 1)
			w.WaitUntil(10 * leaguetest.Second)
			state, _ := w.FoldJournal(folder)
			assert.Equal(t, []string{"P02"}, state.Rounds[0].Matches[0].Disputed)
			assert.Equal(t, 1, strings.Count(log.Text(), "RESULT_DENIED"))
			x.Kill()
		})
	}
}

// The manager asks both players of a match that rests on the word of its referee alone.
func TestBothPlayersAreAskedAboutAStatedResult(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Player("P01")
		w.Player("P02", leaguetest.On(protocol.Ping.Name, leaguetest.AnswerWith(map[string]string{"status": "ok"})))
		w.WaitUntil(leaguetest.Second)
		q := w.WinReport("REF01")
		q.Result.Result = league.Result{WinnerPlayerID: q.Result.WinnerPlayerID}
		mustReport(w, q)
		disputed := finish(x).Rounds[0].Matches[0].Disputed
		assert.Equal(t, []string{"P01"}, disputed, "an answer without the member proves nothing")
		for _, id := range []string{"p01", "p02"} {
			calls := w.Calls(protocol.Ping.Name, id)
			about := leaguetest.Decode[protocol.ToolRequest](calls[len(calls)-1].Message)
			assert.Equal(t, []any{"R1M1", 1}, []any{about.MatchID, about.Attempt})
		}
	})
}

// Two players answer pings but no question. The second referee says the same as the first: the loss
// is recorded, and no referee failed.
func TestTwoBrokenPlayersThatAnswerPingsGiveNoFinding(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 3)
		w.Referee("REF01")
		w.Referee("REF02")
		w.Referee("REF03")
		w.Players(2, leaguetest.On(protocol.ChooseParity.Name, leaguetest.Silent))
		state := finish(x)
		r := leaguetest.Results(x.Manager)[0]
		assert.Equal(t, []string{league.StatusTechnicalLoss, "", "REF02"}, []string{r.Status, r.Winner(), r.RefereeID})
		lost := state.Rounds[0].Matches[0].LostAttempts
		require.Len(t, lost, 1)
		assert.Equal(t, []any{"REF01", journal.CauseBothAnswer}, []any{lost[0].RefereeID, lost[0].Cause})
		assert.Zero(t, state.Agents["REF01"].Failures+state.Agents["REF02"].Failures)
		assert.Contains(t, notedRules(w, x.Folder), audit.RuleDoubt)
	})
}

// The only referee that answers reports a double loss of two players that answer pings. The manager refuses the
// report, asks the other referee, and records the loss after all: the match file says so.
func TestFileOfADoubleLossThatCountsIsNoDispute(t *testing.T) {
	for name, apart := range map[string]bool{"shared folder": false, "a folder of its own": true} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 2)
			folder := x.Folder
			if apart {
				folder = leaguetest.TempFolder(t)
			}
			w.RefereeWithFiles("REF01", folder)
			w.Referee("REF02", leaguetest.On(protocol.StartMatch.Name, leaguetest.Silent))
			w.Players(2, leaguetest.On(protocol.ChooseParity.Name, leaguetest.Silent))
			state := finish(x)
			assert.Equal(t, "REF01", leaguetest.Results(x.Manager)[0].RefereeID)
			require.Len(t, state.Rounds[0].Matches[0].LostAttempts, 1)
			doc := leaguetest.ReadMatchFile(t, x.Folder, leaguetest.LeagueID+"/R1M1.json")
			assert.Equal(t, []any{protocol.StateAcknowledged, (*store.ExchangeError)(nil)}, []any{doc.Lifecycle.State, doc.Refusal})
			assert.NotEmpty(t, doc.Transcript)
		})
	}
}

// A league with evidence: recomputed refuses a report without moves, also after it was resumed. It
// never refuses a technical loss.
func TestRequiredEvidenceIsKeptFromTheStart(t *testing.T) {
	required := func(o *manager.Options) { o.Evidence = journal.GradeRecomputed }
	for name, status := range map[string]string{"a win": league.StatusWin, "a technical loss": league.StatusTechnicalLoss} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			x := thirdPartyLeague(w, required)
			x.Kill()
			x = w.StartManagerIn(x.Folder, 2, 1) // the journal, not the option, decides
			w.WaitUntil(5 * leaguetest.Second)
			q := statedReport(w, status)
			_, err := w.Report(q)
			if status == league.StatusTechnicalLoss {
				require.NoError(t, err)
			} else {
				leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
				assert.Contains(t, protocol.AsError(err).Detail, "a report shows all moves of both players")
				for range 2 {
					_, err = w.Report(q)
					require.Error(t, err)
				}
			}
			finish(x)
			r := leaguetest.Results(x.Manager)[0]
			if status == league.StatusTechnicalLoss {
				assert.Equal(t, []string{status, "P01", ""}, []string{r.Status, r.Winner(), r.Grade})
			} else {
				assert.Equal(t, []string{league.StatusDraw, "", journal.GradeStated}, []string{r.Status, r.Winner(), r.Grade})
			}
		})
	}
}

// A third-party referee reports without its token to a league that demands it. Another referee gets
// the match at once, and log and state of the agents say what to do.
func TestMatchOfARefereeWithoutTokenGoesToAnother(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		log, folder := w.CaptureLog(), leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 2, atItsAddress)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Referee("REF02")
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		assertReportRefused(w, tokenless(w.WinReport("REF01")), protocol.ErrTokenMissing, 5001)
		state := finish(x)
		assert.Equal(t, leaguetest.Second, w.Calls(protocol.StartMatch.Name, "ref02")[0].At, "at once")
		assert.Equal(t, "REF02", leaguetest.Results(x.Manager)[0].RefereeID)
		assert.Equal(t, 1, strings.Count(log.Text(), journal.NoToken("REF01")))
		assert.Equal(t, []any{true, 1}, []any{state.Agents["REF01"].Tokenless, state.Agents["REF01"].Failures})
	})
}

// A report without a token that comes from another address than its referee's takes no match away while the referee
// has time: anyone may have sent it. The referee reports with its token, or loses the match at the end of the time.
func TestReportWithoutTokenFromElsewhereTakesNoMatch(t *testing.T) {
	for name, test := range map[string]struct {
		calledFrom func(context.Context, string) bool
		reports    bool // the referee itself, with its token
	}{
		"from another address, and the referee reports": {func(context.Context, string) bool { return false }, true},
		"without addresses, and the referee reports":    {nil, true},
		"the time of the match ends":                    {func(context.Context, string) bool { return false }, false},
	} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			log := w.CaptureLog()
			x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 2, func(o *manager.Options) {
				o.CalledFrom, o.LongestMatch = test.calledFrom, 120
			})
			thirdPartyReferee(w, "REF01", w.AcceptMatch)
			w.Referee("REF02")
			w.Players(2)
			w.WaitUntil(leaguetest.Second)
			for _, sender := range []string{"referee:REF01", "referee"} {
				q := tokenless(w.WinReport("REF01"))
				q.Sender = sender
				assertReportRefused(w, q, protocol.ErrTokenMissing, 5001)
			}
			w.WaitUntil(100 * leaguetest.Second)
			assert.Empty(t, w.Calls(protocol.StartMatch.Name, "ref02"))
			assert.NotContains(t, log.Text(), "REFEREE_WITHOUT_TOKEN")
			if test.reports {
				mustReport(w, w.WinReport("REF01"))
			}
			state := finish(x)
			assert.Equal(t, map[bool]string{true: "REF01", false: "REF02"}[test.reports], leaguetest.Results(x.Manager)[0].RefereeID)
			lost := matchOf(state, "R1M1").LostAttempts
			if test.reports {
				assert.Empty(t, lost)
				assert.Zero(t, state.Agents["REF01"].Failures)
				return
			}
			require.Len(t, lost, 1)
			assert.Equal(t, []any{journal.CauseNoToken, true, 1},
				[]any{lost[0].Cause, state.Agents["REF01"].Tokenless, state.Agents["REF01"].Failures})
			assert.Equal(t, 120*leaguetest.Second, w.Calls(protocol.StartMatch.Name, "ref02")[0].At)
		})
	}
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
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			log := w.CaptureLog()
			w.StartManager(2, 2, atItsAddress)
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
			assert.NotContains(t, log.Text(), "REFEREE_WITHOUT_TOKEN")
			mustReport(w, w.WinReport("REF01"))
			w.Finish()
			assert.Equal(t, "REF01", leaguetest.Results(w.Manager)[0].RefereeID)
		})
	}
}

// Without another referee the league pauses and says why. A resumed league tries again, also after
// the manager was killed in the pause.
func TestLeagueWithoutARefereeThatSendsTokensPauses(t *testing.T) {
	for name, killed := range map[string]bool{"running": false, "killed in the pause": true} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			x := thirdPartyLeague(w, atItsAddress)
			_, err := w.Report(tokenless(w.WinReport("REF01")))
			require.Error(t, err)
			w.WaitUntil(60 * leaguetest.Second)
			assert.Equal(t, 1, w.CountCalls(protocol.StartMatch.Name), "nothing is tried in a pause")
			if killed {
				x.Kill()
				x = w.StartManagerIn(x.Folder, 2, 1, atItsAddress)
				w.WaitUntil(120 * leaguetest.Second)
				assert.Equal(t, 1, w.CountCalls(protocol.StartMatch.Name), "nothing is tried in a pause")
			}
			state, _ := w.FoldJournal(x.Folder)
			require.NotNil(t, state.Paused)
			assert.Equal(t, []string{journal.ByManager, journal.NoToken("REF01")}, []string{state.Paused.By, state.Paused.Reason})
			_, reason := state.Lifecycle(state.Agents["REF01"])
			assert.Equal(t, journal.NoToken("REF01"), reason)
			w.Organise(protocol.CommandResume)
			w.WaitUntil(w.Now() + 2*leaguetest.Second)
			assert.Equal(t, 2, w.CountCalls(protocol.StartMatch.Name))
			mustReport(w, w.WinReport("REF01")) // now with its token
			finish(x)
			assert.Equal(t, "REF01", leaguetest.Results(x.Manager)[0].RefereeID)
		})
	}
}

// The organiser rules the match of a league that waits for a token. The round ends, although its
// referee does not answer any more.
func TestMatchIsRuledWhileTheLeagueWaitsForAToken(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := thirdPartyLeague(w, atItsAddress)
		_, err := w.Report(tokenless(w.WinReport("REF01")))
		require.Error(t, err)
		w.WaitUntil(10 * leaguetest.Second)
		referee := w.Agents()[1]
		require.Equal(t, "ref01", referee.Host)
		referee.Stop()
		w.Organise(protocol.CommandRule, leaguetest.OfMatch("R1M1"), leaguetest.Winner("P01"))
		w.WaitUntil(20 * leaguetest.Second)
		state, _ := w.FoldJournal(x.Folder)
		assert.False(t, state.Open(), "the round is over")
		w.Organise(protocol.CommandResume)
		x.Finish()
	})
}

// REF01 did not answer once. After the pause for a referee without a token it gets the match.
func TestResumedLeagueTriesEachReferee(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2, atItsAddress)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.FirstN(1, leaguetest.Silent, leaguetest.Normally)))
		thirdPartyReferee(w, "REF02", w.AcceptMatch)
		w.Players(2)
		w.WaitUntil(20 * leaguetest.Second)
		q := tokenless(w.WinReport("REF02"))
		q.Attempt = 2
		assertReportRefused(w, q, protocol.ErrTokenMissing, 5001)
		w.WaitUntil(30 * leaguetest.Second)
		w.Organise(protocol.CommandResume)
		w.Finish()
		assert.Equal(t, "REF01", leaguetest.Results(w.Manager)[0].RefereeID)
		assert.Equal(t, 1, w.CountCalls(protocol.StartMatch.Name, "ref02"))
	})
}

// A report that breaks the form counts like a contradictory one, also if its round or league cannot be
// read: after three, the match is a draw that its referee did not show. A later report is a dispute,
// whatever it lacks.
func TestMalformedReportsLoseTheMatch(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		w.Referee("REF01", w.OnlyAccepting(), leaguetest.WithCapacity(1))
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		for _, member := range []string{"draw", "round_id", "league_id"} {
			encoded, err := json.Marshal(w.WinReport("REF01"))
			require.NoError(t, err)
			params := protocol.ParseObject(encoded)
			params.Set(member, []byte("[]"))
			call := `{"jsonrpc":"2.0","method":"report_match_result","id":1,"params":` + string(params.Append(nil)) + `}`
			assert.Contains(t, string(w.Agents()[0].Mux.Serve(w.Context, "", []byte(call)).Body), member+": ")
		}
		x.Finish()
		r := leaguetest.Results(x.Manager)[0]
		assert.Equal(t, []string{league.StatusDraw, "", "its referee did not show its result"}, []string{r.Status, r.Winner(), r.Reason})
		unproven := w.WinReport("REF01")
		unproven.Draw, unproven.Signatures = nil, nil
		_, err := w.Report(unproven)
		require.ErrorContains(t, err, "has a result already")
		assert.Contains(t, x.CloseAudited().Rounds[0].Matches[0].Disputed, "REF01")
	})
}

// A plain report has no status: the missing choice of the loser shows a technical loss, also if it had moved before.
func TestPlainLossAfterAMoveHasNoFinding(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Game = tictactoe.Game{}
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, func(o *manager.Options) { o.Members = protocol.MembersPlain })
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		w.Player("P01")
		var moves atomic.Int32
		w.Player("P02", leaguetest.On(protocol.MakeMove.Name, func(c *leaguetest.Call) (jsontext.Value, error) {
			if moves.Add(1) == 1 {
				return c.OwnAnswer()
			}
			return nil, protocol.Fault(protocol.ErrInvalidMatchState, "no more moves")
		}))
		x.Finish()
		require.NoError(t, x.CloseFiles())
		r := leaguetest.Results(x.Manager)[0]
		assert.Equal(t, []string{league.StatusTechnicalLoss, "P01"}, []string{r.Status, r.Winner()})
		assert.Empty(t, auditOf(w, x.Folder).Findings)
		doc, err := store.Read[store.Match](x.Folder.Disk, x.Folder.Match(leaguetest.LeagueID, "R1M1"))
		require.NoError(t, err)
		assert.Equal(t, store.WrittenByReferee, doc.WrittenBy)
	})
}

// The standings in a plain question have no points. A ruling changes those of the players, so that the audit compares a
// question with the standings before and after it.
func TestRulingInAPlainLeagueHasNoFinding(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 3, 1, func(o *manager.Options) {
			o.Members = protocol.MembersPlain
			o.RoundBegins = func(round int) {
				if round == 3 {
					_, err := w.TryToOrganise(protocol.CommandRule, leaguetest.OfMatch("R2M1"), leaguetest.Winner(protocol.WinnerNone))
					assert.NoError(t, err)
				}
			}
		})
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		w.Players(3)
		x.Finish()
		require.NoError(t, x.CloseFiles())
		assert.Empty(t, auditOf(w, x.Folder).Findings)
	})
}

// A plain GAME_ERROR does not say whether the player is asked again. The referee stops before it does so, and an organiser
// rules the match.
func TestPlainAttemptThatEndsAfterAGameErrorHasNoFinding(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, func(o *manager.Options) { o.Members = protocol.MembersPlain })
		r := w.RefereeWithFiles("REF01", x.Folder)
		w.Player("P01")
		w.Player("P02", leaguetest.On(protocol.Invite.Name, leaguetest.Silent))
		w.WaitUntil(6 * leaguetest.Second)
		r.StopReferee()
		w.Organise(protocol.CommandRule, leaguetest.OfMatch("R1M1"), leaguetest.Winner("P01"))
		x.Finish()
		require.NoError(t, x.CloseFiles())
		doc, err := x.Folder.LoadAttempt(leaguetest.LeagueID, "R1M1", 1)
		require.NoError(t, err)
		last := doc.Transcript[len(doc.Transcript)-1]
		assert.Equal(t, []string{protocol.StateAbandoned, protocol.NotifyGameError.Name}, []string{doc.Lifecycle.State, last.Method})
		assert.Empty(t, auditOf(w, x.Folder).Findings)
	})
}
