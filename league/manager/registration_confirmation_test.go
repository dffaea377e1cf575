package manager_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	"evenodd/league/journal"
	league "evenodd/league/manager"
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
		assert.Equal(t, protocol.StatusWin, w.Manager.Results()[0].Status)
		first := w.Calls(protocol.NotifyRound.Name, "p02")[0].At
		assert.GreaterOrEqual(t, first, 3*leaguetest.Second)
		assert.Less(t, first, 10*leaguetest.Second)
	})
}

// A ping without a timely response does not confirm a registration, even if the port is
// open.
func TestUnansweredPingDoesNotConfirmARegistration(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01")
		w.Player("P01")
		w.Player("P02", leaguetest.On(protocol.Ping.Name, leaguetest.FirstN(3, leaguetest.Silent, leaguetest.Normally)))
		w.WaitUntil(5 * leaguetest.Second)
		assert.Equal(t, []string{"P02"}, w.Manager.Status().Awaited)
		w.Finish()
		assert.Len(t, w.Manager.Results(), 1)
	})
}

// After the grace period, an unconfirmed registration is dropped for the next applicant, and
// not before.
func TestUnconfirmedRegistrationIsDroppedAfterTheGracePeriod(t *testing.T) {
	const grace = 20 * time.Second
	for _, test := range []struct {
		name  string
		slots int
		apply func(*protocol.LeagueRegisterRequest) // makes the second applicant collide with the first
		code  protocol.Code
	}{
		{"for its slot", 2, func(*protocol.LeagueRegisterRequest) {}, protocol.ErrLeagueFull},
		{"for its name", 10, func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.DisplayName = "Squatter" }, protocol.ErrDuplicateName},
		{"for its URL", 10, func(q *protocol.LeagueRegisterRequest) {
			q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("squatter")
		}, protocol.ErrInvalidEndpoint},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(0, 1, func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = test.slots, grace })
				w.Player("P01")
				squatter, err := w.Apply(w.Application("Squatter"))
				require.NoError(t, err)
				require.Equal(t, "P02", *squatter.PlayerID)
				w.PingOnly("beta")
				q := w.Application("Beta")
				test.apply(q)

				w.WaitUntil(grace - 1500*time.Millisecond)
				refused, err := w.Apply(q)
				require.NoError(t, err)
				assert.Equal(t, string(test.code), refused.ErrorCode)
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

				asked := w.Query("P02", protocol.QueryStatus)
				_, err = asked.Send()
				leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 6001)
				back := w.Application("Squatter")
				back.AuthToken = squatter.AuthToken
				_, err = w.Apply(back)
				leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 12)
			})
		})
	}
}

func TestLeagueFullErrorStatesTheLimits(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, func(o *league.Options) { o.MaxPlayers, o.MaxReferees = 2, 1 })
		w.Players(2)
		w.Referee("REF01")
		synctest.Wait()
		r, err := w.Apply(w.Application("Late"))
		require.NoError(t, err)
		assert.Equal(t, 2, number(r.Context["max_players"]))
		assert.Equal(t, 2, number(r.Context["current_players"]))
		assert.Zero(t, r.RetryAfterSec, "all have answered: waiting does not help")
		ref, err := w.ApplyReferee(w.RefereeApplication("Late"))
		require.NoError(t, err)
		assert.Equal(t, 1, number(ref.Context["max_referees"]))
	})
}

func TestDuplicateNameErrorHasASuggestion(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Player("P01")
		synctest.Wait()
		q := w.Application("Beta")
		q.PlayerMeta.DisplayName = "Agent P01"
		r, err := w.Apply(q)
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"display_name": "Agent P01", "suggestion": "Choose a different display_name"}, r.Context)
	})
}

// number returns a JSON number, which each carrier decodes to its own type.
func number(v any) int {
	if n, ok := v.(int); ok {
		return n
	}
	n, _ := v.(float64)
	return int(n)
}

// A confirmed agent keeps its slot even if it does not answer later.
func TestConfirmedAgentKeepsItsSlot(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = 1, leaguetest.Second })
		w.Player("P01")
		synctest.Wait()
		w.Agents()[1].Stop()
		w.WaitUntil(60 * leaguetest.Second)
		r, err := w.Apply(w.Application("Beta"))
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrLeagueFull), r.ErrorCode)
	})
}

// At most one player and one referee are registered at a URL.
func TestOnePlayerAndOneRefereePerURL(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.PingOnly("shared")
		at := leaguetest.EndpointOf("shared")
		player, referee := w.Application("One"), w.RefereeApplication("One")
		player.PlayerMeta.ContactEndpoint, referee.RefereeMeta.ContactEndpoint = at, at
		p, err := w.Apply(player)
		require.NoError(t, err)
		r, err := w.ApplyReferee(referee)
		require.NoError(t, err)
		assert.Equal(t, []string{protocol.StatusAccepted, protocol.StatusAccepted}, []string{p.Status, r.Status})
		synctest.Wait()

		second, other := w.Application("Two"), w.RefereeApplication("Two")
		second.PlayerMeta.ContactEndpoint, other.RefereeMeta.ContactEndpoint = at+"/", at+"?id=2"
		p, err = w.Apply(second)
		require.NoError(t, err)
		r, err = w.ApplyReferee(other)
		require.NoError(t, err)
		assert.Equal(t, []string{"E025", "E025"}, []string{p.ErrorCode, r.ErrorCode})
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
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 0, 1, func(o *league.Options) { o.Caller = test.caller(w) })
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
		})
	}
}

// The manager refuses a host that does not exist or resolves to forbidden addresses only. It
// accepts a host that it cannot resolve within a second.
func TestHostIsCheckedAtRegistration(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, func(o *league.Options) {
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
		grace := func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = 2, 20*leaguetest.Second }
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
		x = w.StartManagerIn(folder, 0, 1, grace)
		assert.Equal(t, []string{"P03"}, x.Manager.Status().Awaited)
		r, err = w.Apply(func() *protocol.LeagueRegisterRequest {
			q := w.Application("Gamma")
			q.Sender = protocol.PlayerSender("P02")
			return q
		}())
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrLeagueFull), r.ErrorCode)
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

// A free slot or name goes to the applicant that has waited longest, not to the most
// frequent caller.
func TestFreeSlotGoesToTheApplicantThatHasWaitedLongest(t *testing.T) {
	for _, test := range []struct {
		name  string
		slots int
		apply func(q *protocol.LeagueRegisterRequest)
		code  protocol.Code
	}{
		{"a slot", 2, func(*protocol.LeagueRegisterRequest) {}, protocol.ErrLeagueFull},
		{"a name", 10, func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.DisplayName = "Alpha" }, protocol.ErrDuplicateName},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(0, 1, func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = test.slots, 10*leaguetest.Second })
				squat := func(n int) string {
					q := w.Application(fmt.Sprint("Squatter", n))
					test.apply(q)
					r, err := w.Apply(q)
					require.NoError(t, err)
					return r.ErrorCode
				}
				q := w.Application("Honest")
				test.apply(q)
				w.PingOnly("honest")
				next, accepted := 1050*time.Millisecond, false
				for tick := 0; !accepted; tick++ {
					w.WaitUntil(time.Duration(tick) * 100 * time.Millisecond)
					squat(tick)
					if w.Now() < next {
						continue
					}
					r, err := w.Apply(q)
					require.NoError(t, err)
					if accepted = r.Status == protocol.StatusAccepted; !accepted {
						assert.Equal(t, string(test.code), r.ErrorCode)
						require.Positive(t, r.RetryAfterSec)
						next = w.Now() + protocol.Seconds(float64(r.RetryAfterSec))
					}
					require.Less(t, w.Now(), 25*leaguetest.Second, "twice the grace period and the time in which the queue expires")
				}
				synctest.Wait()
				assert.NotContains(t, w.Manager.Status().Awaited, "P03", "the accepted applicant answers")
			})
		})
	}
}

// Slots are reserved for as many applicants as wait, and only while they wait.
func TestSlotsAreReservedForWaitingApplicants(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = 2, 10*leaguetest.Second })
		apply := func(name string) *protocol.LeagueRegisterResponse {
			r, err := w.Apply(w.Application(name))
			require.NoError(t, err)
			return r
		}
		apply("One")
		apply("Two")
		first := apply("First")
		assert.Equal(t, 10, first.RetryAfterSec)
		w.WaitUntil(10 * leaguetest.Second)
		assert.Equal(t, protocol.StatusAccepted, apply("Newcomer").Status, "the second slot")
		late := apply("Late")
		require.Equal(t, string(protocol.ErrLeagueFull), late.ErrorCode)
		assert.Contains(t, *late.Reason, "the league is full: it takes 2 players; 1 other applicants have waited longer: try again in 6 s")
		assert.Equal(t, 6, late.RetryAfterSec)
		w.WaitUntil(17 * leaguetest.Second)
		assert.Equal(t, protocol.StatusAccepted, apply("Late").Status, "First did not apply again")
		assert.Equal(t, string(protocol.ErrLeagueFull), apply("First").ErrorCode)
	})
}

// A resumed league keeps its recorded grace period, because the audit checks by it.
func TestGracePeriodSurvivesARestart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 0, 1, func(o *league.Options) { o.MaxPlayers = 1 })
		_, err := w.Apply(w.Application("Silent"))
		require.NoError(t, err)
		x.Kill()
		x = w.StartManagerIn(folder, 0, 1, func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = 1, 8*leaguetest.Second })
		w.WaitUntil(8 * leaguetest.Second)
		r, err := w.Apply(w.Application("Beta"))
		require.NoError(t, err)
		assert.Equal(t, 22, r.RetryAfterSec)
		x.Kill()
	})
}

// The log counts the unconfirmed agents and names at most ten of them.
func TestLogNamesAtMostTenUnconfirmedAgents(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		var log leaguetest.LogBuffer
		w.StartManager(0, 1, func(o *league.Options) { o.Log = zerolog.New(&log) })
		for n := range 25 {
			_, err := w.Apply(w.Application(fmt.Sprint("Silent", n)))
			require.NoError(t, err)
		}
		w.Player("P50")
		synctest.Wait()
		assert.Contains(t, log.Text(), `"awaited_count":26,"awaited":["P01","P02","P03","P04","P05","P06","P07","P08","P09","P10"],"event_type":"REGISTERED"`)
		assert.Contains(t, log.Text(), `"id":"P50","awaited_count":25,`)
		assert.Len(t, w.Manager.Status().Awaited, 25)
	})
}
