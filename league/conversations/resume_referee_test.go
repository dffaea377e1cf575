package conversations

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/referee"
)

// A referee does not wait for a manager that is away, nor the manager for the
// round, to get a result that is there.
func TestAReportBeforeTheRoundIsTakenUpAgain(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder, files := folderOf(t), folderOf(t)
		x := w.tenure(folder, 4, 1)
		w.writer("REF01", files)
		w.players(4, slow(0, 3*second, 0))
		w.at(1 * second)
		x.kill()
		w.at(2 * second)
		x = w.tenure(folder, 4, 1, func(o *league.Options) { o.Pace = 30 * second })
		w.at(10 * second)
		assert.Equal(t, 2, x.manager.Status().Recorded)
		assert.Equal(t, []string{leagueID + "/R1M1.json", leagueID + "/R1M2.json"}, filesOf(t, files), "and acknowledged")
		x.finish()
		assert.Len(t, w.said(protocol.StartMatch.Name), 6)
		assert.Len(t, w.said(protocol.Invite.Name), 12)
		require.NoError(t, x.close())
		w.checkKept(folder)
	})
}

// A manager that is away for the whole of a match gets its result when it is
// back.
func TestAManagerIsAwayWhileAMatchIsPlayed(t *testing.T) {
	for _, test := range []struct {
		name string
		too  bool // the referee dies too, when it has finished
	}{{"the referee insists", false}, {"the referee has died meanwhile", true}} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder, files := folderOf(t), folderOf(t)
				x := w.tenure(folder, 2, 1)
				r := w.writer("REF01", files)
				w.players(2, slow(0, 3*second, 0))
				w.at(1 * second)
				x.kill()
				w.at(6 * second)
				require.Equal(t, []string{attemptFile(1)}, filesOf(t, files))
				if test.too {
					r.halt()
				}
				w.at(60 * second)
				x = w.tenure(folder, 2, 1)
				if test.too {
					w.writer("REF01", files)
				}
				x.finish()
				assert.Less(t, w.now(), 80*second)
				assert.Len(t, w.said(protocol.Invite.Name), 2, "it is not played again")
				assert.Equal(t, []string{theMatch}, filesOf(t, files))
				require.NoError(t, x.close())
				assert.Equal(t, 1, w.checkKept(folder).Rounds[0].Matches[0].Report.Number)
			})
		})
	}
}

// A referee that was killed in the middle of a match gets it again as soon as it
// is back.
func TestARefereeThatComesBackGetsItsMatchAtOnce(t *testing.T) {
	for _, test := range []struct {
		name    string
		manager bool // dies too
		away    int  // seconds
	}{{"after a moment", false, 2}, {"after ten seconds", false, 10}, {"and so does its manager", true, 3}} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder, files := folderOf(t), folderOf(t)
				x := w.tenure(folder, 2, 2)
				r := w.writer("REF01", files)
				w.writer("REF02", files)
				w.players(2, slow(0, 15*second, 0))
				w.at(1 * second)
				r.halt()
				if test.manager {
					x.kill()
					x = w.tenure(folder, 2, 2)
				}
				back := protocol.Seconds(float64(1 + test.away))
				w.at(back)
				w.writer("REF01", files)
				synctest.Wait()
				handed := w.said(protocol.StartMatch.Name)
				assert.Equal(t, int(back/second), int(handed[len(handed)-1].at/second))
				x.finish()
				for _, e := range handed {
					assert.Equal(t, "ref01", e.to)
					assert.Equal(t, 1, read[protocol.MatchAssignment](e.message).Attempt)
				}
				require.NoError(t, x.close())
				assert.Equal(t, "REF01", w.checkKept(folder).Rounds[0].Matches[0].Report.RefereeID)
				assert.NotContains(t, w.kinds(folder), "agent_suspended")
			})
		})
	}
}

// A referee that stays away loses its match, gets no other, and gets matches
// again when it is back, also from the next manager.
func TestARefereeThatStaysAwayIsSuspended(t *testing.T) {
	for _, test := range []struct {
		name string
		next bool // a manager knows of it from the journal only
	}{{"for the same manager", false}, {"for the next", true}} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder, files := folderOf(t), folderOf(t)
				atOnce := func(o *league.Options) { o.SuspendAfter = 1 }
				x := w.tenure(folder, 4, 2, atOnce)
				r := w.writer("REF01", files, capacity(1))
				w.writer("REF02", files, capacity(1))
				w.players(4, slow(0, 4*second, 0))
				w.at(1 * second)
				r.halt()
				w.at(17 * second)
				assert.Contains(t, w.kinds(folder), "agent_failed")
				assert.NotContains(t, w.kinds(folder), "agent_suspended", "the round is not over")
				if test.next {
					x.kill()
					x = w.tenure(folder, 4, 2, atOnce)
				}
				w.at(22 * second) // in the second round, of which it has none
				w.writer("REF01", files, capacity(1))
				x.finish()
				var list []string
				for _, e := range w.said(protocol.StartMatch.Name) {
					q := read[protocol.MatchAssignment](e.message)
					list = append(list, q.MatchID+" "+e.to+" "+string(rune('0'+q.Attempt)))
				}
				if test.next { // which hands over what it finds
					assert.Equal(t, 2, count(list, "R1M1 ref02 2"))
					list = slices.Compact(list)
				}
				slices.Sort(list)
				assert.Equal(t, []string{
					"R1M1 ref01 1", "R1M1 ref02 2", "R1M2 ref02 1", "R2M1 ref02 1", "R2M2 ref02 1", "R3M1 ref01 1", "R3M2 ref02 1",
				}, list)
				require.NoError(t, x.close())
				w.checkKept(folder)
				kinds := w.kinds(folder)
				assert.Equal(t, []int{1, 1}, []int{count(kinds, "agent_suspended"), count(kinds, "agent_returned")})
			})
		})
	}
}

func count(list []string, what string) int {
	n := 0
	for _, one := range list {
		if one == what {
			n++
		}
	}
	return n
}

// A referee that begins the same attempt again with another commitment, so that
// it could choose between two draws, gets a new attempt.
func TestAnAttemptThatIsBegunAgainOtherwise(t *testing.T) {
	for _, test := range []struct {
		name    string
		manager bool // dies too
	}{{"under the same manager", false}, {"under the next", true}} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder, files := folderOf(t), folderOf(t)
				x := w.tenure(folder, 2, 1)
				r := w.writer("REF01", files)
				w.players(2, slow(0, 5*second, 0))
				w.at(1 * second)
				r.halt()
				w.at(2 * second)
				require.NoError(t, os.RemoveAll(files.Matches(leagueID)))
				if test.manager {
					x.kill()
					x = w.tenure(folder, 2, 1)
				}
				w.inconstant("REF01", files)
				x.finish()
				report := read[protocol.MatchResultReport](w.only(protocol.ReportMatchResult.Name, theBoss).message)
				assert.Equal(t, 2, report.Attempt)
				require.NoError(t, x.close())
				m := w.checkKept(folder).Rounds[0].Matches[0]
				require.Len(t, m.Attempts, 2)
				assert.NotEqual(t, m.Attempts[0].Commitment, m.Attempts[1].Commitment)
				assert.Equal(t, report.Draw.Commitment, m.Attempts[1].Commitment)
				assert.Equal(t, 2, m.Report.Number)
			})
		})
	}
}

// inconstant is a referee that comes back with another nonce for every match.
func (w *world) inconstant(id string, folder store.Folder) {
	w.t.Helper()
	a := w.refereeWith(id, nil, func(o *referee.Options) {
		o.ID, o.Folder = id, folder
		o.Nonce = func(matchID string) protocol.Secret { return secretOf("another", matchID) }
	})
	require.NoError(w.t, a.referee.Register(w.life))
}

// A league keeps the rules that it began with.
func TestTheSettingsHaveChangedBetweenTwoLives(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 4, 1)
		w.referee("REF01")
		w.players(4, slow(0, 3*second, 0))
		w.at(4 * second)
		x.kill()
		book := w.logged()
		x = w.tenure(folder, 6, 1, func(o *league.Options) {
			o.Legs, o.Scoring.Win, o.Scoring.Draw, o.Scoring.Tiebreakers = 2, 7, 5, []string{"wins"}
		})
		x.finish()
		assert.Contains(t, book.told(), "this league keeps those it began with")
		require.NoError(t, x.close())
		state := w.checkKept(folder)
		assert.Equal(t, 6, state.TotalMatches())
		for _, row := range x.manager.Standings() {
			assert.Equal(t, 3*row.Wins+row.Draws, row.Points)
		}
		for _, e := range w.said(protocol.StartMatch.Name) {
			assert.Equal(t, protocol.Scoring{Win: 3, Draw: 1}, read[protocol.MatchAssignment](e.message).Scoring)
		}
	})
}
