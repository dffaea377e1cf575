package league_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/leaguetest"
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
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Players(2)
		greedy, modest := w.Query("P01", protocol.QueryStatus), w.Query("P02", protocol.QueryStatus)
		for range 100 {
			_, err := greedy.Send()
			require.NoError(t, err)
		}
		_, err := greedy.Send()
		wait := limited(t, err)
		assert.Equal(t, leaguetest.Second, wait, "20 a second: whole seconds are told")
		_, err = protocol.GetStandings.Call(w.Context, w.Untrusted, w.ManagerPeer(), &protocol.ToolRequest{Envelope: greedy.Envelope})
		limited(t, err)
		_, err = modest.Send()
		require.NoError(t, err, "others are not held up")
		w.WaitUntil(w.Now() + wait)
		for range 20 {
			_, err = greedy.Send()
			require.NoError(t, err)
		}
		_, err = greedy.Send()
		limited(t, err)
	})
}

// A referee may say the same result again, but not without end; the first
// report of a match is never held up.
func TestAReportThatIsRepeatedWithoutEnd(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 1)
		w.Referee("REF01", w.OnlyAccepting())
		w.Players(4)
		w.WaitUntil(leaguetest.Second)
		for range 101 {
			_, err := w.Report(w.WinReport("REF01"))
			require.NoError(t, err)
		}
		_, err := w.Report(w.WinReport("REF01"))
		limited(t, err)
		other := w.WinReport("REF01")
		other.Result.Winner = nil
		_, err = w.Report(other)
		limited(t, err)
		second := w.ReportOf("REF01", "R1M2", nil, "P03", "P04", 1, 1)
		_, err = w.Report(second)
		require.NoError(t, err, "what the league waits for")
		assert.Equal(t, 2, w.Manager.Status().Recorded)
	})
}

// Nor does one that registers again and again without end.
func TestAnAgentThatComesBackWithoutEnd(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.PingOnly("alpha")
		q := w.Application("Alpha")
		first, err := w.Apply(q)
		require.NoError(t, err)
		q.AuthToken = first.AuthToken
		for range 100 {
			_, err = w.Apply(q)
			require.NoError(t, err)
		}
		_, err = w.Apply(q)
		assert.Equal(t, leaguetest.Second, limited(t, err))
	})
}

// An agent that moves again and again does not fill the journal.
func TestAnAgentThatMovesWithoutEnd(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 0, 1)
		w.PingOnly("alpha")
		q := w.Application("Alpha")
		first, err := w.Apply(q)
		require.NoError(t, err)
		q.AuthToken = first.AuthToken
		moved, wait := 0, time.Duration(0)
		for i := range 30 {
			w.Agents()[len(w.Agents())-1].Stop()
			host := fmt.Sprintf("alpha%d", i)
			w.PingOnly(host)
			q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf(host)
			if _, err = w.Apply(q); err != nil {
				wait = limited(t, err)
				break
			}
			moved++
		}
		assert.Equal(t, 20, moved)
		assert.Equal(t, 10*leaguetest.Second, wait)
		w.WaitUntil(w.Now() + wait)
		_, err = w.Apply(q)
		require.NoError(t, err, "it may move when it has waited")
		x.Kill()
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

// A player that was shut down is throttled like any other agent that registers again.
func TestAgentThatWasShutDownIsThrottled(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1, func(o *league.Options) { o.Legs, o.SuspendAfter, o.ShutdownAfter = 2, -1, 1 })
		w.Referee("REF01")
		w.Player("P01")
		w.Player("P02", leaguetest.On(protocol.Invite.Name, leaguetest.Silent))
		w.Finish()
		q := w.Application("Agent P02")
		q.PlayerMeta.ContactEndpoint, q.AuthToken = leaguetest.EndpointOf("p02"), w.Token("P02")
		for range 100 {
			answer, err := w.Apply(q)
			require.NoError(t, err)
			require.Equal(t, string(protocol.ErrNotAuthorized), answer.ErrorCode)
		}
		_, err := w.Apply(q)
		limited(t, err)
	})
}

func TestReportsAboutAnotherLeagueAreNotThrottled(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01", w.OnlyAccepting())
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		q := w.WinReport("REF01")
		q.LeagueID = "another_league"
		for range 150 {
			_, err := w.Report(q)
			leaguetest.AssertRefused(t, err, protocol.ErrLeagueNotFound, 6003)
		}
	})
}
