package manager_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// notListening registers one of our players before its port is open; open opens the port.
func notListening(w *leaguetest.World, id string, traits ...leaguetest.Option) (a *leaguetest.Agent, open func()) {
	a = w.NewPlayer(id, traits...)
	a.Stop()
	return a, func() { a.Stop = w.Network.Listen(a.Host, a.Mux, false) }
}

// Most agents open their port only after the response to their registration.
func TestAgentMayRegisterBeforeItListens(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01")
		w.Player("P01", leaguetest.WithStrategy("even"))
		late, open := notListening(w, "P02", leaguetest.WithStrategy("odd"))
		require.NoError(t, late.Player.Register(w.Context))
		assert.Zero(t, w.Now(), "the response comes at once")
		w.RunAt(3*leaguetest.Second, open)
		w.WaitUntil(2 * leaguetest.Second)
		assert.Equal(t, []string{"P02"}, w.Manager.Status().Awaited)
		assert.Equal(t, decide.StateWaitingForRegistrations, w.Manager.Status().State)
		_, statusWith := answer(w.Query("P01", protocol.QueryStatus))
		assert.Contains(t, string(statusWith), `"awaited":["P02"]`)
		w.Finish()
		assert.Equal(t, league.StatusWin, w.Manager.Results()[0].Status)
		first := w.Calls(protocol.NotifyRound.Name, "p02")[0].At
		assert.GreaterOrEqual(t, first, 3*leaguetest.Second)
		assert.Less(t, first, 10*leaguetest.Second)
	})
}

// After the grace period, an unconfirmed registration is dropped for the next applicant, and
// not before.
func TestUnconfirmedRegistrationIsDroppedAfterTheGracePeriod(t *testing.T) {
	const grace = 20 * time.Second
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, func(o *manager.Options) { o.MaxPlayers, o.RegistrationGrace = 2, int(grace/time.Second) })
		w.Player("P01")
		squatter, err := w.Apply(w.Application("Squatter"))
		require.NoError(t, err)
		require.Equal(t, "P02", *squatter.PlayerID)
		w.PingOnly("beta")
		q := w.Application("Beta")

		w.WaitUntil(grace - 1500*time.Millisecond)
		refused, err := w.Apply(q)
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrLeagueFull), refused.ErrorCode)
		assert.Equal(t, 2, refused.RetryAfterSec, "whole seconds, rounded up")
		assert.Contains(t, *refused.Reason, "P02 has not answered yet: try again in 2 s")
		assert.Equal(t, 2, w.Manager.Status().Players)

		w.WaitUntil(grace)
		q.Sender, q.ConversationID = protocol.PlayerSender("P02"), "conv-beta-again"
		accepted, err := w.Apply(q)
		require.NoError(t, err)
		require.Equal(t, protocol.StatusAccepted, accepted.Status)
		assert.Equal(t, "P03", *accepted.PlayerID, "a dropped id is not granted again")
		assert.Equal(t, 2, w.Manager.Status().Players)

		_, err = w.Query("P02", protocol.QueryStatus).Send()
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 6001)
		back := w.Application("Squatter")
		back.AuthToken = squatter.AuthToken
		_, err = w.Apply(back)
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 12)
	})
}

// A registration is dropped immediately if its endpoint is a forbidden address or a league
// manager.
func TestRegistrationWithAForbiddenEndpointIsDropped(t *testing.T) {
	for _, test := range []struct {
		name   string
		caller func(w *leaguetest.World) protocol.Caller
		at     string
		reason string
	}{
		{"at a forbidden address", func(*leaguetest.World) protocol.Caller { return failingCaller{forbidden{}} }, "alpha", journal.DroppedForbidden},
		{"of a league manager", func(w *leaguetest.World) protocol.Caller { return w.Caller(leaguetest.ManagerHost, 64<<10) }, leaguetest.ManagerHost, journal.DroppedManager},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 0, 1, func(o *manager.Options) { o.Caller = test.caller(w) })
			q := w.Application("Alpha")
			q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf(test.at)
			r, err := w.Apply(q)
			require.NoError(t, err)
			assert.Equal(t, protocol.StatusAccepted, r.Status)
			synctest.Wait()
			assert.Zero(t, x.Manager.Status().Players)
			assert.Equal(t, []string{"created", "registered", "registration_dropped"}, w.EventTypes(folder))
			assert.Contains(t, string(leaguetest.ReadJournal(w, folder)), test.reason)
			x.Kill()
		})
	}
}

// The manager refuses a host that does not exist or resolves to forbidden addresses only. It
// accepts a host that it cannot resolve within a second.
func TestHostIsCheckedAtRegistration(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, func(o *manager.Options) {
			o.CheckHost = func(ctx context.Context, hostPort string) error {
				switch hostPort {
				case "nowhere:8000":
					return errors.New("host nowhere does not exist")
				case "slow:8000":
					<-ctx.Done()
				}
				return nil
			}
		})
		r, err := w.Apply(w.Application("Nowhere"))
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrInvalidEndpoint), r.ErrorCode)
		assert.Contains(t, *r.Reason, "host nowhere does not exist")
		r, err = w.Apply(w.Application("Slow"))
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusAccepted, r.Status)
		assert.Equal(t, leaguetest.Second, w.Now())
	})
}

// Confirmations survive a restart; the grace period of the others starts again.
func TestConfirmationsSurviveARestart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		grace := func(o *manager.Options) { o.MaxPlayers, o.RegistrationGrace = 2, 20 }
		x := w.StartManagerIn(folder, 0, 1, grace)
		w.Player("P01")
		_, err := w.Apply(w.Application("Silent"))
		require.NoError(t, err)
		w.WaitUntil(15 * leaguetest.Second)
		x.Kill()
		x = w.StartManagerIn(folder, 0, 1, grace)
		assert.Equal(t, []string{"P02"}, x.Manager.Status().Awaited)
		w.WaitUntil(30 * leaguetest.Second)
		r, err := w.Apply(w.Application("Beta"))
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrLeagueFull), r.ErrorCode, "its grace period restarted at 15 s")
		assert.Equal(t, 5, r.RetryAfterSec)
		w.WaitUntil(35 * leaguetest.Second)
		r, err = w.Apply(w.Application("Beta"))
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusAccepted, r.Status)
		x.Kill()
	})
}

// The start of a league drops agents that have not answered.
func TestStartDropsUnconfirmedAgents(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 0, 1)
		w.Referee("REF01")
		w.Player("P01")
		_, err := w.Apply(w.Application("Silent"))
		require.NoError(t, err)
		synctest.Wait()
		q := &protocol.ToolRequest{}
		q.AuthToken = w.Manager.AdminToken()
		_, err = protocol.StartLeague.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
		leaguetest.AssertRefused(t, err, protocol.ErrLeagueNotStarted, 30)
		assert.Contains(t, protocol.AsError(err).Detail, "1 player and 1 referee have answered")

		w.Player("P03")
		w.StartLeague()
		x.Finish()
		assert.Len(t, x.Manager.Results(), 1)
		require.NoError(t, x.CloseFiles())
		state := w.CheckFiles(folder)
		assert.Equal(t, []string{"P01", "P03"}, state.Started.Players)
		assert.Equal(t, map[string]bool{"P02": true}, state.Dropped)
	})
}

func TestServerWithoutAnAgentAtThePathDoesNotConfirm(t *testing.T) {
	leaguetest.OnHTTP(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Player("P01")
		q := w.Application("Squatter")
		q.PlayerMeta.ContactEndpoint = "http://p01:8000/nothing"
		_, err := w.Apply(q)
		require.NoError(t, err)
		w.WaitUntil(20 * leaguetest.Second)
		assert.Equal(t, []string{"P02"}, w.Manager.Status().Awaited)
	})
}
