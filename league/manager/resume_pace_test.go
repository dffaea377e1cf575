package manager_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// With a long pause between rounds, the agents get the standings before the pause.
func TestResultsAreSentBeforeThePause(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 1, func(o *league.Options) { o.Pace = 30 * leaguetest.Second })
		w.Referee("REF01")
		w.Players(4)
		w.Finish()
		for _, host := range []string{"p01", "p02", "p03", "p04"} {
			assert.Equal(t, []int{30, 60, 90}, leaguetest.Seconds(w.Calls(protocol.NotifyRound.Name, host)))
			assert.Equal(t, []int{30, 60, 90}, leaguetest.Seconds(w.Calls(protocol.UpdateStandings.Name, host)), "the standings at the end of each round")
			assert.Equal(t, []int{30, 60, 90}, leaguetest.Seconds(w.Calls(protocol.NotifyRoundCompleted.Name, host)))
		}
		assert.Equal(t, []int{30, 60, 90}, leaguetest.Seconds(w.Calls(protocol.NotifyRoundCompleted.Name, "ref01")))
	})
}

// A restarted manager repeats the results of the last round before its first pause.
func TestRestartedManagerRepeatsTheResultsBeforeThePause(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		paced := func(o *league.Options) { o.Pace = 30 * leaguetest.Second }
		x := w.StartManagerIn(folder, 4, 1, paced)
		w.Referee("REF01")
		w.Players(4)
		w.WaitUntil(40 * leaguetest.Second) // between the first round and the second
		x.Kill()
		w.WaitUntil(50 * leaguetest.Second)
		x = w.StartManagerIn(folder, 4, 1, paced)
		x.Finish()
		assert.Equal(t, []int{30, 80, 110}, leaguetest.Seconds(w.Calls(protocol.NotifyRound.Name, "p01")))
		assert.Equal(t, []int{30, 50, 80, 110}, leaguetest.Seconds(w.Calls(protocol.UpdateStandings.Name, "p01")))
		assert.Equal(t, []int{30, 50, 80, 110}, leaguetest.Seconds(w.Calls(protocol.NotifyRoundCompleted.Name, "ref01")))
		require.NoError(t, x.CloseFiles())
		w.CheckFiles(folder)
	})
}

// A stopping manager waits for the running matches and assigns no others.
func TestStoppingManagerWaitsForRunningMatches(t *testing.T) {
	for _, test := range []struct {
		name     string
		patience int // seconds
		began    int // matches
		recorded int
		stopped  int // second of the end
		attempts int
	}{
		{"the running match ends in time", 10, 1, 1, 4, 1},
		{"the running match takes too long", 1, 1, 0, 2, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
				x, o := w.OpenManager(leaguetest.CrashPoint{}, folder, 4, 1)
				o.StopWithin, o.Concurrency = protocol.Seconds(float64(test.patience)), 1
				require.NoError(t, x.Start(o))
				w.RefereeWithFiles("REF01", files)
				w.Players(4, leaguetest.WithDelays(0, 4*leaguetest.Second, 0))
				w.WaitUntil(1 * leaguetest.Second)
				x.Cancel()
				<-x.Done
				assert.Equal(t, test.stopped, int(w.Now()/leaguetest.Second))
				require.ErrorIs(t, x.Err, context.Canceled)
				assert.Nil(t, x.Final)
				assert.Len(t, w.Calls(protocol.StartMatch.Name), test.began)
				assert.Equal(t, test.recorded, x.Manager.Status().Recorded)
				x.Kill()

				x = w.StartManagerIn(folder, 4, 1)
				x.Finish()
				synctest.Wait()
				require.NoError(t, x.CloseFiles())
				state := w.CheckFiles(folder)
				for m := range state.Matches() {
					assert.Len(t, m.Attempts, test.attempts)
				}
				assert.Len(t, w.Calls(protocol.Invite.Name), 12)
			})
		})
	}
}

func TestLongestMatchLimitsAnAttempt(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2, func(o *league.Options) { o.LongestMatch = 20 * leaguetest.Second })
		w.Referee("REF01", w.OnlyAccepting())
		w.Referee("REF02")
		w.Players(2)
		w.Finish()
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 20s"}, w.AssignmentLog())
	})
}
