package manager_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// assertRateLimited asserts that a call was refused with RATE_LIMITED, and returns the retry
// delay.
func assertRateLimited(t *testing.T, err error) time.Duration {
	t.Helper()
	e := protocol.AsError(err)
	require.NotNil(t, e, "want a refusal, got %v", err)
	require.Equal(t, protocol.ErrRateLimited, e.Code)
	require.True(t, e.Code.Retryable())
	require.Positive(t, e.RetryAfter())
	return e.RetryAfter()
}

// An agent with too many queries is refused with a retry delay; other agents are not
// affected.
func TestQueriesAreRateLimitedByAgent(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Players(2)
		greedy, modest := w.Query("P01", protocol.QueryStatus), w.Query("P02", protocol.QueryStatus)
		for range 100 {
			_, err := greedy.Send()
			require.NoError(t, err)
		}
		_, err := greedy.Send()
		wait := assertRateLimited(t, err)
		assert.Equal(t, leaguetest.Second, wait, "20 a second, rounded up to whole seconds")
		_, err = protocol.GetStandings.Call(w.Context, w.Untrusted, w.ManagerPeer(), &protocol.ToolRequest{Envelope: greedy.Envelope})
		assertRateLimited(t, err)
		_, err = modest.Send()
		require.NoError(t, err, "other agents are not limited")
		w.WaitUntil(w.Now() + wait)
		for range 20 {
			_, err = greedy.Send()
			require.NoError(t, err)
		}
		_, err = greedy.Send()
		assertRateLimited(t, err)
	})
}

// Repeated reports are limited; the first report of a match is not.
func TestRepeatedReportsAreRateLimited(t *testing.T) {
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
		assertRateLimited(t, err)
		other := w.WinReport("REF01")
		other.Result.Winner = nil
		_, err = w.Report(other)
		assertRateLimited(t, err)
		second := w.ReportOf("REF01", "R1M2", nil, "P03", "P04", 1, 1)
		_, err = w.Report(second)
		require.NoError(t, err, "the first report of a match")
		assert.Equal(t, 2, w.Manager.Status().Recorded)
	})
}

func TestRepeatedRegistrationsAreRateLimited(t *testing.T) {
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
		assert.Equal(t, leaguetest.Second, assertRateLimited(t, err))
	})
}

// Repeated moves to other endpoints are limited, so that they do not fill the journal.
func TestEndpointChangesAreRateLimited(t *testing.T) {
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
				wait = assertRateLimited(t, err)
				break
			}
			moved++
		}
		assert.Equal(t, 20, moved)
		assert.Equal(t, 10*leaguetest.Second, wait)
		w.WaitUntil(w.Now() + wait)
		_, err = w.Apply(q)
		require.NoError(t, err, "after the delay it may move again")
		x.Kill()
	})
}

// forbidden is the error of a call to an address that must not be called.
type forbidden struct{}

func (forbidden) Error() string   { return "10.0.0.7 is not an allowed address" }
func (forbidden) Forbidden() bool { return true }

// failingCaller fails every call.
type failingCaller struct{ because error }

func (n failingCaller) Call(context.Context, protocol.CallRequest) (any, *protocol.CallTiming, error) {
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
		assertRateLimited(t, err)
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
