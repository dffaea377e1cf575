package manager_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// An agent that refuses every broadcast costs one WARN for each cause in a round, and their number at its end.
func TestFailedBroadcastsAreCountedInEachRound(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		var log leaguetest.LogBuffer
		w.StartManager(4, 1, func(o *league.Options) { o.Log, o.EveryMatch = zerolog.New(&log), true })
		w.Referee("REF01", leaguetest.On(protocol.NotifyRoundCompleted.Name, leaguetest.RefuseWith(protocol.ErrTokenInvalid)))
		w.Player("P01")
		w.Player("P02",
			leaguetest.On(protocol.UpdateStandings.Name, leaguetest.RefuseWith(protocol.ErrTokenInvalid)),
			leaguetest.On(protocol.NotifyRoundCompleted.Name, leaguetest.RefuseWith(protocol.ErrInvalidMatchState)))
		w.Player("P03")
		w.Player("P04")
		w.Finish()
		failed := map[string]int{} // calls
		for _, c := range w.Calls(protocol.UpdateStandings.Name, "p02") {
			require.Error(t, c.Err)
			failed["P02 E012"]++
		}
		failed["P02 E008"] = len(w.Calls(protocol.NotifyRoundCompleted.Name, "p02"))
		failed["REF01 E012"] = len(w.Calls(protocol.NotifyRoundCompleted.Name, "ref01"))
		require.Equal(t, map[string]int{"P02 E012": 9, "P02 E008": 3, "REF01 E012": 3}, failed)

		lines, seen := map[string]int{}, map[string]int{}
		for line := range strings.Lines(log.Text()) {
			var l struct {
				Level  string         `json:"level"`
				Event  string         `json:"event_type"`
				ID     string         `json:"id"`
				Error  string         `json:"error"`
				Counts map[string]int `json:"counts"`
			}
			require.NoError(t, json.Unmarshal([]byte(line), &l))
			switch l.Event {
			case protocol.EventBroadcastUnacknowledged:
				lines[l.ID+" "+l.Error[:4]]++
				seen[l.ID+" "+l.Error[:4]]++
			case protocol.EventBroadcastsCounted:
				assert.Equal(t, "warn", l.Level)
				for key, n := range l.Counts {
					seen[key] += n - 1 // the first has a line
				}
			}
		}
		assert.Equal(t, failed, seen, "each failure has a line or is counted")
		for key, n := range lines {
			assert.LessOrEqual(t, n, 4, "%s: three rounds, and the end of the league", key)
		}
	})
}
