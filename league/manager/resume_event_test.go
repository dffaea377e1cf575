package manager_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// withPause pauses between rounds, so that agents can retry calls without a response.
func withPause(o *manager.Options) { o.Pace = 5 }

// withTakeover has the manager take the league over from another one. The term of its lease may begin anew.
func withTakeover(o *manager.Options) {
	withPause(o)
	o.TakesOver = &journal.ManagerTookOver{Manager: "second", Term: 1}
}

// leagueWithCrash runs a whole league whose manager dies once, and another one takes over. It returns its folded
// journal.
func leagueWithCrash(w *leaguetest.World, end leaguetest.CrashPoint, players int, change ...func(*manager.Options)) (
	*journal.State, []record.Match,
) {
	w.T.Helper()
	folder, files := leaguetest.TempFolder(w.T), leaguetest.TempFolder(w.T)
	x := w.StartMortalManager(end, folder, players, 1, append(change, withPause)...)
	var known map[string]bool // matches with a durable result at the crash
	var back time.Duration
	succession := w.InBackground(func() {
		if end.Event > 0 {
			<-x.Died
			x.RestoreDisk()
			time.Sleep(leaguetest.Second)
			known, back = recordedIn(w, folder), w.Now()
			x = w.StartManagerIn(folder, players, 1, append(change, withTakeover)...)
		}
	})
	w.RefereeWithFiles("REF01", files)
	w.Players(players)
	<-succession
	final := x.Finish()
	checkCompletionNotices(x.World, end.Event != 0)
	for _, e := range w.Calls(protocol.StartMatch.Name) {
		id := leaguetest.Decode[protocol.MatchAssignment](e.Message).MatchID
		assert.False(w.T, e.At >= back && known[id], "%s has a result, but was assigned again", id)
	}
	require.NoError(w.T, x.CloseFiles())
	state := w.CheckFiles(folder)
	if x.Manager.Resumed() {
		require.NotNil(w.T, state.Leader)
		assert.Equal(w.T, journal.ManagerTookOver{Manager: "second", Term: 1}, state.Leader.ManagerTookOver)
	}
	want := state.Completed.Champion
	want.Reason = state.Champion().Reason // the journal does not have it
	assert.Equal(w.T, want, final.Champion)
	for _, m := range state.Matches() {
		assert.Len(w.T, m.Attempts, 1, "%s", m.Report.MatchID)
	}
	assert.Equal(w.T, 2*state.Recorded, w.CountCalls(protocol.Invite.Name), "no match is played twice")
	return state, leaguetest.Results(x.Manager)
}

// recordedIn returns the matches with a result in a journal.
func recordedIn(w *leaguetest.World, folder store.Folder) map[string]bool {
	recorded := map[string]bool{}
	j, state, _, err := journalfile.Open(folder.Disk, folder.Journal(leaguetest.LeagueID), nil, "")
	require.NoError(w.T, err)
	require.NoError(w.T, j.Close())
	for _, m := range state.Matches() {
		if r := m.Report; r != nil {
			recorded[r.MatchID.String()] = true
		}
	}
	return recorded
}

// checkCompletionNotices checks that each agent gets LEAGUE_COMPLETED once, or at most twice
// after a crash.
func checkCompletionNotices(w *leaguetest.World, killed bool) {
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
		assert.True(w.T, 1 <= n && n <= most, "%s got LEAGUE_COMPLETED %d times", a.ID, n)
	}
}

// A manager may die before or after any event, whether or not the event's messages were
// sent. The next manager completes the league with the same results.
func TestLeagueSurvivesAManagerCrashAtAnyEvent(t *testing.T) {
	t.Parallel()
	var events int
	var results []record.Match
	synctest.Test(t, func(t *testing.T) {
		w := leaguetest.NewWorld(t, leaguetest.Memory, zerolog.Nop())
		state, undisturbed := leagueWithCrash(w, leaguetest.CrashPoint{}, 4)
		events, results = state.Events, undisturbed
		w.Close()
	})
	require.Equal(t, 47, events, "created, registered 5, answered 5, started, confirmed 5, 3 rounds of 2 and 2 × 3 events, completed, informed 5")
	crashes := []struct {
		kind string
		when leaguetest.Moment
	}{
		{leaguetest.Memory, leaguetest.BeforeTelling}, {leaguetest.Memory, leaguetest.AfterTelling}, {leaguetest.Memory, leaguetest.PowerCut},
		{leaguetest.Wire, leaguetest.AfterTelling},
		{leaguetest.HTTP, leaguetest.BeforeTelling}, {leaguetest.HTTP, leaguetest.AfterTelling},
	}
	for i, crash := range crashes {
		t.Run(fmt.Sprintf("%s, %s", crash.kind, crash.when), func(t *testing.T) {
			t.Parallel()
			for event := 1; event <= events; event++ {
				if event == events && crash.when != leaguetest.BeforeTelling {
					continue // no message follows the last event
				}
				if !leaguetest.All() && (events-event)%len(crashes) != i {
					continue // the short version has one crash at each event, in turn on each carrier
				}
				t.Run(fmt.Sprint(event), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := leaguetest.NewWorld(t, crash.kind, zerolog.Nop())
						_, got := leagueWithCrash(w, leaguetest.CrashPoint{Event: event, When: crash.when}, 4)
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

// The next rounds of a bracket follow from results, and those of a gauntlet from the seeds, also after a crash in any
// round.
func TestOtherFormatsSurviveAManagerCrashInAnyRound(t *testing.T) {
	t.Parallel()
	for _, tournament := range []journal.Tournament{
		{Algorithm: pairing.DoubleElimination, Seeding: []string{"Agent P03"}},
		{Algorithm: pairing.Gauntlet, Gauntlet: 2, Seeding: []string{"Agent P03"}},
	} {
		t.Run(tournament.Algorithm, func(t *testing.T) {
			t.Parallel()
			var want []record.Match
			step := 13
			if leaguetest.All() {
				step = 4 // each round has more events
			}
			for crash, events := 0, 1; crash < events; crash += step {
				synctest.Test(t, func(t *testing.T) {
					w := leaguetest.NewWorld(t, leaguetest.Memory, zerolog.Nop())
					end := leaguetest.CrashPoint{Event: crash, When: leaguetest.Moment(crash / step % 3)}
					state, got := leagueWithCrash(w, end, 4, withTournament(&tournament))
					if crash == 0 {
						want, events = got, state.Events
					}
					assert.Equal(t, want, got, "a crash at event %d", crash)
					w.Close()
				})
			}
		})
	}
}

// Each manager dies after one event.
func TestLeagueSurvivesAManagerCrashAfterEveryEvent(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
		x := w.StartMortalManager(leaguetest.CrashPoint{Event: 1, When: leaguetest.BeforeTelling}, folder, 4, 2, withPause)
		ended := w.InBackground(func() {
			for event := 2; ; event++ {
				if <-x.Done; !x.Dead.Load() {
					return
				}
				x.RestoreDisk()
				time.Sleep(leaguetest.Second)
				x = w.StartMortalManager(leaguetest.CrashPoint{Event: event, When: leaguetest.BeforeTelling}, folder, 4, 2, withPause)
			}
		})
		w.RefereeWithFiles("REF01", files, leaguetest.WithCapacity(1))
		w.RefereeWithFiles("REF02", files)
		w.Players(4)
		<-ended
		state := finish(x)
		events := map[string]int{}
		for _, kind := range w.EventTypes(folder) {
			events[kind]++
		}
		assert.LessOrEqual(t, events["match_accepted"], 6)
		delete(events, "match_accepted") // acceptances are optional: a report may come first
		assert.Equal(t, map[string]int{
			"created": 1, "registered": 6, "agent_answered": 6, "agent_confirmed": 6, "started": 1, "round_announced": 3, "match_assigned": 6, "match_reported": 6,
			"round_completed": 3, "completed": 1, "agent_informed": 6,
		}, events, "no event occurs twice")
		for _, m := range state.Matches() {
			assert.Len(t, m.Attempts, 1)
		}
		assert.Equal(t, 12, w.CountCalls(protocol.Invite.Name), "no match is played twice")
	})
}
