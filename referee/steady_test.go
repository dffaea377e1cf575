package referee_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// The wall clock of the referee is set back by an hour, then forward by a second more. The times of the match go on as the
// monotonic clock does, until the wall clock is ahead.
func TestTimesOfAMatchAreNeverSetBack(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, manager := leaguetest.TempFolder(t), w.ScriptedManager()
		r := w.RefereeWithFiles("REF01", folder, leaguetest.WithClock(0, leaguetest.Jump{At: 2 * time.Second, By: -time.Hour},
			leaguetest.Jump{At: 6 * time.Second, By: time.Hour + time.Second}))
		slow := leaguetest.WithDelays(4*time.Second, 4*time.Second, 0)
		w.Player("P01", slow)
		w.Player("P02", slow)
		w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(time.Minute)
		var times []time.Duration
		transcript := leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile).Transcript
		begun, err := protocol.ParseTimestamp(transcript[0].At)
		require.NoError(t, err)
		for _, x := range transcript {
			at, err := protocol.ParseTimestamp(x.At)
			require.NoError(t, err)
			if x.PlayerID == "P01" {
				times = append(times, at.Sub(begun))
			}
		}
		const later = 9 * time.Second
		assert.Equal(t, []time.Duration{0, 4 * time.Second, 4 * time.Second, later, later, later}, times)
	})
}
