package conversations

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// everything is how many calls were made.
func (w *world) everything() int { return len(w.record.all(func(*exchange) bool { return true })) }

// A league that is over stays as it is, however often its manager is started.
func TestALeagueThatIsOverIsStartedAgain(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 4, 1)
		w.referee("REF01")
		w.players(4)
		first := x.finish()
		require.NoError(t, x.close())
		x.actor.stop()
		w.checkKept(folder)
		read := func() []string {
			standings, err := os.ReadFile(folder.Standings(leagueID))
			require.NoError(t, err)
			rounds, err := os.ReadFile(folder.Rounds(leagueID))
			require.NoError(t, err)
			return []string{string(standings), string(rounds), string(journalOf(w, folder))}
		}
		before, said := read(), w.everything()
		for range 2 {
			w.at(w.now() + second)
			x = w.tenure(folder, 4, 1)
			assert.Equal(t, first.Champion, x.finish().Champion)
			assert.Equal(t, first.FinalStandings, x.final.FinalStandings)
			x.kill()
		}
		assert.Equal(t, before, read())
		assert.Equal(t, said, w.everything(), "nothing is said")
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
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				x := w.tenure(folder, 4, 1)
				w.referee("REF01")
				w.players(4)
				x.finish()
				x.kill()
				require.NoError(t, test.harm(folder.Standings(leagueID), folder.Rounds(leagueID)))
				x = w.tenure(folder, 4, 1)
				x.finish()
				x.kill()
				w.checkKept(folder)
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
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				x := w.tenure(folder, 2, 1)
				w.referee("REF01")
				w.player("P01")
				absent := true
				away := w.player("P02", does(protocol.NotifyLeagueCompleted.Name, func(c *call) (jsontext.Value, error) {
					if absent {
						return nil, errHangUp
					}
					return c.answer()
				}))
				x.finish()
				informed := func() int {
					kinds := w.kinds(folder)
					return len(kinds) - 1 - slices.Index(kinds, "completed")
				}
				require.Equal(t, 2, informed())
				if test.next {
					x.kill()
					x = w.tenure(folder, 2, 1)
					x.finish() // it is still away
					require.Equal(t, 2, informed())
				}
				tries := w.often(protocol.NotifyLeagueCompleted.Name, "p02")
				absent = false
				for range 2 { // it asks again before it is told
					require.NoError(t, away.player.Register(w.life))
				}
				lingering := w.meanwhile(func() { x.manager.Linger(w.life) })
				synctest.Wait()
				assert.Equal(t, tries+1, w.often(protocol.NotifyLeagueCompleted.Name, "p02"), "it is told once")
				require.NoError(t, away.player.Register(w.life))
				synctest.Wait()
				assert.Equal(t, tries+2, w.often(protocol.NotifyLeagueCompleted.Name, "p02"), "one that comes back may have forgotten it")
				assert.True(t, ended(away.player.Done()))
				assert.Equal(t, 3, informed())
				w.end()
				<-lingering
			})
		})
	}
}
