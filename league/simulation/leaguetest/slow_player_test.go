package leaguetest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// A player that does not answer a notification does not delay those to other agents. The
// next announcement to it waits, and the round waits at most 10 s for that.
func TestHangingPlayerDoesNotDelayOtherNotifications(t *testing.T) {
	for _, method := range []string{protocol.UpdateStandings.Name, protocol.NotifyRoundCompleted.Name} {
		t.Run(method, func(t *testing.T) {
			leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(2, 1, func(o *manager.Options) { o.Legs = 2 })
				w.Referee("REF01")
				w.Player("P01")
				w.Player("P02", leaguetest.On(method, leaguetest.Silent))
				w.Finish()
				assert.Equal(t, []int{0, 10}, leaguetest.Seconds(w.Calls(protocol.StartMatch.Name)))
				for _, host := range []string{"p01", "ref01"} {
					assert.Equal(t, []int{0, 10}, leaguetest.Seconds(w.Calls(protocol.NotifyRoundCompleted.Name, host)))
					assert.Equal(t, []int{10}, leaguetest.Seconds(w.Calls(protocol.NotifyLeagueCompleted.Name, host)))
				}
				assert.Equal(t, []int{0, 10}, leaguetest.Seconds(w.Calls(protocol.UpdateStandings.Name, "p01")))
				assert.Equal(t, []int{0, 0}, leaguetest.Seconds(w.Calls(protocol.NotifyRound.Name, "p01")))
				assert.Equal(t, []int{0}, leaguetest.Seconds(w.Calls(protocol.NotifyRound.Name, "p02")), "an outdated notification is not sent")
				assert.Equal(t, []int{20}, leaguetest.Seconds(w.Calls(protocol.NotifyLeagueCompleted.Name, "p02")), "every agent gets LEAGUE_COMPLETED")
				assert.Len(t, w.Manager.Results(), 2)
			})
		})
	}
}

func TestLeagueCompletedIsRetried(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts leaguetest.Reply
		at    []int
		over  int // when the manager's Run returns
	}{
		{"the agent closes connections", leaguetest.FailWith(leaguetest.ErrHangUp), []int{0, 2, 6, 14}, 25},
		{"the agent hangs", leaguetest.Silent, []int{0, 12}, 25},
		{"the agent closes two connections", leaguetest.FirstN(2, leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Normally), []int{0, 2, 6}, 6},
		{"the agent answers with an error", leaguetest.RefuseWith(protocol.ErrTokenInvalid), []int{0, 2, 6}, 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(2, 1)
				w.Referee("REF01")
				w.Player("P01")
				w.Player("P02", leaguetest.On(protocol.NotifyLeagueCompleted.Name, test.parts))
				w.Finish()
				assert.Equal(t, test.over, int(w.Now()/leaguetest.Second))
				assert.Equal(t, test.at, leaguetest.Seconds(w.Calls(protocol.NotifyLeagueCompleted.Name, "p02")))
				assert.Equal(t, []int{0}, leaguetest.Seconds(w.Calls(protocol.NotifyLeagueCompleted.Name, "p01")))
				assert.Equal(t, []int{0}, leaguetest.Seconds(w.Calls(protocol.NotifyLeagueCompleted.Name, "ref01")))
			})
		})
	}
}
