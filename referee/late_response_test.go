package referee_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/referee"
)

// A suspension simulates a referee whose process stops, or whose machine sleeps, while the
// response to a question for a move is under way to it: the referee reads it later.
type suspension struct {
	stopped time.Duration // the process stops after the response arrived
	asleep  time.Duration // so long the wall clock goes on and the monotonic clock does not
}

// A suspendedCarrier suspends the referee once, with the first response of P02 to a question
// for a move.
type suspendedCarrier struct {
	next       protocol.Caller
	suspension suspension
	done       atomic.Bool
	asleep     atomic.Int64 // how much the wall clock has gone on
}

func (c *suspendedCarrier) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	answer, timing, err := c.next.Call(ctx, r)
	asked := r.Method == protocol.ChooseParity.Name && leaguetest.HostOf(r.Endpoint) == "p02"
	if asked && c.done.CompareAndSwap(false, true) {
		c.asleep.Store(int64(c.suspension.asleep))
		<-time.After(c.suspension.stopped)
	}
	return answer, timing, err
}

// clock returns the wall clock of the machine.
func (c *suspendedCarrier) clock() *protocol.Clock {
	return protocol.NewClock(func() time.Time {
		return time.Now().Round(0).Add(time.Duration(c.asleep.Load()))
	}, protocol.SystemClock().Sleep)
}

// A response that a referee reads too late says nothing about the player; league/conduct has the rule, to the
// millisecond. Here the referee measures when it reads the response, by both clocks, asks again, and writes what the
// audit accepts.
func TestResponseThatTheRefereeReadsTooLateIsVoid(t *testing.T) {
	const window = 30 * leaguetest.Second
	second := leaguetest.Delayed(leaguetest.Second, leaguetest.Normally)
	for _, test := range []struct {
		name    string
		answers leaguetest.Reply // of P02, after 1 s
		suspension
		void  string // of the first attempt; "" if it counts
		asked int
	}{
		{"process goes on within the tolerance", second, suspension{stopped: window}, "", 1},
		{"process stops for 40 s", second, suspension{stopped: 40 * leaguetest.Second}, "the referee read the response 11s after the deadline", 2},
		{
			"wrong answer", leaguetest.InTurn(leaguetest.Delayed(leaguetest.Second, leaguetest.EditAnswer("parity_choice", "seven")), leaguetest.Normally),
			suspension{stopped: 40 * leaguetest.Second}, "the referee read the response 11s after the deadline", 2,
		},
		{
			"broken connection", leaguetest.InTurn(leaguetest.Delayed(leaguetest.Second, leaguetest.FailWith(leaguetest.ErrHangUp)), leaguetest.Normally),
			suspension{stopped: 40 * leaguetest.Second}, "the referee read the response 11s after the deadline", 2,
		},
		{
			"machine sleeps for an hour, no answer", leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally),
			suspension{asleep: time.Hour}, "the referee stalled for 1h0m0s when the time to answer ended", 2,
		},
		{
			"process stops for 40 s, no answer", leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally),
			suspension{stopped: 40 * leaguetest.Second}, "the referee stalled for 40s when the time to answer ended", 2,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 2, 1)
				carrier := &suspendedCarrier{suspension: test.suspension}
				r := w.RefereeWith("REF01", nil, func(o *referee.Options) {
					carrier.next = o.Caller
					o.ID, o.Folder, o.Caller, o.Clock = "REF01", folder, carrier, carrier.clock()
				})
				require.NoError(t, r.Referee.Register(w.Context))
				w.Player("P01")
				w.Player("P02", leaguetest.On(protocol.ChooseParity.Name, test.answers))
				x.Finish()
				assert.Empty(t, w.GameErrors())
				assert.NotEqual(t, league.StatusTechnicalLoss, leaguetest.Results(w.Manager)[0].Status)
				assert.Len(t, w.Calls(protocol.ChooseParity.Name, "p02"), test.asked)
				require.NoError(t, x.CloseFiles())
				w.CheckAudited(folder)
				doc, err := folder.LoadMatch(leaguetest.LeagueID, "R1M1")
				require.NoError(t, err)
				assert.Equal(t, test.void, firstVoid(doc))
			})
		})
	}
}

// firstVoid returns why the first void attempt of a match is void; "" for none.
func firstVoid(doc *store.Match) string {
	for i := range doc.Transcript {
		if void := doc.Transcript[i].Void; void != "" {
			return void
		}
	}
	return ""
}
