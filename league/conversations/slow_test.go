package conversations

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/protocol"
)

func TestAPlayerThatHangsWhenARoundIsAnnounced(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 1, func(o *league.Options) { o.Legs = 2 })
		w.referee("REF01")
		w.player("P01")
		w.player("P02", does(protocol.NotifyRound.Name, silent))
		w.finish()
		assert.Equal(t, []int{10, 20}, seconds(w.said(protocol.StartMatch.Name)), "10 s a round, and no more")
		assert.Equal(t, []int{0, 10}, seconds(w.said(protocol.NotifyRound.Name, "p01")))
		assert.Len(t, w.manager.Results(), 2)
		for _, r := range w.manager.Results() {
			assert.NotEqual(t, protocol.StatusTechnicalLoss, r.Status, "it plays all the same")
		}
	})
}

func TestAPlayerThatRefusesAnnouncementsDelaysNobody(t *testing.T) {
	for name, refusal := range map[string]part{
		"with an error":             refusing(protocol.ErrTokenInvalid),
		"by closing the connection": failing(errHangUp),
	} {
		t.Run(name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(2, 1)
				w.referee("REF01")
				w.player("P01")
				w.player("P02", does(protocol.NotifyRound.Name, refusal), does(protocol.UpdateStandings.Name, refusal),
					does(protocol.NotifyRoundCompleted.Name, refusal))
				w.finish()
				assert.Zero(t, w.now())
				assert.Len(t, w.manager.Results(), 1)
			})
		})
	}
}

// A player that hangs in one of the notices nobody waits for costs the others
// nothing of what they are told. The next announcement to it waits behind, and
// that may cost the 10 s which any announcement may.
func TestAPlayerThatHangsWhenItIsToldTheStandings(t *testing.T) {
	for _, method := range []string{protocol.UpdateStandings.Name, protocol.NotifyRoundCompleted.Name} {
		t.Run(method, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(2, 1, func(o *league.Options) { o.Legs = 2 })
				w.referee("REF01")
				w.player("P01")
				w.player("P02", does(method, silent))
				w.finish()
				assert.Equal(t, []int{0, 10}, seconds(w.said(protocol.StartMatch.Name)))
				for _, host := range []string{"p01", "ref01"} {
					assert.Equal(t, []int{0, 10}, seconds(w.said(protocol.NotifyRoundCompleted.Name, host)))
					assert.Equal(t, []int{10}, seconds(w.said(protocol.NotifyLeagueCompleted.Name, host)))
				}
				assert.Equal(t, []int{0, 10}, seconds(w.said(protocol.UpdateStandings.Name, "p01")))
				assert.Equal(t, []int{0, 0}, seconds(w.said(protocol.NotifyRound.Name, "p01")))
				assert.Equal(t, []int{0}, seconds(w.said(protocol.NotifyRound.Name, "p02")), "what is too late is not sent")
				assert.Equal(t, []int{20}, seconds(w.said(protocol.NotifyLeagueCompleted.Name, "p02")), "the end is told to everybody")
				assert.Len(t, w.manager.Results(), 2)
			})
		})
	}
}

func TestTheEndIsToldAgainWhereNobodyAnswers(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts part
		at    []int
		over  int // when the manager's Run returns
	}{
		{"nobody is there", failing(errHangUp), []int{0, 2, 6, 14}, 14},
		{"the agent hangs", silent, []int{0, 12, 26, 44}, 54},
		{"the agent is away twice", nTimes(2, failing(errHangUp), honestly), []int{0, 2, 6}, 6},
		{"the agent refuses", refusing(protocol.ErrTokenInvalid), []int{0}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(2, 1)
				w.referee("REF01")
				w.player("P01")
				w.player("P02", does(protocol.NotifyLeagueCompleted.Name, test.parts))
				w.finish()
				assert.Equal(t, test.over, int(w.now()/second))
				assert.Equal(t, test.at, seconds(w.said(protocol.NotifyLeagueCompleted.Name, "p02")))
				assert.Equal(t, []int{0}, seconds(w.said(protocol.NotifyLeagueCompleted.Name, "p01")))
				assert.Equal(t, []int{0}, seconds(w.said(protocol.NotifyLeagueCompleted.Name, "ref01")))
			})
		})
	}
}
