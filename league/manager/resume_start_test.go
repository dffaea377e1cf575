package manager_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// Registrations survive a restart, and registration stays open.
func TestRegistrationsSurviveARestart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1)
		r := w.Referee("REF01")
		w.Player("P01")
		w.Player("Somebody", leaguetest.WithoutID)
		synctest.Wait() // the agents have answered the manager's pings
		x.Kill()
		w.WaitUntil(1 * leaguetest.Second)
		x = w.StartManagerIn(x.Folder, 4, 1)
		assert.True(t, x.Manager.Resumed())
		assert.Equal(t, manager.Status{
			State: decide.StateWaitingForRegistrations, Counts: decide.Counts{Players: 2, Referees: 1},
			Agents: protocol.AgentStates{Registered: 3},
		}, x.Manager.Status())
		assert.Equal(t, "REF01", r.Referee.ID())
		_, data := answer(w.Query("P01", protocol.QueryStatus)) // with its token from before the restart
		assert.Contains(t, string(data), "WAITING_FOR_REGISTRATIONS")

		late := w.Player("Nobody", leaguetest.WithoutID)
		assert.Equal(t, "P03", late.Player.ID(), "P02 is taken")
		q := w.Application("Agent P01")
		q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("another")
		assert.Equal(t, string(protocol.ErrDuplicateName), mustApply(w, q).ErrorCode)
		w.Player("P04")
		finish(x)
	})
}

// A registration without a received response can be repeated after a restart.
func TestRegistrationWithALostResponseIsIdempotent(t *testing.T) {
	for _, when := range []leaguetest.Moment{leaguetest.BeforeTelling, leaguetest.AfterTelling} {
		leaguetest.RunInMemory(t, when.String(), func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			x := w.StartMortalManager(leaguetest.CrashPoint{Event: 4, When: when}, folder, 0, 1)
			w.PingOnly("whistle")
			q := w.Application("Alpha")
			mustApplyReferee(w, w.RefereeApplication("Whistle"))
			synctest.Wait() // the referee has answered the manager's ping: event 3
			first, err := w.Apply(q)
			if when == leaguetest.BeforeTelling {
				require.Error(t, err, "the response is lost")
				x.RestoreDisk()
			} else {
				require.NoError(t, err)
				x.Kill() // the crash point is the next event
			}
			w.PingOnly("alpha")
			w.StartManagerIn(folder, 0, 1)
			again := mustApply(w, q)
			require.Equal(t, protocol.StatusAccepted, again.Status)
			assert.Equal(t, "P01", *again.PlayerID)
			assert.Equal(t, w.Token("P01"), again.AuthToken)
			if first != nil {
				assert.Equal(t, first.AuthToken, again.AuthToken)
			}
			other := w.Application("Alpha")
			other.ConversationID = "conv-somebody-else"
			assert.Equal(t, string(protocol.ErrDuplicateName), mustApply(w, other).ErrorCode)
			assert.Equal(t, 1, w.Manager.Status().Players)
			assert.NotContains(t, string(leaguetest.ReadJournal(w, folder)), q.ConversationID, "a reader of the journal cannot repeat the registration to get the token")
		})
	}
}

// At the end of the registration window the league starts with the registered agents, or
// later as soon as there are enough.
func TestLeagueStartsAfterTheRegistrationWindow(t *testing.T) {
	for _, test := range []struct {
		name    string
		fewest  int
		players []int // seconds of their registrations
		begins  int   // second of the start
		matches int
	}{
		{"enough players", 2, []int{1, 2, 3}, 60, 3},
		{"too few players: it starts with the next one", 3, []int{1, 2, 90}, 90, 3},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(5, 1, func(o *manager.Options) { o.RegistrationWindow, o.MinPlayers = 60, test.fewest })
			w.Referee("REF01")
			for i, moment := range test.players {
				w.WaitUntil(time.Duration(moment) * leaguetest.Second)
				a := w.NewPlayer(league.PlayerID(i + 1))
				if err := a.Player.Register(w.Context); err != nil {
					assert.Greater(t, moment, test.begins)
				}
			}
			w.Finish()
			assert.Equal(t, test.begins, int(w.Calls(protocol.NotifyRound.Name, "p01")[0].At/leaguetest.Second))
			assert.Len(t, leaguetest.Results(w.Manager), test.matches)
		})
	}
}

func TestStartedLeagueStaysStartedAfterARestart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x, o := w.OpenManager(leaguetest.CrashPoint{}, folder, 0, 1)
		o.Pace = 30
		require.NoError(t, x.Start(o))
		w.Referee("REF01")
		w.Players(3)
		synctest.Wait() // the agents have answered the manager's pings
		_, err := startLeague(w, x.Manager.AdminToken())
		require.NoError(t, err)
		kinds := w.EventTypes(folder)
		assert.Equal(t, "started", kinds[len(kinds)-1], "the event is durable before the response")
		x.Kill()
		x = w.StartManagerIn(folder, 0, 1)
		x.Finish()
		assert.Len(t, leaguetest.Results(x.Manager), 3)
	})
}

// withTokenTTL makes tokens valid for an hour.
func withTokenTTL(o *manager.Options) { o.TokenTTL = 3600 }

// statusWith queries the league's status with a token.
func statusWith(w *leaguetest.World, id, token string) error {
	q := w.Query(id, protocol.QueryStatus)
	q.AuthToken = token
	_, err := q.Send()
	return err
}

// An expired token only authorizes the request of a new token. That request is idempotent
// until the new token is used.
func TestExpiredTokenOnlyRenewsItself(t *testing.T) {
	for name, restarts := range map[string]bool{"under the same manager": false, "under the next manager": true} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 0, 1, withTokenTTL)
			restart := func() {
				if restarts {
					x.Kill()
					x = w.StartManagerIn(x.Folder, 0, 1, withTokenTTL)
				}
			}
			w.PingOnly("alpha")
			q := w.Application("Alpha")
			first := mustApply(w, q)
			old := first.AuthToken
			w.WaitUntil(time.Hour)
			require.NoError(t, statusWith(w, "P01", old))
			w.WaitUntil(time.Hour + leaguetest.Second)
			restart()
			err := statusWith(w, "P01", old)
			leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 6001)
			assert.Contains(t, err.Error(), "register again")

			q.AuthToken, q.ConversationID = old, "conv-again"
			for range 2 { // the first response is lost
				renewed := mustApply(w, q)
				require.Equal(t, protocol.StatusAccepted, renewed.Status)
				assert.Equal(t, "P01", *renewed.PlayerID)
				assert.Equal(t, w.TokenOf("P01", 2), renewed.AuthToken)
				restart()
			}
			require.Error(t, statusWith(w, "P01", old))
			require.NoError(t, statusWith(w, "P01", w.TokenOf("P01", 2)))
			_, err = w.Apply(q)
			leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 12)

			q.AuthToken = w.TokenOf("P01", 2)
			assert.Equal(t, q.AuthToken, mustApply(w, q).AuthToken, "the token has not expired")
			w.WaitUntil(2*time.Hour + 2*leaguetest.Second)
			restart()
			require.Error(t, statusWith(w, "P01", q.AuthToken))
			third := mustApply(w, q)
			assert.Equal(t, w.TokenOf("P01", 3), third.AuthToken)
			require.NoError(t, statusWith(w, "P01", third.AuthToken))
			kinds := w.EventTypes(x.Folder)
			assert.Equal(t, 2, count(kinds, "agent_returned"))
		})
	}
}

// A referee with an expired token may still report its assigned matches.
func TestLeagueContinuesAfterItsTokensExpired(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
		hourly := func(o *manager.Options) { o.TokenTTL, o.Pace = 3600, 3000 }
		x := w.StartManagerIn(folder, 4, 1, hourly)
		w.RefereeWithFiles("REF01", files)
		w.Players(4)
		finish(x)
		assert.Equal(t, 150*time.Minute, w.Now())
		require.Error(t, statusWith(w, "P01", w.Token("P01")), "all other calls need a new token")
	})
}

// Tokens have the configured length, and all derived credentials still work.
func TestTokensHaveTheConfiguredLength(t *testing.T) {
	for _, length := range []int{22, 30, protocol.MaxTokenLength} {
		leaguetest.RunInMemory(t, string(rune('0'+length/10))+"…", func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			withLength := func(o *manager.Options) { o.TokenLength = length }
			x := w.StartManagerIn(folder, 4, 1, withLength)
			w.Referee("REF01")
			w.Players(2)
			w.PingOnly("alpha")
			r := mustApply(w, w.Application("Alpha"))
			full := w.Token("P03")
			assert.Equal(t, full[:len("tok-p03-")+length], r.AuthToken)
			assert.Len(t, r.AuthToken, len("tok-p03-")+length)
			require.NoError(t, statusWith(w, "P03", r.AuthToken))
			if length < protocol.MaxTokenLength {
				require.Error(t, statusWith(w, "P03", full))
			}
			x.Kill()
			x = w.StartManagerIn(folder, 3, 1, withLength)
			x.Finish()
			for _, r := range leaguetest.Results(x.Manager) {
				if r.PlayerBID != "P03" { // P03 only answers pings
					assert.NotEqual(t, league.StatusTechnicalLoss, r.Status)
				}
			}
		})
	}
}
