package manager_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// Registrations survive a restart, and registration stays open.
func TestRegistrationsSurviveARestart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1)
		r := w.Referee("REF01")
		w.Player("P01")
		w.Player("Somebody", leaguetest.WithoutID)
		synctest.Wait() // the agents have answered the manager's pings
		x.Kill()
		w.WaitUntil(1 * leaguetest.Second)
		x = w.StartManagerIn(folder, 4, 1)
		assert.True(t, x.Manager.Resumed())
		assert.Equal(t, league.Status{
			State: decide.StateWaitingForRegistrations, Players: 2, Referees: 1, Agents: protocol.AgentStates{Registered: 3},
		}, x.Manager.Status())
		assert.Equal(t, "REF01", r.Referee.ID())
		_, data := answer(w.Query("P01", protocol.QueryStatus)) // with its token from before the restart
		assert.Contains(t, string(data), "WAITING_FOR_REGISTRATIONS")

		late := w.Player("Nobody", leaguetest.WithoutID)
		assert.Equal(t, "P03", late.Player.ID(), "P02 is taken")
		q := w.Application("Agent P01")
		q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("another")
		refused, err := w.Apply(q)
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrDuplicateName), refused.ErrorCode)
		w.Player("P04")
		x.Finish()
		require.NoError(t, x.CloseFiles())
		w.CheckFiles(folder)
	})
}

// A registration without a received response can be repeated after a restart.
func TestRegistrationWithALostResponseIsIdempotent(t *testing.T) {
	for _, when := range []leaguetest.Moment{leaguetest.BeforeTelling, leaguetest.AfterTelling} {
		t.Run(when.String(), func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartMortalManager(leaguetest.CrashPoint{Event: 4, When: when}, folder, 0, 1)
				w.PingOnly("whistle")
				q := w.Application("Alpha")
				var first *protocol.LeagueRegisterResponse
				_, err := w.ApplyReferee(w.RefereeApplication("Whistle"))
				require.NoError(t, err)
				synctest.Wait() // the referee has answered the manager's ping: event 3
				first, err = w.Apply(q)
				if when == leaguetest.BeforeTelling {
					require.Error(t, err, "the response is lost")
					x.RestoreDisk()
				} else {
					require.NoError(t, err)
					x.Kill() // the crash point is the next event
				}
				w.PingOnly("alpha")
				w.StartManagerIn(folder, 0, 1)
				again, err := w.Apply(q)
				require.NoError(t, err)
				require.Equal(t, protocol.StatusAccepted, again.Status)
				assert.Equal(t, "P01", *again.PlayerID)
				assert.Equal(t, w.Token("P01"), again.AuthToken)
				if first != nil {
					assert.Equal(t, first.AuthToken, again.AuthToken)
				}
				other := w.Application("Alpha")
				other.ConversationID = "conv-somebody-else"
				refused, err := w.Apply(other)
				require.NoError(t, err)
				assert.Equal(t, string(protocol.ErrDuplicateName), refused.ErrorCode)
				assert.Equal(t, 1, w.Manager.Status().Players)
				assert.NotContains(t, string(leaguetest.ReadJournal(w, folder)), q.ConversationID, "a reader of the journal cannot repeat the registration to get the token")
			})
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
		{"all players register before the end", 2, []int{1, 2, 3, 4, 5}, 5, 10},
		{"one registers after the start", 2, []int{1, 2, 61}, 60, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(5, 1, func(o *league.Options) { o.RegistrationWindow, o.MinPlayers = 60*leaguetest.Second, test.fewest })
				w.Referee("REF01")
				for i, moment := range test.players {
					w.WaitUntil(time.Duration(moment) * leaguetest.Second)
					a := w.NewPlayer(protocol.PlayerID(i + 1))
					if err := a.Player.Register(w.Context); err != nil {
						assert.Greater(t, moment, test.begins)
					}
				}
				w.Finish()
				assert.Equal(t, test.begins, int(w.Calls(protocol.NotifyRound.Name, "p01")[0].At/leaguetest.Second))
				assert.Len(t, w.Manager.Results(), test.matches)
			})
		})
	}
}

func TestRegistrationWindowRestartsWithTheManager(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		window := func(o *league.Options) { o.RegistrationWindow = 60 * leaguetest.Second }
		x := w.StartManagerIn(folder, 0, 1, window)
		w.Referee("REF01")
		w.Players(2)
		w.WaitUntil(50 * leaguetest.Second)
		x.Kill()
		x = w.StartManagerIn(folder, 0, 1, window)
		w.WaitUntil(100 * leaguetest.Second)
		w.Player("P03")
		x.Finish()
		assert.Equal(t, 110, int(w.Calls(protocol.NotifyRound.Name, "p01")[0].At/leaguetest.Second))
		assert.Len(t, x.Manager.Results(), 3)
	})
}

func TestStartedLeagueStaysStartedAfterARestart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x, o := w.OpenManager(leaguetest.CrashPoint{}, folder, 0, 1)
		o.Pace = 30 * leaguetest.Second
		require.NoError(t, x.Start(o))
		w.Referee("REF01")
		w.Players(3)
		synctest.Wait() // the agents have answered the manager's pings
		q := &protocol.ToolRequest{}
		q.AuthToken = x.Manager.AdminToken()
		_, err := protocol.StartLeague.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
		require.NoError(t, err)
		kinds := w.EventTypes(folder)
		assert.Equal(t, "started", kinds[len(kinds)-1], "the event is durable before the response")
		x.Kill()
		x = w.StartManagerIn(folder, 0, 1)
		x.Finish()
		assert.Len(t, x.Manager.Results(), 3)
	})
}
