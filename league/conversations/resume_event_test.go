package conversations

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// pacing gives agents the time to ask again for the answers that they lost.
func pacing(o *league.Options) { o.Pace = 5 * second }

// mortalLeague is a whole league of four players whose manager dies once. It
// returns what the journal in the folder says.
func (w *world) mortalLeague(end fate) (*journal.State, []league.MatchRecord) {
	w.t.Helper()
	folder, files := folderOf(w.t), folderOf(w.t)
	x := w.doomed(end, folder, 4, 1, pacing)
	var known map[string]bool // matches with a result on disk when the manager died
	var back time.Duration
	succession := w.meanwhile(func() {
		if end.event > 0 {
			<-x.died
			x.bury()
			time.Sleep(second)
			known, back = recordedIn(w, folder), w.now()
			x = w.tenure(folder, 4, 1, pacing)
		}
	})
	w.writer("REF01", files)
	w.players(4)
	<-succession
	final := x.finish()
	x.w.checkFarewells(end.event != 0)
	for _, e := range w.said(protocol.StartMatch.Name) {
		id := read[protocol.MatchAssignment](e.message).MatchID
		assert.False(w.t, e.at >= back && known[id], "%s has a result, and is handed over again", id)
	}
	require.NoError(w.t, x.close())
	state := w.checkKept(folder)
	assert.Equal(w.t, state.Completed.Champion, final.Champion)
	for m := range state.Matches() {
		assert.Len(w.t, m.Attempts, 1, "%s", m.Report.MatchID)
	}
	assert.Equal(w.t, 12, w.often(protocol.Invite.Name), "no match is played twice")
	return state, x.manager.Results()
}

// recordedIn are the matches with a result in a journal, as it was left.
func recordedIn(w *world, folder store.Folder) map[string]bool {
	recorded := map[string]bool{}
	j, state, _, err := journalfile.Open(folder.Journal(leagueID), nil)
	require.NoError(w.t, err)
	require.NoError(w.t, j.Close())
	for m := range state.Matches() {
		if r := m.Report; r != nil {
			recorded[r.MatchID.String()] = true
		}
	}
	return recorded
}

// checkFarewells wants every agent to be told that the league is over, once, or
// twice where it is not known who was told.
func (w *world) checkFarewells(killed bool) {
	w.t.Helper()
	for _, a := range w.everybody() {
		if a.player == nil && a.referee == nil {
			continue
		}
		most := 1
		if killed {
			most = 2
		}
		n := w.often(protocol.NotifyLeagueCompleted.Name, a.host)
		assert.True(w.t, 1 <= n && n <= most, "%s was told %d times that the league is over", a.id, n)
	}
}

// A manager may die at any event, whatever the world has heard of it: the next
// one ends the league as if nothing had happened.
func TestAManagerThatDiesAtAnyEvent(t *testing.T) {
	if testing.Short() {
		t.Skip("a crash test with many lives of a manager, which runs without -short")
	}
	t.Parallel()
	var events int
	var results []league.MatchRecord
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, byValue, zerolog.Nop())
		state, undisturbed := w.mortalLeague(fate{})
		events, results = state.Events, undisturbed
		w.close()
	})
	require.Equal(t, 47, events, "created, registered 5, answered 5, started, confirmed 5, 3 rounds of 2 and 2 × 3 events, completed, informed 5")
	for kind, list := range map[string][]when{byValue: {untold, followed, powerCut}, byWire: {followed}, byHTTP: {untold, followed}} {
		for _, when := range list {
			t.Run(fmt.Sprintf("%s, %s", kind, when), func(t *testing.T) {
				t.Parallel()
				for event := 1; event <= events; event++ {
					if event == events && when != untold {
						continue // nothing follows the last event
					}
					t.Run(fmt.Sprint(event), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							w := newWorld(t, kind, zerolog.Nop())
							_, got := w.mortalLeague(fate{event, when})
							assert.Equal(t, results, got)
							synctest.Wait()
							w.close()
							w.checkMessages()
						})
					})
				}
			})
		}
	}
}

// Each life lasts for one event.
func TestAManagerThatDiesAfterEveryEvent(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder, files := folderOf(t), folderOf(t)
		x := w.doomed(fate{1, untold}, folder, 4, 2, pacing)
		lives := w.meanwhile(func() {
			for event := 2; ; event++ {
				if <-x.over; !x.dead.Load() {
					return
				}
				x.bury()
				time.Sleep(second)
				x = w.doomed(fate{event, untold}, folder, 4, 2, pacing)
			}
		})
		w.writer("REF01", files, capacity(1))
		w.writer("REF02", files)
		w.players(4)
		<-lives
		x.finish()
		require.NoError(t, x.close())
		state := w.checkKept(folder)
		events := map[string]int{}
		for _, kind := range w.kinds(folder) {
			events[kind]++
		}
		assert.LessOrEqual(t, events["match_accepted"], 6)
		delete(events, "match_accepted") // that of a result that was reported at once is not waited for
		assert.Equal(t, map[string]int{
			"created": 1, "registered": 6, "agent_answered": 6, "agent_confirmed": 6, "started": 1, "round_announced": 3, "match_assigned": 6, "match_reported": 6,
			"round_completed": 3, "completed": 1, "agent_informed": 6,
		}, events, "no event happens twice")
		for m := range state.Matches() {
			assert.Len(t, m.Attempts, 1)
		}
		assert.Equal(t, 12, w.often(protocol.Invite.Name), "no match is played twice")
	})
}

// The first life has two events of its own and the next each one more, and
// players and referees that take their time.
func TestAManagerThatDiesAgainAndAgainWhileMatchesGoOn(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder, files := folderOf(t), folderOf(t)
		x := w.doomed(fate{2, followed}, folder, 4, 2, pacing)
		lives := w.meanwhile(func() {
			for n := 3; ; n++ {
				if <-x.over; !x.dead.Load() {
					return
				}
				x.bury()
				time.Sleep(time.Duration(n) * second)
				x = w.doomed(fate{x.fate.event + n, followed}, folder, 4, 2, pacing)
			}
		})
		w.writer("REF01", files)
		w.writer("REF02", files)
		w.players(4, slow(second, 3*second, 2*second))
		<-lives
		x.finish()
		require.NoError(t, x.close())
		state := w.checkKept(folder)
		for m := range state.Matches() {
			assert.Len(t, m.Attempts, 1)
		}
		assert.Equal(t, 12, w.often(protocol.Invite.Name), "no match is played twice")
		assert.Empty(t, w.complaints())
	})
}
