package manager_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules"
)

// deliverLate delivers again all calls that the manager before made before a moment.
func deliverLate(w *leaguetest.World, calls []leaguetest.Exchange, delivered map[string]int) {
	caller := w.Caller(leaguetest.ManagerHost, 1<<20)
	for _, e := range calls {
		q := protocol.CallRequest{
			Endpoint: leaguetest.EndpointOf(e.To), Bearer: e.Bearer, Method: e.Method, Params: e.Message, Limit: 5 * time.Second,
			Decode: func(raw []byte) (any, error) { return string(raw), nil },
		}
		_, _, _ = caller.Call(w.Context, q) // an agent may refuse it
		delivered[e.Method]++
	}
}

// Messages have no term: a call of the leader before may arrive after the takeover. The numbers of attempts, the
// versions of standings and what agents know decide, so that it changes nothing.
func TestLateCallsOfTheLeaderBeforeChangeNothing(t *testing.T) {
	t.Parallel()
	const players = 4
	want := map[string]string{}
	delivered := map[string]int{}
	for _, crash := range []int{0, 19, 27, 33, 42, 43} { // none, in rounds 1, 2 and 3, and at the end
		synctest.Test(t, func(t *testing.T) {
			w := leaguetest.NewWorld(t, leaguetest.Wire, zerolog.Nop())
			defer w.Close()
			folder := leaguetest.MemoryFolder(t)
			x := w.StartMortalManager(leaguetest.CrashPoint{Event: crash, When: leaguetest.AfterTelling}, folder, players, 1, withPause)
			succession := w.InBackground(func() {
				if crash == 0 {
					return
				}
				<-x.Died
				x.RestoreDisk()
				time.Sleep(leaguetest.Second)
				old := w.Recorder.All(func(e *leaguetest.Exchange) bool { return e.From == leaguetest.ManagerHost })
				x = w.StartManagerIn(folder, players, 1, withTakeover)
				deliverLate(w, old, delivered)
				time.Sleep(6 * leaguetest.Second) // in the next round
				deliverLate(w, old, delivered)
			})
			w.RefereeWithFiles("REF01", leaguetest.MemoryFolder(t))
			w.Players(players)
			<-succession
			x.Finish()
			require.NoError(t, x.CloseFiles())
			state := w.CheckFiles(folder)
			for m := range state.Matches() {
				assert.Len(t, m.Attempts, 1, "%s", m.Report.MatchID)
			}
			assertSameResults(t, want, x.Manager.Results())
			report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(w.Game)})
			require.NoError(t, err)
			assert.Empty(t, report.Leagues[0].Findings)
		})
	}
	for _, m := range []string{
		protocol.StartMatch.Name, protocol.NotifyRound.Name, protocol.UpdateStandings.Name, protocol.NotifyRoundCompleted.Name,
		protocol.NotifyLeagueCompleted.Name, protocol.GetMatchTranscript.Name,
	} {
		assert.NotZero(t, delivered[m], "%s: %v", m, delivered)
	}
}

// assertSameResults compares results with those of an undisturbed league, which come first.
func assertSameResults(t *testing.T, want map[string]string, results []manager.MatchRecord) {
	t.Helper()
	first := len(want) == 0
	for _, r := range results {
		got := string(leaguetest.Encode(r))
		if first {
			want[r.MatchID] = got
		}
		assert.JSONEq(t, want[r.MatchID], got)
	}
	assert.Len(t, results, len(want))
}
