package league_test

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/leaguetest"
	"evenodd/league/protocol"
)

// countCalls counts all recorded calls.
func countCalls(w *leaguetest.World) int {
	return len(w.Recorder.All(func(*leaguetest.Exchange) bool { return true }))
}

func TestRestartOfACompletedLeagueChangesNothing(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1)
		w.Referee("REF01")
		w.Players(4)
		first := x.Finish()
		require.NoError(t, x.CloseFiles())
		x.Agent.Stop()
		w.CheckFiles(folder)
		read := func() []string {
			standings, err := os.ReadFile(folder.Standings(leaguetest.LeagueID))
			require.NoError(t, err)
			rounds, err := os.ReadFile(folder.Rounds(leaguetest.LeagueID))
			require.NoError(t, err)
			return []string{string(standings), string(rounds), string(leaguetest.ReadJournal(w, folder))}
		}
		before, calls := read(), countCalls(w)
		for range 2 {
			w.WaitUntil(w.Now() + leaguetest.Second)
			x = w.StartManagerIn(folder, 4, 1)
			assert.Equal(t, first.Champion, x.Finish().Champion)
			assert.Equal(t, first.FinalStandings, x.Final.FinalStandings)
			x.Kill()
		}
		assert.Equal(t, before, read())
		assert.Equal(t, calls, countCalls(w), "no further calls")
	})
}

func TestMissingFilesOfACompletedLeagueAreRestored(t *testing.T) {
	for _, test := range []struct {
		name string
		harm func(standings, rounds string) error
	}{
		{"no standings", func(standings, _ string) error { return os.Remove(standings) }},
		{"no rounds", func(_, rounds string) error { return os.Remove(rounds) }},
		{"damaged standings", func(standings, _ string) error { return os.Truncate(standings, 100) }},
		{"damaged rounds", func(_, rounds string) error { return os.Truncate(rounds, 100) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 4, 1)
				w.Referee("REF01")
				w.Players(4)
				x.Finish()
				x.Kill()
				require.NoError(t, test.harm(folder.Standings(leaguetest.LeagueID), folder.Rounds(leaguetest.LeagueID)))
				x = w.StartManagerIn(folder, 4, 1)
				x.Finish()
				x.Kill()
				w.CheckFiles(folder)
			})
		})
	}
}

// An agent that is unreachable at the end learns it once after its return, from this manager
// or the next one.
func TestReturningAgentLearnsThatTheLeagueIsOver(t *testing.T) {
	for _, test := range []struct {
		name string
		next bool // by the next manager
	}{{"the agent returns while the manager waits", false}, {"the agent returns after a restart of the manager", true}} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 2, 1)
				w.Referee("REF01")
				w.Player("P01")
				absent := true
				away := w.Player("P02", leaguetest.On(protocol.NotifyLeagueCompleted.Name, func(c *leaguetest.Call) (jsontext.Value, error) {
					if absent {
						return nil, leaguetest.ErrHangUp
					}
					return c.OwnAnswer()
				}))
				x.Finish()
				informed := func() int {
					kinds := w.EventTypes(folder)
					return len(kinds) - 1 - slices.Index(kinds, "completed")
				}
				require.Equal(t, 2, informed())
				if test.next {
					x.Kill()
					x = w.StartManagerIn(folder, 2, 1)
					x.Finish() // P02 is still unreachable
					require.Equal(t, 2, informed())
				}
				calls := w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02")
				absent = false
				for range 2 { // it re-registers twice before it learns that the league is over
					require.NoError(t, away.Player.Register(w.Context))
				}
				lingering := w.InBackground(func() { x.Manager.Linger(w.Context) })
				synctest.Wait()
				assert.Equal(t, calls+1, w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02"), "the first two return one notification")
				require.NoError(t, away.Player.Register(w.Context))
				synctest.Wait()
				assert.Equal(t, calls+2, w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02"), "an agent that re-registers may have forgotten it")
				assert.True(t, leaguetest.IsClosed(away.Player.Done()))
				assert.Equal(t, 3, informed())
				w.Cancel()
				<-lingering
			})
		})
	}
}
