package conversations

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

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// notListening is one of our agents that registers before its port is open: open opens
// it.
func (w *world) notListening(id string, traits ...trait) (a *actor, open func()) {
	a = w.newPlayer(id, traits...)
	a.stop()
	return a, func() { a.stop = w.net.listen(a.host, a.mux, false) }
}

// Most agents open their port only after the response to their registration.
func TestAgentMayRegisterBeforeItListens(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 1)
		w.referee("REF01")
		w.player("P01", choosing("even"))
		late, open := w.notListening("P02", choosing("odd"))
		require.NoError(t, late.player.Register(w.life))
		assert.Zero(t, w.now(), "the response comes at once")
		w.later(3*second, open)
		w.at(2 * second)
		assert.Equal(t, []string{"P02"}, w.manager.Status().Awaited)
		assert.Equal(t, decide.StateWaitingForRegistrations, w.manager.Status().State)
		_, status := w.query("P01", protocol.QueryStatus).answer()
		assert.Contains(t, string(status), `"awaited":["P02"]`)
		w.finish()
		assert.Equal(t, protocol.StatusWin, w.manager.Results()[0].Status)
		first := w.said(protocol.NotifyRound.Name, "p02")[0].at
		assert.GreaterOrEqual(t, first, 3*second)
		assert.Less(t, first, 10*second)
	})
}

// A ping that gets no answer in time is no answer, although something listens.
func TestSilenceAtAnOpenPortIsNoAnswer(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 1)
		w.referee("REF01")
		w.player("P01")
		w.player("P02", does(protocol.Ping.Name, nTimes(3, silent, honestly)))
		w.at(5 * second)
		assert.Equal(t, []string{"P02"}, w.manager.Status().Awaited)
		w.finish()
		assert.Len(t, w.manager.Results(), 1)
	})
}

// After the grace period a registration without an answer makes way for another
// applicant, and for nobody before.
func TestSilentRegistrationMakesWay(t *testing.T) {
	const grace = 20 * time.Second
	for _, test := range []struct {
		name  string
		slots int
		apply func(*protocol.LeagueRegisterRequest) // the second applicant, in what it has of the first
		code  protocol.Code
	}{
		{"for its slot", 2, func(*protocol.LeagueRegisterRequest) {}, protocol.ErrLeagueFull},
		{"for its name", 10, func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.DisplayName = "Squatter" }, protocol.ErrDuplicateName},
		{"for its URL", 10, func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.ContactEndpoint = endpointOf("squatter") }, protocol.ErrInvalidEndpoint},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(0, 1, func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = test.slots, grace })
				w.player("P01")
				squatter, err := w.apply(w.application("Squatter"))
				require.NoError(t, err)
				require.Equal(t, "P02", *squatter.PlayerID)
				w.listener("beta")
				q := w.application("Beta")
				test.apply(q)

				w.at(grace - 1500*time.Millisecond)
				refused, err := w.apply(q)
				require.NoError(t, err)
				assert.Equal(t, string(test.code), refused.ErrorCode)
				assert.Equal(t, 2, refused.RetryAfterSec, "whole seconds, rounded up")
				assert.Contains(t, *refused.Reason, "P02 has not answered yet: try again in 2 s")
				assert.Equal(t, 2, w.manager.Status().Players)

				w.at(grace)
				q.Sender, q.ConversationID = protocol.PlayerSender("P02"), "conv-beta-again"
				accepted, err := w.apply(q)
				require.NoError(t, err)
				require.Equal(t, protocol.StatusAccepted, accepted.Status)
				assert.Equal(t, "P03", *accepted.PlayerID, "a dropped id is not granted again")
				assert.Equal(t, 2, w.manager.Status().Players)

				asked := w.query("P02", protocol.QueryStatus)
				_, err = asked.send()
				assertRefused(t, err, protocol.ErrTokenInvalid, 6001)
				back := w.application("Squatter")
				back.AuthToken = squatter.AuthToken
				_, err = w.apply(back)
				assertRefused(t, err, protocol.ErrTokenInvalid, 12)
			})
		})
	}
}

func TestFullLeagueTellsHowManyItTakes(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1, func(o *league.Options) { o.MaxPlayers, o.MaxReferees = 2, 1 })
		w.players(2)
		w.referee("REF01")
		synctest.Wait()
		r, err := w.apply(w.application("Late"))
		require.NoError(t, err)
		assert.Equal(t, 2, number(r.Context["max_players"]))
		assert.Equal(t, 2, number(r.Context["current_players"]))
		assert.Zero(t, r.RetryAfterSec, "all have answered: waiting does not help")
		ref, err := w.applyReferee(w.refereeApplication("Late"))
		require.NoError(t, err)
		assert.Equal(t, 1, number(ref.Context["max_referees"]))
	})
}

func TestDuplicateNameComesWithASuggestion(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		w.player("P01")
		synctest.Wait()
		q := w.application("Beta")
		q.PlayerMeta.DisplayName = "Agent P01"
		r, err := w.apply(q)
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"display_name": "Agent P01", "suggestion": "Choose a different display_name"}, r.Context)
	})
}

// number is a JSON number, whatever carried it.
func number(v any) int {
	if n, ok := v.(int); ok {
		return n
	}
	n, _ := v.(float64)
	return int(n)
}

// An agent that has answered once keeps its slot, however silent it is later.
func TestAgentThatHasAnsweredKeepsItsSlot(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1, func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = 1, second })
		w.player("P01")
		synctest.Wait()
		w.everybody()[1].stop()
		w.at(60 * second)
		r, err := w.apply(w.application("Beta"))
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrLeagueFull), r.ErrorCode)
	})
}

// At most one player and one referee are registered at a URL.
func TestOnePlayerAndOneRefereePerURL(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		w.listener("shared")
		at := endpointOf("shared")
		player, referee := w.application("One"), w.refereeApplication("One")
		player.PlayerMeta.ContactEndpoint, referee.RefereeMeta.ContactEndpoint = at, at
		p, err := w.apply(player)
		require.NoError(t, err)
		r, err := w.applyReferee(referee)
		require.NoError(t, err)
		assert.Equal(t, []string{protocol.StatusAccepted, protocol.StatusAccepted}, []string{p.Status, r.Status})
		synctest.Wait()

		second, other := w.application("Two"), w.refereeApplication("Two")
		second.PlayerMeta.ContactEndpoint, other.RefereeMeta.ContactEndpoint = at+"/", at+"?id=2"
		p, err = w.apply(second)
		require.NoError(t, err)
		r, err = w.applyReferee(other)
		require.NoError(t, err)
		assert.Equal(t, []string{"E025", "E025"}, []string{p.ErrorCode, r.ErrorCode})
	})
}

// A registration is dropped at once when its endpoint turns out to be one that
// must not be called, or that of a league manager.
func TestRegistrationIsDroppedForItsEndpoint(t *testing.T) {
	for _, test := range []struct {
		name   string
		caller func(w *world) protocol.Caller
		at     string
		reason string
	}{
		{"at a forbidden address", func(*world) protocol.Caller { return never{forbidden{}} }, "alpha", journal.DroppedForbidden},
		{"of a league manager", func(w *world) protocol.Caller { return w.caller(theBoss, 64<<10) }, theBoss, journal.DroppedManager},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				x := w.tenure(folder, 0, 1, func(o *league.Options) { o.Caller = test.caller(w) })
				q := w.application("Alpha")
				q.PlayerMeta.ContactEndpoint = endpointOf(test.at)
				r, err := w.apply(q)
				require.NoError(t, err)
				assert.Equal(t, protocol.StatusAccepted, r.Status)
				synctest.Wait()
				assert.Zero(t, x.manager.Status().Players)
				assert.Equal(t, []string{"created", "registered", "registration_dropped"}, w.kinds(folder))
				assert.Contains(t, string(journalOf(w, folder)), test.reason)
				x.kill()
			})
		})
	}
}

// A host that does not exist, or at forbidden addresses alone, is refused
// before the registration. One that cannot be resolved within a second passes.
func TestHostIsCheckedAtTheRegistration(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1, func(o *league.Options) {
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
		r, err := w.apply(w.application("Nowhere"))
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrInvalidEndpoint), r.ErrorCode)
		assert.Contains(t, *r.Reason, "host nowhere does not exist")
		r, err = w.apply(w.application("Slow"))
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusAccepted, r.Status)
		assert.Equal(t, second, w.now())
	})
}

// What is known of an answer outlives the manager, and the grace period of the
// others starts again.
func TestAnswersOutliveTheManager(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		grace := func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = 2, 20*second }
		x := w.tenure(folder, 0, 1, grace)
		w.player("P01")
		_, err := w.apply(w.application("Silent"))
		require.NoError(t, err)
		w.at(15 * second)
		x.kill()
		x = w.tenure(folder, 0, 1, grace)
		assert.Equal(t, []string{"P02"}, x.manager.Status().Awaited)
		w.at(30 * second)
		r, err := w.apply(w.application("Beta"))
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrLeagueFull), r.ErrorCode, "its grace period has started again at 15 s")
		assert.Equal(t, 5, r.RetryAfterSec)
		w.at(35 * second)
		r, err = w.apply(w.application("Beta"))
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusAccepted, r.Status)
		x.kill()
		x = w.tenure(folder, 0, 1, grace)
		assert.Equal(t, []string{"P03"}, x.manager.Status().Awaited)
		r, err = w.apply(func() *protocol.LeagueRegisterRequest {
			q := w.application("Gamma")
			q.Sender = protocol.PlayerSender("P02")
			return q
		}())
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrLeagueFull), r.ErrorCode)
		x.kill()
	})
}

// Only agents that have answered take part: the start drops the others.
func TestStartDropsAgentsThatHaveNotAnswered(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 0, 1)
		w.referee("REF01")
		w.player("P01")
		_, err := w.apply(w.application("Silent"))
		require.NoError(t, err)
		synctest.Wait()
		q := &protocol.ToolRequest{}
		q.AuthToken = w.manager.AdminToken()
		_, err = protocol.StartLeague.Call(w.life, w.stranger, w.manage(), q)
		assertRefused(t, err, protocol.ErrLeagueNotStarted, 30)
		assert.Contains(t, protocol.AsError(err).Detail, "1 players and 1 referees have answered")

		w.player("P03")
		w.begin()
		x.finish()
		assert.Len(t, x.manager.Results(), 1)
		require.NoError(t, x.close())
		state := w.checkKept(folder)
		assert.Equal(t, []string{"P01", "P03"}, state.Started.Players)
		assert.Equal(t, map[string]bool{"P02": true}, state.Dropped)
	})
}

// A server that has no agent at the path of an endpoint gives no answer.
func TestServerWithoutAnAgentAtThePathIsNoAnswer(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		w.player("P01")
		q := w.application("Squatter")
		q.PlayerMeta.ContactEndpoint = "http://p01:8000/nothing"
		_, err := w.apply(q)
		require.NoError(t, err)
		w.at(20 * second)
		assert.Equal(t, []string{"P02"}, w.manager.Status().Awaited)
	})
}

// A free slot or name goes to the applicant that has waited longest, not to the one
// that calls most often.
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
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(0, 1, func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = test.slots, 10*second })
				squat := func(n int) string {
					q := w.application(fmt.Sprint("Squatter", n))
					test.apply(q)
					r, err := w.apply(q)
					require.NoError(t, err)
					return r.ErrorCode
				}
				q := w.application("Honest")
				test.apply(q)
				w.listener("honest")
				next, accepted := 1050*time.Millisecond, false
				for tick := 0; !accepted; tick++ {
					w.at(time.Duration(tick) * 100 * time.Millisecond)
					squat(tick)
					if w.now() < next {
						continue
					}
					r, err := w.apply(q)
					require.NoError(t, err)
					if accepted = r.Status == protocol.StatusAccepted; !accepted {
						assert.Equal(t, string(test.code), r.ErrorCode)
						require.Positive(t, r.RetryAfterSec)
						next = w.now() + protocol.Seconds(float64(r.RetryAfterSec))
					}
					require.Less(t, w.now(), 25*second, "twice the grace period and the time in which the queue expires")
				}
				synctest.Wait()
				assert.NotContains(t, w.manager.Status().Awaited, "P03", "it answers")
			})
		})
	}
}

// Only as many slots are kept as applicants wait, and only as long as they wait.
func TestSlotsAreKeptForApplicantsThatWait(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1, func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = 2, 10*second })
		apply := func(name string) *protocol.LeagueRegisterResponse {
			r, err := w.apply(w.application(name))
			require.NoError(t, err)
			return r
		}
		apply("One")
		apply("Two")
		first := apply("First")
		assert.Equal(t, 10, first.RetryAfterSec)
		w.at(10 * second)
		assert.Equal(t, protocol.StatusAccepted, apply("Newcomer").Status, "the second slot")
		late := apply("Late")
		require.Equal(t, string(protocol.ErrLeagueFull), late.ErrorCode)
		assert.Contains(t, *late.Reason, "the league is full: it takes 2 players; 1 other applicants have waited longer: try again in 6 s")
		assert.Equal(t, 6, late.RetryAfterSec)
		w.at(17 * second)
		assert.Equal(t, protocol.StatusAccepted, apply("Late").Status, "First did not apply again")
		assert.Equal(t, string(protocol.ErrLeagueFull), apply("First").ErrorCode)
	})
}

// A league that goes on keeps its grace period, by which it is audited.
func TestGracePeriodOutlivesTheManager(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 0, 1, func(o *league.Options) { o.MaxPlayers = 1 })
		_, err := w.apply(w.application("Silent"))
		require.NoError(t, err)
		x.kill()
		x = w.tenure(folder, 0, 1, func(o *league.Options) { o.MaxPlayers, o.RegistrationGrace = 1, 8*second })
		w.at(8 * second)
		r, err := w.apply(w.application("Beta"))
		require.NoError(t, err)
		assert.Equal(t, 22, r.RetryAfterSec)
		x.kill()
	})
}

// The log counts the agents that have not answered, and names ten of them.
func TestLogNamesAtMostTenAwaitedAgents(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		var book logbook
		w.startManager(0, 1, func(o *league.Options) { o.Log = zerolog.New(&book) })
		for n := range 25 {
			_, err := w.apply(w.application(fmt.Sprint("Silent", n)))
			require.NoError(t, err)
		}
		w.player("P50")
		synctest.Wait()
		assert.Contains(t, book.lines.String(), `"awaited_count":26,"awaited":["P01","P02","P03","P04","P05","P06","P07","P08","P09","P10"],"event_type":"REGISTERED"`)
		assert.Contains(t, book.lines.String(), `"id":"P50","awaited_count":25,`)
		assert.Len(t, w.manager.Status().Awaited, 25)
	})
}
