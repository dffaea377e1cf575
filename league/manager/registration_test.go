package manager_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// mustApply sends the application of a player, which gets a response, if only a rejection.
func mustApply(w *leaguetest.World, q *protocol.LeagueRegisterRequest) *protocol.LeagueRegisterResponse {
	w.T.Helper()
	r, err := w.Apply(q)
	require.NoError(w.T, err)
	return r
}

// mustApplyReferee is mustApply for a referee.
func mustApplyReferee(w *leaguetest.World, q *protocol.RefereeRegisterRequest) *protocol.RefereeRegisterResponse {
	w.T.Helper()
	r, err := w.ApplyReferee(q)
	require.NoError(w.T, err)
	return r
}

func TestIDsAreAssignedInOrderOfRegistration(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		for i := 1; i <= 3; i++ {
			p := w.Player(fmt.Sprintf("Somebody%d", i), leaguetest.WithoutID)
			assert.Equal(t, league.PlayerID(i), p.Player.ID())
			assert.Equal(t, protocol.PlayerSender(p.Player.ID()), p.Player.Stamp().Sender())
			r := w.Referee(fmt.Sprintf("Whistle%d", i), leaguetest.WithoutID)
			assert.Equal(t, league.RefereeID(i), r.Referee.ID())
		}
		assert.Equal(t, 3, w.Manager.Status().Players)
		assert.Equal(t, 3, w.Manager.Status().Referees)
	})
}

func TestAcceptedRegistrationHasIDAndToken(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.PingOnly("alpha")
		q := w.Application("Alpha")
		r := mustApply(w, q)
		assert.Equal(t, protocol.StatusAccepted, r.Status)
		assert.Equal(t, "P01", *r.PlayerID)
		assert.Equal(t, leaguetest.LeagueID, r.LeagueID)
		assert.Equal(t, w.Token("P01"), r.AuthToken)
		assert.Equal(t, protocol.ManagerAuthBearer, r.ManagerAuth)
		assert.Nil(t, r.Reason)
		assert.Empty(t, r.ErrorCode)
		assert.Equal(t, q.ConversationID, r.ConversationID)
		assert.Equal(t, protocol.ManagerSender, r.Sender)

		w.PingOnly("whistle")
		ref := mustApplyReferee(w, w.RefereeApplication("Whistle"))
		assert.Equal(t, "REF01", *ref.RefereeID)
		assert.Equal(t, w.Token("REF01"), ref.AuthToken)
	})
}

func TestInvalidRegistrationIsRejected(t *testing.T) {
	version := func(v string) func(*protocol.PlayerMeta) {
		return func(m *protocol.PlayerMeta) { m.ProtocolVersion = v }
	}
	contact := func(url string) func(*protocol.PlayerMeta) {
		return func(m *protocol.PlayerMeta) { m.ContactEndpoint = url }
	}
	for _, test := range []struct {
		name   string
		before func(*leaguetest.World)
		change func(*protocol.PlayerMeta)
		code   protocol.Code // "" for accepted
	}{
		{name: "valid: accepted"},
		{name: "version 2.2.0", change: version("2.2.0"), code: protocol.ErrProtocolVersion},
		{name: "version 2.0.0: accepted", change: version("2.0.0")},
		{name: "another game", change: func(m *protocol.PlayerMeta) { m.GameTypes = []string{"chess", "go"} }, code: protocol.ErrUnsupportedGame},
		{name: "a taken name", change: func(m *protocol.PlayerMeta) { m.DisplayName = "Agent P01" }, code: protocol.ErrDuplicateName},
		{
			name: "too late, while the league runs", code: protocol.ErrLateRegistration,
			before: func(w *leaguetest.World) {
				w.Referee("REF01")
				evenPlayers(w, 2)
				w.StartLeague()
			},
		},
		{
			name: "too late, when the league is over", code: protocol.ErrLateRegistration,
			before: func(w *leaguetest.World) {
				w.Referee("REF01")
				w.Players(2)
				w.StartLeague()
			},
		},
		{name: "a full league", before: func(w *leaguetest.World) { w.Players(4) }, code: protocol.ErrLeagueFull},
		{name: "an endpoint that does not listen yet: accepted", change: contact(leaguetest.EndpointOf("nowhere"))},
		{name: "a taken endpoint", change: contact("HTTP://P01:8000/mcp/?x=1"), code: protocol.ErrInvalidEndpoint},
		{name: "no URL", change: contact("alpha"), code: protocol.ErrInvalidEndpoint},
		{name: "port 65536", change: contact("http://localhost:65536/mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "another scheme", change: contact("ftp://alpha:8000/mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "a password", change: contact("http://me:secret@alpha:8000/mcp"), code: protocol.ErrInvalidEndpoint},
		{
			name: "an endpoint without ping: accepted",
			before: func(w *leaguetest.World) {
				a := leaguetest.NewAgent("other", []leaguetest.Option{leaguetest.On("something_else", leaguetest.Silent)})
				w.Open(a, w.ScriptMux(a.Script))
			},
			change: contact(leaguetest.EndpointOf("other")),
		},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(0, 1, func(o *manager.Options) { o.MaxPlayers = 4 })
			if test.before != nil {
				test.before(w)
			} else {
				w.Player("P01")
			}
			w.PingOnly("alpha")
			q := w.Application("Alpha")
			if test.change != nil {
				test.change(&q.PlayerMeta)
			}
			before := w.Manager.Status().Players
			r := mustApply(w, q)
			assert.Zero(t, w.Now().Round(leaguetest.Second), "without a delay")
			if test.code == "" {
				assert.Equal(t, protocol.StatusAccepted, r.Status)
				return
			}
			assert.Equal(t, protocol.StatusRejected, r.Status)
			assert.Nil(t, r.PlayerID)
			assert.Empty(t, r.AuthToken)
			assert.Empty(t, r.ManagerAuth)
			require.NotNil(t, r.Reason)
			assert.NotEmpty(t, *r.Reason)
			assert.Equal(t, string(test.code), r.ErrorCode)
			assert.Equal(t, test.code.Name(), r.ErrorName)
			assert.Equal(t, before, w.Manager.Status().Players)
			calls := w.Calls(protocol.RegisterPlayer.Name)
			assert.Contains(t, string(calls[len(calls)-1].Answer), `"player_id":null`)
		})
	}
}

func TestEqualNamesAreAcceptedWithSameNames(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1, func(o *manager.Options) { o.UniqueDisplayNames = false })
		w.Referee("REF01", leaguetest.WithName("Twin"))
		w.Player("P01", leaguetest.WithName("Twin"))
		w.Player("P02", leaguetest.WithName("Twin"))
		assert.Equal(t, "Twin", w.Finish().Champion.DisplayName)
	})
}

func TestRefereeCapacityIsAtMostTen(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.PingOnly("whistle")
		q := w.RefereeApplication("Whistle")
		q.RefereeMeta.MaxConcurrentMatches = 11
		_, err := w.ApplyReferee(q)
		leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
		q.RefereeMeta.MaxConcurrentMatches = 10
		assert.Equal(t, protocol.StatusAccepted, mustApplyReferee(w, q).Status)
	})
}

// A display name is printed on terminals, so it must not contain control characters, and readers
// must see all of it.
func TestDisplayNameWithControlCharactersIsRejected(t *testing.T) {
	for _, name := range []string{"a\nb", "a\x1b[31mb", "a\u202eb", "a\x7fb", "a\u0085b", "a\u200bb", "a\ufeffb", "a\u00adb", "a\U000e0041b", "\u3164", " "} {
		leaguetest.RunInMemory(t, strconv.Quote(name), func(t *testing.T, w *leaguetest.World) {
			w.StartManager(0, 1)
			w.PingOnly("alpha")
			q := w.Application("Alpha")
			q.PlayerMeta.DisplayName = name
			_, err := w.Apply(q)
			leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
		})
	}
}

// A name that readers may take for one that is registered is refused, and the response says why.
func TestDisplayNameThatLooksLikeAnotherIsRefused(t *testing.T) {
	for _, name := range []string{"agent p01", "ＡＧＥＮＴ Ｐ０１", "Agent\u00a0P01", "𝐀gent P01"} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(3, 1)
			w.Player("P01")
			synctest.Wait() // the player has answered the manager's ping
			q := w.Application("Beta")
			q.PlayerMeta.DisplayName = name
			w.PingOnly("beta")
			r := mustApply(w, q)
			assert.Equal(t, protocol.StatusRejected, r.Status)
			assert.Equal(t, string(protocol.ErrDuplicateName), r.ErrorCode)
			assert.Contains(t, *r.Reason, `looks like "Agent P01", which is taken: choose another`)
		})
	}
}

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
		assert.Equal(t, league.StatusWin, leaguetest.Results(w.Manager)[0].Status)
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
		squatter := mustApply(w, w.Application("Squatter"))
		require.Equal(t, "P02", *squatter.PlayerID)
		w.PingOnly("beta")
		q := w.Application("Beta")

		w.WaitUntil(grace - 1500*time.Millisecond)
		refused := mustApply(w, q)
		assert.Equal(t, string(protocol.ErrLeagueFull), refused.ErrorCode)
		assert.Equal(t, 2, refused.RetryAfterSec, "whole seconds, rounded up")
		assert.Contains(t, *refused.Reason, "P02 has not answered yet: try again in 2 s")
		assert.Equal(t, 2, w.Manager.Status().Players)

		w.WaitUntil(grace)
		q.Sender, q.ConversationID = protocol.PlayerSender("P02"), "conv-beta-again"
		accepted := mustApply(w, q)
		require.Equal(t, protocol.StatusAccepted, accepted.Status)
		assert.Equal(t, "P03", *accepted.PlayerID, "a dropped id is not granted again")
		assert.Equal(t, 2, w.Manager.Status().Players)

		_, err := w.Query("P02", protocol.QueryStatus).Send()
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
	for _, test := range []struct{ name, at, reason string }{
		{"at a forbidden address", "secret", journal.DroppedForbidden},
		{"of a league manager", leaguetest.ManagerHost, journal.DroppedManager},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 0, 1, func(o *manager.Options) {
				o.Caller = refusingCaller(o.Caller, "secret")
			})
			q := w.Application("Alpha")
			q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf(test.at)
			assert.Equal(t, protocol.StatusAccepted, mustApply(w, q).Status)
			synctest.Wait()
			assert.Zero(t, x.Manager.Status().Players)
			assert.Equal(t, []string{"created", "registered", "registration_dropped"}, w.EventTypes(x.Folder))
			assert.Contains(t, string(leaguetest.ReadJournal(w, x.Folder)), test.reason)
			x.Kill()
		})
	}
}

// The manager refuses a host that does not exist or resolves to forbidden addresses only. It
// accepts a host that it cannot resolve within a second.
func TestHostIsCheckedAtRegistration(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, func(o *manager.Options) { o.CheckEndpoint = checkEndpoint })
		r := mustApply(w, w.Application("Nowhere"))
		assert.Equal(t, string(protocol.ErrInvalidEndpoint), r.ErrorCode)
		assert.Contains(t, *r.Reason, "host nowhere does not exist")
		r = mustApply(w, w.Application("Slow"))
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
		mustApply(w, w.Application("Silent"))
		w.WaitUntil(15 * leaguetest.Second)
		x.Kill()
		x = w.StartManagerIn(folder, 0, 1, grace)
		assert.Equal(t, []string{"P02"}, x.Manager.Status().Awaited)
		w.WaitUntil(30 * leaguetest.Second)
		r := mustApply(w, w.Application("Beta"))
		assert.Equal(t, string(protocol.ErrLeagueFull), r.ErrorCode, "its grace period restarted at 15 s")
		assert.Equal(t, 5, r.RetryAfterSec)
		w.WaitUntil(35 * leaguetest.Second)
		r = mustApply(w, w.Application("Beta"))
		assert.Equal(t, protocol.StatusAccepted, r.Status)
		x.Kill()
	})
}

// The start of a league drops agents that have not answered.
func TestStartDropsUnconfirmedAgents(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 0, 1)
		w.Referee("REF01")
		w.Player("P01")
		mustApply(w, w.Application("Silent"))
		synctest.Wait()
		_, err := startLeague(w, w.Manager.AdminToken())
		leaguetest.AssertRefused(t, err, protocol.ErrLeagueNotStarted, 30)
		assert.Contains(t, protocol.AsError(err).Detail, "1 player and 1 referee have answered")

		w.Player("P03")
		w.StartLeague()
		state := finish(x)
		assert.Len(t, leaguetest.Results(x.Manager), 1)
		assert.Equal(t, []string{"P01", "P03"}, state.Started.Players)
		assert.Equal(t, []string{"P02"}, slices.Collect(maps.Keys(state.Dropped)))
	})
}

func TestServerWithoutAnAgentAtThePathDoesNotConfirm(t *testing.T) {
	leaguetest.OnHTTP(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Player("P01")
		q := w.Application("Squatter")
		q.PlayerMeta.ContactEndpoint = "http://p01:8000/nothing"
		mustApply(w, q)
		w.WaitUntil(20 * leaguetest.Second)
		assert.Equal(t, []string{"P02"}, w.Manager.Status().Awaited)
	})
}
