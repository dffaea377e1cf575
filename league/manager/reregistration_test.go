package manager_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

func TestRepeatedRegistrationGetsTheSameResponse(t *testing.T) {
	for _, test := range []struct {
		name   string
		before func(w *leaguetest.World) // between the two
		change func(q *protocol.LeagueRegisterRequest)
		code   protocol.Code // "" for the same response
	}{
		{name: "gets the same response"},
		{
			name: "is rejected after the token was used", before: func(w *leaguetest.World) { ask(w, "P03", protocol.QueryStatus) },
			code: protocol.ErrDuplicateName,
		},
		{
			name: "is a new application with another conversation", code: protocol.ErrDuplicateName,
			change: func(q *protocol.LeagueRegisterRequest) { q.ConversationID = "conv-another" },
		},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(0, 1)
			w.Referee("REF01")
			w.Player("P01")
			w.Player("P02")
			w.PingOnly("alpha")
			w.PingOnly("beta")
			q := w.Application("Alpha")
			first := mustApply(w, q)
			require.Equal(t, "P03", *first.PlayerID)
			if test.before != nil {
				test.before(w)
			}
			if test.change != nil {
				test.change(q)
			}
			again := mustApply(w, q)
			if test.code == "" {
				assert.Equal(t, first.PlayerID, again.PlayerID)
				assert.Equal(t, first.AuthToken, again.AuthToken)
			} else {
				assert.Equal(t, string(test.code), again.ErrorCode)
			}
			assert.Equal(t, 3, w.Manager.Status().Players)
		})
	}
}

func TestAgentWithItsTokenIsReadmitted(t *testing.T) {
	for _, test := range []struct {
		name    string
		id      string // the owner of its token
		started bool
		moved   bool // to another endpoint
		gone    bool // the old endpoint does not answer
		mute    bool // the new endpoint does not answer
		code    protocol.Code
	}{
		{name: "gets its own id", id: "P02"},
		{name: "gets its own id after the start", id: "P02", started: true},
		{name: "may not move while the old endpoint answers", id: "P02", moved: true, code: protocol.ErrInvalidEndpoint},
		{name: "may move when the old endpoint does not answer", id: "P02", moved: true, gone: true},
		{name: "may move after the start", id: "P02", started: true, moved: true, gone: true},
		{name: "may move to an endpoint that does not listen yet", id: "P02", moved: true, gone: true, mute: true},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(0, 1)
			w.Referee("REF01")
			players := w.Players(2)
			synctest.Wait() // the agents have answered the manager's pings
			q := w.Application("Agent P02")
			q.Sender = "player:unknown"
			q.AuthToken = w.Token(test.id)
			q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("p02")
			if test.moved {
				q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("alpha")
			}
			if test.gone {
				players[1].Stop()
			}
			if !test.mute {
				w.PingOnly("alpha")
			}
			if test.started {
				w.StartLeague()
			}
			began := w.Now()
			r := mustApply(w, q)
			assert.Equal(t, began, w.Now(), "without a delay")
			assert.Equal(t, string(test.code), r.ErrorCode)
			if test.code != "" {
				assert.Equal(t, protocol.StatusRejected, r.Status)
				assert.Nil(t, r.PlayerID)
				return
			}
			assert.Equal(t, "P02", *r.PlayerID)
			assert.Equal(t, w.Token("P02"), r.AuthToken)
			assert.Equal(t, 2, w.Manager.Status().Players)
		})
	}
}

// A returning agent may move only to an endpoint that it could register. If it is rejected,
// it keeps its endpoint.
func TestAgentMayMoveOnlyToAnEndpointItCouldRegister(t *testing.T) {
	for _, test := range []struct{ name, to, reason string }{
		{"of another player", leaguetest.EndpointOf("p01"), "another player is registered at this contact_endpoint"},
		{"of a league manager", leaguetest.EndpointOf(leaguetest.ManagerHost), "a league manager answers at contact_endpoint"},
		{"that must not be called", leaguetest.EndpointOf("secret"), "is at an address that this league does not call"},
		{"of a host that does not exist", leaguetest.EndpointOf("nowhere"), "host nowhere does not exist"},
		{"of a player that has not answered yet", leaguetest.EndpointOf("silent"), "P03 has not answered yet: try again in 30 s"},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(0, 1, func(o *manager.Options) {
				o.Caller, o.CheckEndpoint = refusingCaller(o.Caller, "secret"), checkEndpoint
			})
			w.Referee("REF01")
			player := w.Players(2)[1]
			mustApply(w, w.Application("Silent"))
			synctest.Wait() // the agents have answered the manager's pings
			player.Stop()
			q := w.Application("Agent P02")
			q.AuthToken, q.PlayerMeta.ContactEndpoint = w.Token("P02"), test.to
			r := mustApply(w, q)
			require.Equal(t, string(protocol.ErrInvalidEndpoint), r.ErrorCode)
			assert.Contains(t, *r.Reason, test.reason)
			player.Stop = w.Network.Listen(player.Host, player.Mux, false)
			w.StartLeague()
			w.Finish()
			assert.Len(t, w.Calls(protocol.Invite.Name, "p02"), 1)
		})
	}
}

// An agent whose registration is dropped during its re-registration is unknown.
func TestAgentDroppedDuringReregistrationIsUnknown(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, func(o *manager.Options) {
			o.MaxPlayers, o.RegistrationGrace, o.CheckEndpoint = 1, 10, checkEndpoint
		})
		silent := mustApply(w, w.Application("Silent"))
		w.WaitUntil(10 * leaguetest.Second)
		w.RunAt(10*leaguetest.Second+leaguetest.Second/2, func() {
			r, err := w.Apply(w.Application("Beta"))
			assert.NoError(t, err)
			assert.Equal(t, protocol.StatusAccepted, r.Status)
		})
		q := w.Application("Silent")
		q.AuthToken, q.PlayerMeta.ContactEndpoint = silent.AuthToken, leaguetest.EndpointOf("slow")
		_, err := w.Apply(q)
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 12)
	})
}

func TestMovedAgentIsCalledAtItsNewEndpoint(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Referee("REF01")
		player := w.Players(2)[1]
		synctest.Wait() // the agents have answered the manager's pings
		player.Stop()
		w.Open(leaguetest.NewAgent("elsewhere", nil), player.Mux)
		q := w.Application("Agent P02")
		q.AuthToken = w.Token("P02")
		q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("elsewhere")
		mustApply(w, q)
		w.StartLeague()
		w.Finish()
		assert.Equal(t, 1, player.Player.Record().Stats.TotalMatches)
		w.OnlyCall(protocol.NotifyRound.Name, "elsewhere")
		w.OnlyCall(protocol.Invite.Name, "elsewhere")
		assert.Empty(t, w.Calls(protocol.NotifyRound.Name, "p02"))
	})
}

func TestRegistrationWithAWrongTokenIsRejected(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Referee("REF01")
		w.PingOnly("alpha")
		for token, code := range map[string]protocol.Code{"tok-p02-AAAA": protocol.ErrTokenInvalid, w.Token("REF01"): protocol.ErrNotAuthorized} {
			q := w.Application("Alpha")
			q.AuthToken = token
			_, err := w.Apply(q)
			require.Equal(t, code, protocol.AsError(err).Code)
			assert.NotContains(t, fmt.Sprint(err, protocol.AsError(err).Context), token)
		}
	})
}

// startLeague calls start_league with a token.
func startLeague(w *leaguetest.World, token string) (*protocol.LeagueStarted, error) {
	q := &protocol.ToolRequest{}
	q.AuthToken = token
	return protocol.StartLeague.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
}

// getStandings calls get_standings with a token.
func getStandings(w *leaguetest.World, token string) (*protocol.LeagueQueryResponse, error) {
	q := &protocol.ToolRequest{}
	q.AuthToken = token
	return protocol.GetStandings.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
}

func TestStartLeagueNeedsAdminTokenAndAgents(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		start := func(token string) (*protocol.LeagueStarted, error) { return startLeague(w, token) }
		admin := w.Manager.AdminToken()
		_, err := start("")
		leaguetest.AssertRefused(t, err, protocol.ErrTokenMissing, 11)
		_, err = start("adm-wrong")
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 12)

		_, err = start(admin)
		leaguetest.AssertRefused(t, err, protocol.ErrLeagueNotStarted, 30)
		w.Referee("REF01")
		w.Player("P01")
		_, err = start(admin)
		leaguetest.AssertRefused(t, err, protocol.ErrLeagueNotStarted, 30)
		w.Player("P02")
		w.Player("P03", leaguetest.WithDelays(leaguetest.Second, 0, 0))
		synctest.Wait() // the agents have answered the manager's pings
		_, err = start(w.Token("P01"))
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 12)

		want := func(s *protocol.LeagueStarted, err error) {
			t.Helper()
			require.NoError(t, err)
			assert.Equal(t, leaguetest.LeagueID, s.LeagueID)
			assert.Equal(t, []int{3, 1, 3, 3}, []int{s.Players, s.Referees, s.Rounds, s.Matches})
		}
		want(start(admin))
		want(start(admin))
		w.WaitUntil(500 * time.Millisecond)
		want(start(admin))
		w.Finish()
		_, err = start(admin)
		leaguetest.AssertRefused(t, err, protocol.ErrLeagueComplete, 31)
		assert.Len(t, leaguetest.Results(w.Manager), 3)
	})
}
