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

// everything is how many calls were made.
func everything(w *leaguetest.World) int {
	return len(w.Recorder.All(func(*leaguetest.Exchange) bool { return true }))
}

// A league that is over stays as it is, however often its manager is started.
func TestALeagueThatIsOverIsStartedAgain(t *testing.T) {
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
		before, said := read(), everything(w)
		for range 2 {
			w.WaitUntil(w.Now() + leaguetest.Second)
			x = w.StartManagerIn(folder, 4, 1)
			assert.Equal(t, first.Champion, x.Finish().Champion)
			assert.Equal(t, first.FinalStandings, x.Final.FinalStandings)
			x.Kill()
		}
		assert.Equal(t, before, read())
		assert.Equal(t, said, everything(w), "nothing is said")
	})
}

// The files of a league that is over are mended from its journal.
func TestFilesThatWereNotWrittenAtTheEnd(t *testing.T) {
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

// An agent that is away at the end is told when it is back, by this manager or
// the next, and once.
func TestAnAgentThatIsAwayAtTheEnd(t *testing.T) {
	for _, test := range []struct {
		name string
		next bool // by the next manager
	}{{"back while the manager lingers", false}, {"back when the manager is started again", true}} {
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
					x.Finish() // it is still away
					require.Equal(t, 2, informed())
				}
				tries := w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02")
				absent = false
				for range 2 { // it asks again before it is told
					require.NoError(t, away.Player.Register(w.Context))
				}
				lingering := w.InBackground(func() { x.Manager.Linger(w.Context) })
				synctest.Wait()
				assert.Equal(t, tries+1, w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02"), "it is told once")
				require.NoError(t, away.Player.Register(w.Context))
				synctest.Wait()
				assert.Equal(t, tries+2, w.CountCalls(protocol.NotifyLeagueCompleted.Name, "p02"), "one that comes back may have forgotten it")
				assert.True(t, leaguetest.IsClosed(away.Player.Done()))
				assert.Equal(t, 3, informed())
				w.Cancel()
				<-lingering
			})
		})
	}
}
