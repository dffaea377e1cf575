package leaguetest

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/manager"
	"evenodd/league/protocol"
)

// TestWallClockOfAnAgentJumps also checks the layout of time.Time, on which timeOf relies.
func TestWallClockOfAnAgentJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, Memory, zerolog.Nop())
		c := w.ClockOf(NewAgent("P01", Options(
			WithClock(3*time.Hour, Jump{10 * Second, -time.Hour}, Jump{20 * Second, 100 * 365 * 24 * time.Hour}))))
		first := c.Now()
		assert.Equal(t, 3*time.Hour, first.Round(0).Sub(time.Now().Round(0)))
		assert.Contains(t, first.String(), " m=", "it has no monotonic clock")
		time.Sleep(10 * Second)
		assert.Equal(t, 2*time.Hour, c.Now().Round(0).Sub(time.Now().Round(0)))
		assert.Equal(t, 10*Second, c.Now().Sub(first), "the jump is measured")
		time.Sleep(10 * Second)
		assert.Equal(t, 2099, c.Now().Year())
		assert.Equal(t, 20*Second, c.Now().Sub(first))
	})
}

// TestPausesHoldAnAgent pauses a player from 10 s to 20 s, and from 15 s to 30 s.
func TestPausesHoldAnAgent(t *testing.T) {
	slow := On(protocol.Ping.Name, Delayed(2*Second, Normally))
	for _, tt := range []struct {
		name     string
		at, ends time.Duration
		act      func(w *World, paused, other *Agent)
	}{
		{"a call from it waits", 12 * Second, 32 * Second, func(w *World, a, b *Agent) { w.pings(a, b) }},
		{"a call to it waits", 12 * Second, 30 * Second, func(w *World, a, b *Agent) { w.pings(b, a) }},
		{"an answer to it waits", 9 * Second, 30 * Second, func(w *World, a, b *Agent) { w.pings(a, b) }},
		{"a timer of it waits", 9 * Second, 30 * Second, func(w *World, a, _ *Agent) {
			assert.NoError(w.T, w.ClockOf(a).Sleep(w.Context, 2*Second))
		}},
		{"nothing waits before", 7 * Second, 9 * Second, func(w *World, a, b *Agent) { w.pings(a, b) }},
		{"nothing waits after it", 30 * Second, 32 * Second, func(w *World, a, b *Agent) { w.pings(a, b) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, Memory, zerolog.Nop())
				paused := w.NewPlayer("P01", WithPauses(Pause{10 * Second, 10 * Second}, Pause{15 * Second, 15 * Second}))
				other := w.NewPlayer("P02", slow)
				w.WaitUntil(tt.at)
				tt.act(w, paused, other)
				assert.Equal(t, tt.ends, w.Now())
			})
		})
	}
}

// The end of a league is told for less than half a minute, although the clock is set back by hours between the last
// event and that.
func TestEndIsNotToldForHoursAfterTheClockIsSetBack(t *testing.T) {
	InMemory(t, func(t *testing.T, w *World) {
		folder := TempFolder(t)
		now := func() time.Time {
			if slices.Contains(w.EventTypes(folder), "round_completed") {
				return timeOf(w.Clock.Now().Add(-3*time.Hour), w.Now())
			}
			return timeOf(w.Clock.Now(), w.Now())
		}
		x := w.StartManagerIn(folder, 2, 1, func(o *manager.Options) { o.Clock = protocol.NewClock(now, w.Clock.Sleep) })
		w.RefereeWithFiles("REF01", folder)
		w.Player("P01")
		w.Player("P02", On(protocol.NotifyLeagueCompleted.Name, Silent))
		x.Finish()
		require.NoError(t, x.CloseFiles())
		assert.Less(t, w.Now(), time.Minute)
		w.CheckAudited(folder)
	})
}

// pings makes an agent ping another one.
func (w *World) pings(from, to *Agent) {
	_, _, err := protocol.Ping.CallWithin(w.Context, from.Caller, protocol.Peer{Endpoint: EndpointOf(to.Host)},
		&protocol.ToolRequest{}, time.Minute)
	assert.NoError(w.T, err)
}
