package conversations

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

// However long the pause between rounds is, everybody hears at its beginning how
// the round before went.
func TestThePauseBeforeARound(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(4, 1, func(o *league.Options) { o.Pace = 30 * second })
		w.referee("REF01")
		w.players(4)
		w.finish()
		for _, host := range []string{"p01", "p02", "p03", "p04"} {
			assert.Equal(t, []int{30, 60, 90}, secondsOf(w.said(protocol.NotifyRound.Name, host)))
			assert.Equal(t, []int{30, 60, 90}, secondsOf(w.said(protocol.UpdateStandings.Name, host)), "the table, at the end of each round")
			assert.Equal(t, []int{30, 60, 90}, secondsOf(w.said(protocol.NotifyRoundCompleted.Name, host)))
		}
		assert.Equal(t, []int{30, 60, 90}, secondsOf(w.said(protocol.NotifyRoundCompleted.Name, "ref01")))
	})
}

func secondsOf(calls []exchange) []int {
	list := make([]int, len(calls))
	for i := range calls {
		list[i] = int(calls[i].at / second)
	}
	return list
}

// A manager that comes back says once more how the round before went, however
// long its first pause is.
func TestThePauseAfterAResumption(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		paced := func(o *league.Options) { o.Pace = 30 * second }
		x := w.tenure(folder, 4, 1, paced)
		w.referee("REF01")
		w.players(4)
		w.at(40 * second) // between the first round and the second
		x.kill()
		w.at(50 * second)
		x = w.tenure(folder, 4, 1, paced)
		x.finish()
		assert.Equal(t, []int{30, 80, 110}, secondsOf(w.said(protocol.NotifyRound.Name, "p01")))
		assert.Equal(t, []int{30, 50, 80, 110}, secondsOf(w.said(protocol.UpdateStandings.Name, "p01")))
		assert.Equal(t, []int{30, 50, 80, 110}, secondsOf(w.said(protocol.NotifyRoundCompleted.Name, "ref01")))
		require.NoError(t, x.close())
		w.checkKept(folder)
	})
}

// A manager that is told to stop lets the matches end that have begun, and
// hands out no other.
func TestAManagerThatIsToldToStop(t *testing.T) {
	for _, test := range []struct {
		name     string
		patience int // seconds
		began    int // matches
		recorded int
		stopped  int // at that second
		attempts int
	}{
		{"the running match ends", 10, 1, 1, 4, 1},
		{"unless it takes too long", 1, 1, 0, 2, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder, files := folderOf(t), folderOf(t)
				x, o := w.accession(fate{}, folder, 4, 1)
				o.StopWithin, o.Concurrency = protocol.Seconds(float64(test.patience)), 1
				require.NoError(t, x.reign(o))
				w.writer("REF01", files)
				w.players(4, slow(0, 4*second, 0))
				w.at(1 * second)
				x.cancel()
				<-x.over
				assert.Equal(t, test.stopped, int(w.now()/second))
				require.ErrorIs(t, x.failed, context.Canceled)
				assert.Nil(t, x.final)
				assert.Len(t, w.said(protocol.StartMatch.Name), test.began)
				assert.Equal(t, test.recorded, x.manager.Status().Recorded)
				x.kill()

				x = w.tenure(folder, 4, 1)
				x.finish()
				synctest.Wait()
				require.NoError(t, x.close())
				state := w.checkKept(folder)
				for m := range state.Matches() {
					assert.Len(t, m.Attempts, test.attempts)
				}
				assert.Len(t, w.said(protocol.Invite.Name), 12)
			})
		})
	}
}

// A referee that takes longer than the longest match loses it, whatever the
// manager has computed.
func TestTheLongestMatch(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 2, func(o *league.Options) { o.LongestMatch = 20 * second })
		w.referee("REF01", w.idle())
		w.referee("REF02")
		w.players(2)
		w.finish()
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 20s"}, w.assignments())
	})
}
