package manager_test

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/referee"
)

// A report that arrives between the restart of the manager and the continuation of the round
// counts.
func TestReportBeforeTheRoundContinuesIsRecorded(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1)
		w.RefereeWithFiles("REF01", files)
		w.Players(4, leaguetest.WithDelays(0, 3*leaguetest.Second, 0))
		w.WaitUntil(1 * leaguetest.Second)
		x.Kill()
		w.WaitUntil(2 * leaguetest.Second)
		x = w.StartManagerIn(folder, 4, 1, func(o *manager.Options) { o.Pace = 30 })
		w.WaitUntil(10 * leaguetest.Second)
		assert.Equal(t, 2, x.Manager.Status().Recorded)
		assert.Equal(t, []string{leaguetest.LeagueID + "/R1M1.json", leaguetest.LeagueID + "/R1M2.json"}, leaguetest.MatchFiles(t, files), "the reports are acknowledged")
		finish(x)
		assert.Len(t, w.Calls(protocol.StartMatch.Name), 6)
		assert.Len(t, w.Calls(protocol.Invite.Name), 12)
	})
}

// A manager that is down during a whole match gets the result after its restart.
func TestResultIsReportedToTheRestartedManager(t *testing.T) {
	for name, died := range map[string]bool{"the referee retries": false, "the referee died meanwhile": true} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 2, 1)
			r := w.RefereeWithFiles("REF01", files)
			w.Players(2, leaguetest.WithDelays(0, 3*leaguetest.Second, 0))
			w.WaitUntil(1 * leaguetest.Second)
			x.Kill()
			w.WaitUntil(6 * leaguetest.Second)
			require.Equal(t, []string{leaguetest.AttemptFile(1)}, leaguetest.MatchFiles(t, files))
			if died {
				r.StopReferee()
			}
			w.WaitUntil(60 * leaguetest.Second)
			x = w.StartManagerIn(folder, 2, 1)
			if died {
				w.RefereeWithFiles("REF01", files)
			}
			assert.Equal(t, 1, finish(x).Rounds[0].Matches[0].Report.Number)
			assert.Less(t, w.Now(), 80*leaguetest.Second)
			assert.Len(t, w.Calls(protocol.Invite.Name), 2, "no second match")
			assert.Equal(t, []string{leaguetest.FirstMatchFile}, leaguetest.MatchFiles(t, files))
		})
	}
}

// A referee that was killed during a match gets it again as soon as it re-registers.
func TestReturningRefereeGetsItsMatchImmediately(t *testing.T) {
	for _, test := range []struct {
		name    string
		manager bool // the manager dies too
		away    int  // seconds
	}{{"after two seconds", false, 2}, {"after ten seconds", false, 10}, {"with its manager", true, 3}} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 2, 2)
			r := w.RefereeWithFiles("REF01", files)
			w.RefereeWithFiles("REF02", files)
			w.Players(2, leaguetest.WithDelays(0, 15*leaguetest.Second, 0))
			w.WaitUntil(1 * leaguetest.Second)
			r.StopReferee()
			if test.manager {
				x.Kill()
				x = w.StartManagerIn(folder, 2, 2)
			}
			back := protocol.Seconds(float64(1 + test.away))
			w.WaitUntil(back)
			w.RefereeWithFiles("REF01", files)
			synctest.Wait()
			assigned := w.Calls(protocol.StartMatch.Name)
			assert.Equal(t, int(back/leaguetest.Second), int(assigned[len(assigned)-1].At/leaguetest.Second))
			assert.Equal(t, "REF01", finish(x).Rounds[0].Matches[0].Report.RefereeID)
			for _, e := range assigned {
				assert.Equal(t, "ref01", e.To)
				assert.Equal(t, 1, leaguetest.Decode[protocol.MatchAssignment](e.Message).Attempt)
			}
			assert.NotContains(t, w.EventTypes(folder), "agent_suspended")
		})
	}
}

// A referee that stays unreachable loses its match and gets matches again after its return.
func TestUnreachableRefereeIsSuspended(t *testing.T) {
	for name, restarts := range map[string]bool{"under the same manager": false, "under the next manager": true} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
			suspendAfterOne := func(o *manager.Options) { o.SuspendAfter = 1 }
			x := w.StartManagerIn(folder, 4, 2, suspendAfterOne)
			r := w.RefereeWithFiles("REF01", files, leaguetest.WithCapacity(1))
			w.RefereeWithFiles("REF02", files, leaguetest.WithCapacity(1))
			w.Players(4, leaguetest.WithDelays(0, 4*leaguetest.Second, 0))
			w.WaitUntil(1 * leaguetest.Second)
			r.StopReferee()
			w.WaitUntil(17 * leaguetest.Second)
			assert.Contains(t, w.EventTypes(folder), "agent_failed")
			assert.NotContains(t, w.EventTypes(folder), "agent_suspended", "the round is not over")
			if restarts {
				x.Kill()
				x = w.StartManagerIn(folder, 4, 2, suspendAfterOne)
			}
			w.WaitUntil(22 * leaguetest.Second) // in the second round, without a match for REF01
			w.RefereeWithFiles("REF01", files, leaguetest.WithCapacity(1))
			x.Finish()
			var list []string
			for _, e := range w.Calls(protocol.StartMatch.Name) {
				q := leaguetest.Decode[protocol.MatchAssignment](e.Message)
				list = append(list, q.MatchID+" "+e.To+" "+string(rune('0'+q.Attempt)))
			}
			if restarts { // a restarted manager assigns unfinished matches again
				assert.Equal(t, 2, count(list, "R1M1 ref02 2"))
				list = slices.Compact(list)
			}
			slices.Sort(list)
			assert.Equal(t, []string{
				"R1M1 ref01 1", "R1M1 ref02 2", "R1M2 ref02 1", "R2M1 ref02 1", "R2M2 ref02 1", "R3M1 ref01 1", "R3M2 ref02 1",
			}, list)
			x.CloseAudited()
			kinds := w.EventTypes(folder)
			assert.Equal(t, []int{1, 1}, []int{count(kinds, "agent_suspended"), count(kinds, "agent_returned")})
		})
	}
}

func count(list []string, what string) int {
	return len(slices.DeleteFunc(slices.Clone(list), func(one string) bool { return one != what }))
}

// A referee that restarts the same attempt with another commitment could choose between two
// draws. It gets a new attempt instead.
func TestOtherCommitmentForTheSameAttemptStartsANewAttempt(t *testing.T) {
	for name, restarts := range map[string]bool{"under the same manager": false, "under the next manager": true} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 2, 1)
			r := w.RefereeWithFiles("REF01", files)
			w.Players(2, leaguetest.WithDelays(0, 5*leaguetest.Second, 0))
			w.WaitUntil(1 * leaguetest.Second)
			r.StopReferee()
			w.WaitUntil(2 * leaguetest.Second)
			require.NoError(t, os.RemoveAll(files.Matches(leaguetest.LeagueID)))
			if restarts {
				x.Kill()
				x = w.StartManagerIn(folder, 2, 1)
			}
			refereeWithOtherNonces(w, "REF01", files)
			m := finish(x).Rounds[0].Matches[0]
			report := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
			assert.Equal(t, 2, report.Attempt)
			require.Len(t, m.Attempts, 2)
			assert.NotEqual(t, m.Attempts[0].Commitment, m.Attempts[1].Commitment)
			assert.Equal(t, report.Draw.Commitment, m.Attempts[1].Commitment)
			assert.Equal(t, 2, m.Report.Number)
		})
	}
}

// refereeWithOtherNonces restarts a referee with another nonce for each match.
func refereeWithOtherNonces(w *leaguetest.World, id string, folder store.Folder) {
	w.T.Helper()
	a := w.RefereeWith(id, nil, func(o *referee.Options) {
		o.ID, o.Folder = id, folder
		o.Nonce = func(matchID string) protocol.Secret { return leaguetest.SecretOf("another", matchID) }
	})
	require.NoError(w.T, a.Referee.Register(w.Context))
}

// A league keeps its recorded settings.
func TestResumedLeagueKeepsItsSettings(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1)
		w.Referee("REF01")
		w.Players(4, leaguetest.WithDelays(0, 3*leaguetest.Second, 0))
		w.WaitUntil(4 * leaguetest.Second)
		x.Kill()
		log := w.CaptureLog()
		x = w.StartManagerIn(x.Folder, 6, 1, func(o *manager.Options) {
			o.Legs, o.Scoring.Win, o.Scoring.Draw, o.Tiebreakers = 2, 7, 5, []string{"wins"}
		})
		state := finish(x)
		assert.Contains(t, log.Text(), "this league keeps those it began with")
		assert.Equal(t, 6, state.TotalMatches())
		for _, row := range x.Manager.Standings() {
			assert.Equal(t, 3*row.Wins+row.Draws, row.Points)
		}
		for _, e := range w.Calls(protocol.StartMatch.Name) {
			assert.Equal(t, league.MatchPoints{Win: 3, Draw: 1}, leaguetest.Decode[protocol.MatchAssignment](e.Message).Scoring)
		}
	})
}
