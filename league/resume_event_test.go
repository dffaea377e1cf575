package league_test

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
	"evenodd/league/leaguetest"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// pacing gives agents the time to ask again for the answers that they lost.
func pacing(o *league.Options) { o.Pace = 5 * leaguetest.Second }

// mortalLeague is a whole league of four players whose manager dies once. It
// returns what the journal in the folder says.
func mortalLeague(w *leaguetest.World, end leaguetest.CrashPoint) (*journal.State, []league.MatchRecord) {
	w.T.Helper()
	folder, files := leaguetest.TempFolder(w.T), leaguetest.TempFolder(w.T)
	x := w.StartMortalManager(end, folder, 4, 1, pacing)
	var known map[string]bool // matches with a result on disk when the manager died
	var back time.Duration
	succession := w.InBackground(func() {
		if end.Event > 0 {
			<-x.Died
			x.RestoreDisk()
			time.Sleep(leaguetest.Second)
			known, back = recordedIn(w, folder), w.Now()
			x = w.StartManagerIn(folder, 4, 1, pacing)
		}
	})
	w.RefereeWithFiles("REF01", files)
	w.Players(4)
	<-succession
	final := x.Finish()
	checkFarewells(x.World, end.Event != 0)
	for _, e := range w.Calls(protocol.StartMatch.Name) {
		id := leaguetest.Decode[protocol.MatchAssignment](e.Message).MatchID
		assert.False(w.T, e.At >= back && known[id], "%s has a result, and is handed over again", id)
	}
	require.NoError(w.T, x.CloseFiles())
	state := w.CheckFiles(folder)
	assert.Equal(w.T, state.Completed.Champion, final.Champion)
	for m := range state.Matches() {
		assert.Len(w.T, m.Attempts, 1, "%s", m.Report.MatchID)
	}
	assert.Equal(w.T, 12, w.CountCalls(protocol.Invite.Name), "no match is played twice")
	return state, x.Manager.Results()
}

// recordedIn are the matches with a result in a journal, as it was left.
func recordedIn(w *leaguetest.World, folder store.Folder) map[string]bool {
	recorded := map[string]bool{}
	j, state, _, err := journalfile.Open(folder.Journal(leaguetest.LeagueID), nil)
	require.NoError(w.T, err)
	require.NoError(w.T, j.Close())
	for m := range state.Matches() {
		if r := m.Report; r != nil {
			recorded[r.MatchID.String()] = true
		}
	}
	return recorded
}

// checkFarewells wants every agent to be told that the league is over, once, or
// twice where it is not known who was told.
func checkFarewells(w *leaguetest.World, killed bool) {
	w.T.Helper()
	for _, a := range w.Agents() {
		if a.Player == nil && a.Referee == nil {
			continue
		}
		most := 1
		if killed {
			most = 2
		}
		n := w.CountCalls(protocol.NotifyLeagueCompleted.Name, a.Host)
		assert.True(w.T, 1 <= n && n <= most, "%s was told %d times that the league is over", a.ID, n)
	}
}

// A manager may die at any event, whatever the world has heard of it: the next
// one ends the league as if nothing had happened.
func TestAManagerThatDiesAtAnyEvent(t *testing.T) {
	t.Parallel()
	var events int
	var results []league.MatchRecord
	synctest.Test(t, func(t *testing.T) {
		w := leaguetest.NewWorld(t, leaguetest.Memory, zerolog.Nop())
		state, undisturbed := mortalLeague(w, leaguetest.CrashPoint{})
		events, results = state.Events, undisturbed
		w.Close()
	})
	require.Equal(t, 47, events, "created, registered 5, answered 5, started, confirmed 5, 3 rounds of 2 and 2 × 3 events, completed, informed 5")
	deaths := []struct {
		kind string
		when leaguetest.Moment
	}{
		{leaguetest.Memory, leaguetest.BeforeTelling}, {leaguetest.Memory, leaguetest.AfterTelling}, {leaguetest.Memory, leaguetest.PowerCut},
		{leaguetest.Wire, leaguetest.AfterTelling},
		{leaguetest.HTTP, leaguetest.BeforeTelling}, {leaguetest.HTTP, leaguetest.AfterTelling},
	}
	for i, death := range deaths {
		t.Run(fmt.Sprintf("%s, %s", death.kind, death.when), func(t *testing.T) {
			t.Parallel()
			for event := 1; event <= events; event++ {
				if event == events && death.when != leaguetest.BeforeTelling {
					continue // nothing follows the last event
				}
				if !leaguetest.All() && (events-event)%len(deaths) != i {
					continue // the short version ends the manager once at each event, in turn on each carrier
				}
				t.Run(fmt.Sprint(event), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := leaguetest.NewWorld(t, death.kind, zerolog.Nop())
						_, got := mortalLeague(w, leaguetest.CrashPoint{Event: event, When: death.when})
						assert.Equal(t, results, got)
						synctest.Wait()
						w.Close()
						w.CheckMessages()
					})
				})
			}
		})
	}
}
