package conversations

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

func TestTheSameRegistrationAgain(t *testing.T) {
	for _, test := range []struct {
		name   string
		before func(w *world) // between the two
		change func(q *protocol.LeagueRegisterRequest)
		code   protocol.Code // "" for the same answer
	}{
		{name: "gets the same answer"},
		{name: "gets it also after the start", before: func(w *world) { w.begin() }},
		{
			name: "is refused once the token was used", before: func(w *world) { w.ask("P03", protocol.QueryStatus) },
			code: protocol.ErrDuplicateName,
		},
		{
			name: "is late once the token was used and the league has begun",
			before: func(w *world) {
				w.ask("P03", protocol.QueryStatus)
				w.begin()
			},
			code: protocol.ErrLateRegistration,
		},
		{
			name: "is another one with another conversation", code: protocol.ErrDuplicateName,
			change: func(q *protocol.LeagueRegisterRequest) { q.ConversationID = "conv-another" },
		},
		{
			name: "is another one from another endpoint", code: protocol.ErrDuplicateName,
			change: func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.ContactEndpoint = endpointOf("beta") },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(0, 1)
				w.referee("REF01")
				w.player("P01")
				w.player("P02")
				w.listener("alpha")
				w.listener("beta")
				q := w.application("Alpha")
				first, err := w.apply(q)
				require.NoError(t, err)
				require.Equal(t, "P03", *first.PlayerID)
				if test.before != nil {
					test.before(w)
				}
				if test.change != nil {
					test.change(q)
				}
				again, err := w.apply(q)
				require.NoError(t, err)
				if test.code == "" {
					assert.Equal(t, first.PlayerID, again.PlayerID)
					assert.Equal(t, first.AuthToken, again.AuthToken)
				} else {
					assert.Equal(t, string(test.code), again.ErrorCode)
				}
				assert.Equal(t, 3, w.manager.Status().Players)
			})
		})
	}
}

func TestAnAgentThatComesBackWithItsToken(t *testing.T) {
	for _, test := range []struct {
		name    string
		id      string // whose token it shows
		started bool
		moved   bool // to another endpoint
		gone    bool // nobody is at the old one
		mute    bool // nobody is at the new one
		code    protocol.Code
	}{
		{name: "gets its own id", id: "P02"},
		{name: "also after the start", id: "P02", started: true},
		{name: "may not move while it still answers", id: "P02", moved: true, code: protocol.ErrInvalidEndpoint},
		{name: "may move when it no longer does", id: "P02", moved: true, gone: true},
		{name: "also after the start ", id: "P02", started: true, moved: true, gone: true},
		{name: "also to where it does not listen yet", id: "P02", moved: true, gone: true, mute: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(0, 1)
				w.referee("REF01")
				players := w.players(2)
				synctest.Wait() // they have answered the manager's pings
				q := w.application("Agent P02")
				q.Sender = "player:whoever"
				q.AuthToken = w.token(test.id)
				q.PlayerMeta.ContactEndpoint = endpointOf("p02")
				if test.moved {
					q.PlayerMeta.ContactEndpoint = endpointOf("alpha")
				}
				if test.gone {
					players[1].stop()
				}
				if !test.mute {
					w.listener("alpha")
				}
				if test.started {
					w.begin()
				}
				began := w.now()
				r, err := w.apply(q)
				require.NoError(t, err)
				assert.Equal(t, began, w.now(), "the response comes at once")
				assert.Equal(t, string(test.code), r.ErrorCode)
				if test.code != "" {
					assert.Equal(t, protocol.StatusRejected, r.Status)
					assert.Nil(t, r.PlayerID)
					return
				}
				assert.Equal(t, "P02", *r.PlayerID)
				assert.Equal(t, w.token("P02"), r.AuthToken)
				assert.Equal(t, 2, w.manager.Status().Players)
			})
		})
	}
}

// notTo is a carrier that does not call one endpoint.
type notTo struct {
	protocol.Caller
	endpoint string
}

func (n notTo) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	if r.Endpoint == n.endpoint {
		return nil, nil, forbidden{}
	}
	return n.Caller.Call(ctx, r)
}

// An agent that returns may move only to where it might register, and keeps its
// endpoint if it is refused.
func TestAgentMayMoveOnlyToAnEndpointThatItMightRegister(t *testing.T) {
	for _, test := range []struct{ name, to, reason string }{
		{"of another player", endpointOf("p01"), "another player is registered at this contact_endpoint"},
		{"of a league manager", endpointOf(theBoss), "a league manager answers at contact_endpoint"},
		{"that must not be called", endpointOf("secret"), "is at an address that this league does not call"},
		{"of a host that does not exist", endpointOf("nowhere"), "host nowhere does not exist"},
		{"of a player that has not answered yet", endpointOf("silent"), "P03 has not answered yet: try again in 30 s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(0, 1, func(o *league.Options) {
					o.Caller = notTo{o.Caller, endpointOf("secret")}
					o.CheckHost = func(_ context.Context, hostPort string) error {
						if hostPort == "nowhere:8000" {
							return errors.New("host nowhere does not exist")
						}
						return nil
					}
				})
				w.referee("REF01")
				player := w.players(2)[1]
				_, err := w.apply(w.application("Silent"))
				require.NoError(t, err)
				synctest.Wait() // they have answered the manager's pings
				player.stop()
				q := w.application("Agent P02")
				q.AuthToken, q.PlayerMeta.ContactEndpoint = w.token("P02"), test.to
				r, err := w.apply(q)
				require.NoError(t, err)
				require.Equal(t, string(protocol.ErrInvalidEndpoint), r.ErrorCode)
				assert.Contains(t, *r.Reason, test.reason)
				player.stop = w.net.listen(player.host, player.mux, false)
				w.begin()
				w.finish()
				assert.Len(t, w.said(protocol.Invite.Name, "p02"), 1)
			})
		})
	}
}

// An agent may move to the URL of a registration that can be dropped.
func TestAgentThatMovesReplacesASilentRegistration(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		player := w.players(1)[0]
		_, err := w.apply(w.application("Silent"))
		require.NoError(t, err)
		synctest.Wait()
		player.stop()
		w.at(30 * second)
		q := w.application("Agent P01")
		q.AuthToken, q.PlayerMeta.ContactEndpoint = w.token("P01"), endpointOf("silent")
		r, err := w.apply(q)
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusAccepted, r.Status)
		assert.Equal(t, 1, w.manager.Status().Players)
	})
}

// An agent whose registration is dropped while it returns is unknown.
func TestAgentThatIsDroppedWhileItReturns(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1, func(o *league.Options) {
			o.MaxPlayers, o.RegistrationGrace = 1, 10*second
			o.CheckHost = func(ctx context.Context, hostPort string) error {
				if hostPort == "slow:8000" {
					<-ctx.Done()
				}
				return nil
			}
		})
		silent, err := w.apply(w.application("Silent"))
		require.NoError(t, err)
		w.at(10 * second)
		w.later(10*second+second/2, func() {
			r, err := w.apply(w.application("Beta"))
			assert.NoError(t, err)
			assert.Equal(t, protocol.StatusAccepted, r.Status)
		})
		q := w.application("Silent")
		q.AuthToken, q.PlayerMeta.ContactEndpoint = silent.AuthToken, endpointOf("slow")
		_, err = w.apply(q)
		assertRefused(t, err, protocol.ErrTokenInvalid, 12)
	})
}

func TestAnAgentThatMovedIsFoundAtItsNewPlace(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		w.referee("REF01")
		player := w.players(2)[1]
		synctest.Wait() // they have answered the manager's pings
		player.stop()
		w.open(newActor("elsewhere", nil), player.mux)
		q := w.application("Agent P02")
		q.AuthToken = w.token("P02")
		q.PlayerMeta.ContactEndpoint = endpointOf("elsewhere")
		_, err := w.apply(q)
		require.NoError(t, err)
		w.begin()
		w.finish()
		assert.Equal(t, 1, player.player.Record().Stats.TotalMatches)
		w.only(protocol.NotifyRound.Name, "elsewhere")
		w.only(protocol.Invite.Name, "elsewhere")
		assert.Empty(t, w.said(protocol.NotifyRound.Name, "p02"))
	})
}

func TestAWrongTokenAtTheRegistration(t *testing.T) {
	for _, test := range []struct {
		name, token string
		code        protocol.Code
		rpc         int
	}{
		{"nobody's", "tok-p02-AAAA", protocol.ErrTokenInvalid, 12},
		{"of no form", "open-sesame", protocol.ErrTokenInvalid, 12},
		{"a referee's", "", protocol.ErrNotAuthorized, 14},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(0, 1)
				w.referee("REF01")
				w.listener("alpha")
				q := w.application("Alpha")
				q.AuthToken = test.token
				if q.AuthToken == "" {
					q.AuthToken = w.token("REF01")
				}
				_, err := w.apply(q)
				assertRefused(t, err, test.code, test.rpc)
				assert.NotContains(t, fmt.Sprint(err, protocol.AsError(err).Context), q.AuthToken)
			})
		})
	}
}

func TestStartLeague(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		start := func(token string) (*protocol.LeagueStarted, error) {
			q := &protocol.ToolRequest{}
			q.AuthToken = token
			return protocol.StartLeague.Call(w.life, w.stranger, w.manage(), q)
		}
		admin := w.manager.AdminToken()
		_, err := start("")
		assertRefused(t, err, protocol.ErrTokenMissing, 11)
		_, err = start("adm-wrong")
		assertRefused(t, err, protocol.ErrTokenInvalid, 12)

		_, err = start(admin)
		assertRefused(t, err, protocol.ErrLeagueNotStarted, 30)
		w.referee("REF01")
		w.player("P01")
		_, err = start(admin)
		assertRefused(t, err, protocol.ErrLeagueNotStarted, 30)
		w.player("P02")
		w.player("P03", slow(second, 0, 0))
		synctest.Wait() // they have answered the manager's pings
		_, err = start(w.token("P01"))
		assertRefused(t, err, protocol.ErrTokenInvalid, 12)

		want := func(s *protocol.LeagueStarted, err error) {
			t.Helper()
			require.NoError(t, err)
			assert.Equal(t, leagueID, s.LeagueID)
			assert.Equal(t, []int{3, 1, 3, 3}, []int{s.Players, s.Referees, s.Rounds, s.Matches})
		}
		want(start(admin))
		want(start(admin))
		w.at(500 * time.Millisecond)
		want(start(admin))
		w.finish()
		_, err = start(admin)
		assertRefused(t, err, protocol.ErrLeagueComplete, 31)
		assert.Len(t, w.manager.Results(), 3)
	})
}

func TestPingNeedsNothing(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 1)
		w.referee("REF01")
		ping := func(host string) *protocol.Pong {
			pong, err := protocol.Ping.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf(host)}, &protocol.ToolRequest{})
			require.NoError(t, err)
			assert.Equal(t, "ok", pong.Status)
			return pong
		}
		pong := ping(theBoss)
		assert.Equal(t, "league_manager", pong.Role)
		assert.Equal(t, "WAITING_FOR_REGISTRATIONS", pong.State)
		assert.Equal(t, "referee", ping("ref01").Role)
		w.player("P01", slow(second, 0, 0))
		pong = ping("p01")
		assert.Equal(t, "player", pong.Role)
		assert.Equal(t, "REGISTERED", pong.State)
		w.player("P02")
		w.at(500 * time.Millisecond)
		assert.Equal(t, "RUNNING_LEAGUE", ping(theBoss).State)
		w.finish()
		assert.Equal(t, "LEAGUE_COMPLETED", ping(theBoss).State)
	})
}
