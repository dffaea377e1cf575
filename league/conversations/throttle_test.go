package conversations

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// limited asserts that a call was refused for coming too soon, and is how long
// to wait.
func limited(t *testing.T, err error) time.Duration {
	t.Helper()
	e := protocol.AsError(err)
	require.NotNil(t, e, "a refusal, not %v", err)
	require.Equal(t, protocol.ErrRateLimited, e.Code)
	require.True(t, e.Code.Retryable())
	require.Positive(t, e.RetryAfter())
	return e.RetryAfter()
}

// An agent that asks without end is told to wait, and how long; it alone.
func TestAnAgentThatAsksWithoutEnd(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		w.players(2)
		greedy, modest := w.query("P01", protocol.QueryStatus), w.query("P02", protocol.QueryStatus)
		for range 100 {
			_, err := greedy.send()
			require.NoError(t, err)
		}
		_, err := greedy.send()
		wait := limited(t, err)
		assert.Equal(t, second, wait, "20 a second: whole seconds are told")
		_, err = protocol.GetStandings.Call(w.life, w.stranger, w.manage(), &protocol.ToolRequest{Envelope: greedy.Envelope})
		limited(t, err)
		_, err = modest.send()
		require.NoError(t, err, "others are not held up")
		w.at(w.now() + wait)
		for range 20 {
			_, err = greedy.send()
			require.NoError(t, err)
		}
		_, err = greedy.send()
		limited(t, err)
	})
}

// A referee may say the same result again, but not without end; the first
// report of a match is never held up.
func TestAReportThatIsRepeatedWithoutEnd(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(4, 1)
		w.referee("REF01", w.idle())
		w.players(4)
		w.at(second)
		for range 101 {
			_, err := w.report(w.wins("REF01"))
			require.NoError(t, err)
		}
		_, err := w.report(w.wins("REF01"))
		limited(t, err)
		other := w.wins("REF01")
		other.Result.Winner = nil
		_, err = w.report(other)
		limited(t, err)
		second := w.verdict("REF01", "R1M2", nil, "P03", "P04", 1, 1)
		_, err = w.report(second)
		require.NoError(t, err, "what the league waits for")
		assert.Equal(t, 2, w.manager.Status().Recorded)
	})
}

// Nor does one that registers again and again without end.
func TestAnAgentThatComesBackWithoutEnd(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		w.listener("alpha")
		q := w.application("Alpha")
		first, err := w.apply(q)
		require.NoError(t, err)
		q.AuthToken = first.AuthToken
		for range 100 {
			_, err = w.apply(q)
			require.NoError(t, err)
		}
		_, err = w.apply(q)
		assert.Equal(t, second, limited(t, err))
	})
}

// An agent that moves again and again does not fill the journal.
func TestAnAgentThatMovesWithoutEnd(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 0, 1)
		w.listener("alpha")
		q := w.application("Alpha")
		first, err := w.apply(q)
		require.NoError(t, err)
		q.AuthToken = first.AuthToken
		moved, wait := 0, time.Duration(0)
		for i := range 30 {
			w.everybody()[len(w.everybody())-1].stop()
			host := fmt.Sprintf("alpha%d", i)
			w.listener(host)
			q.PlayerMeta.ContactEndpoint = endpointOf(host)
			if _, err = w.apply(q); err != nil {
				wait = limited(t, err)
				break
			}
			moved++
		}
		assert.Equal(t, 20, moved)
		assert.Equal(t, 10*second, wait)
		w.at(w.now() + wait)
		_, err = w.apply(q)
		require.NoError(t, err, "it may move when it has waited")
		x.kill()
	})
}

// forbidden is a call that was not made: the address is not called.
type forbidden struct{}

func (forbidden) Error() string   { return "10.0.0.7 is not an allowed address" }
func (forbidden) Forbidden() bool { return true }

// never makes no call.
type never struct{ because error }

func (n never) Call(context.Context, protocol.CallRequest) (any, *protocol.CallTiming, error) {
	return nil, nil, n.because
}
