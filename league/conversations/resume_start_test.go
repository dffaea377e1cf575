package conversations

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/protocol"
)

// Who has registered stays, and who has not may still.
func TestAManagerThatDiesBeforeTheStart(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 4, 1)
		r := w.referee("REF01")
		w.player("P01")
		w.player("Somebody", withoutID)
		synctest.Wait() // they have answered the manager's pings
		x.kill()
		w.at(1 * second)
		x = w.tenure(folder, 4, 1)
		assert.True(t, x.manager.Resumed())
		assert.Equal(t, league.Status{
			State: decide.StateWaitingForRegistrations, Players: 2, Referees: 1, Agents: protocol.AgentStates{Registered: 3},
		}, x.manager.Status())
		assert.Equal(t, "REF01", r.referee.ID())
		_, data := w.query("P01", protocol.QueryStatus).answer() // with its old token
		assert.Contains(t, string(data), "WAITING_FOR_REGISTRATIONS")

		late := w.player("Nobody", withoutID)
		assert.Equal(t, "P03", late.player.ID(), "P02 is taken")
		q := w.application("Agent P01")
		q.PlayerMeta.ContactEndpoint = endpointOf("another")
		refused, err := w.apply(q)
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrDuplicateName), refused.ErrorCode)
		w.player("P04")
		x.finish()
		require.NoError(t, x.close())
		w.checkKept(folder)
	})
}

// A registration whose answer was lost is the same registration to the next
// manager.
func TestARegistrationWhoseAnswerDiedWithItsManager(t *testing.T) {
	for _, when := range []when{untold, followed} {
		t.Run(when.String(), func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				x := w.doomed(fate{4, when}, folder, 0, 1)
				w.listener("whistle")
				q := w.application("Alpha")
				var first *protocol.LeagueRegisterResponse
				_, err := w.applyReferee(w.refereeApplication("Whistle"))
				require.NoError(t, err)
				synctest.Wait() // the referee has answered the manager's ping: event 3
				first, err = w.apply(q)
				if when == untold {
					require.Error(t, err, "the answer is lost")
					x.bury()
				} else {
					require.NoError(t, err)
					x.kill() // its fate was another event
				}
				w.listener("alpha")
				w.tenure(folder, 0, 1)
				again, err := w.apply(q)
				require.NoError(t, err)
				require.Equal(t, protocol.StatusAccepted, again.Status)
				assert.Equal(t, "P01", *again.PlayerID)
				assert.Equal(t, w.token("P01"), again.AuthToken)
				if first != nil {
					assert.Equal(t, first.AuthToken, again.AuthToken)
				}
				other := w.application("Alpha")
				other.ConversationID = "conv-somebody-else"
				refused, err := w.apply(other)
				require.NoError(t, err)
				assert.Equal(t, string(protocol.ErrDuplicateName), refused.ErrorCode)
				assert.Equal(t, 1, w.manager.Status().Players)
				assert.NotContains(t, string(journalOf(w, folder)), q.ConversationID, "who reads the journal cannot ask for the token")
			})
		})
	}
}

// The registration window begins the league with who is there, if there are
// enough, or as soon as there are.
func TestTheRegistrationWindow(t *testing.T) {
	for _, test := range []struct {
		name    string
		fewest  int
		players []int // seconds at which they come
		begins  int   // second
		matches int
	}{
		{"enough have come", 2, []int{1, 2, 3}, 60, 3},
		{"too few have come: it begins with the next", 3, []int{1, 2, 90}, 90, 3},
		{"all have come before", 2, []int{1, 2, 3, 4, 5}, 5, 10},
		{"more come than the fewest, but too late", 2, []int{1, 2, 61}, 60, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(5, 1, func(o *league.Options) { o.RegistrationWindow, o.MinPlayers = 60*second, test.fewest })
				w.referee("REF01")
				for i, moment := range test.players {
					w.at(time.Duration(moment) * second)
					a := w.newPlayer(protocol.PlayerID(i + 1))
					if err := a.player.Register(w.life); err != nil {
						assert.Greater(t, moment, test.begins)
					}
				}
				w.finish()
				assert.Equal(t, test.begins, int(w.said(protocol.NotifyRound.Name, "p01")[0].at/second))
				assert.Len(t, w.manager.Results(), test.matches)
			})
		})
	}
}

// The next manager opens the window anew.
func TestTheRegistrationWindowOfTheNextManager(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		window := func(o *league.Options) { o.RegistrationWindow = 60 * second }
		x := w.tenure(folder, 0, 1, window)
		w.referee("REF01")
		w.players(2)
		w.at(50 * second)
		x.kill()
		x = w.tenure(folder, 0, 1, window)
		w.at(100 * second)
		w.player("P03")
		x.finish()
		assert.Equal(t, 110, int(w.said(protocol.NotifyRound.Name, "p01")[0].at/second))
		assert.Len(t, x.manager.Results(), 3)
	})
}

// What start_league has answered is not forgotten.
func TestALeagueThatWasStartedByHandStaysStarted(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x, o := w.accession(fate{}, folder, 0, 1)
		o.Pace = 30 * second
		require.NoError(t, x.reign(o))
		w.referee("REF01")
		w.players(3)
		synctest.Wait() // they have answered the manager's pings
		q := &protocol.ToolRequest{}
		q.AuthToken = x.manager.AdminToken()
		_, err := protocol.StartLeague.Call(w.life, w.stranger, w.manage(), q)
		require.NoError(t, err)
		kinds := w.kinds(folder)
		assert.Equal(t, "started", kinds[len(kinds)-1], "it is on disk before anybody is told")
		x.kill()
		x = w.tenure(folder, 0, 1)
		x.finish()
		assert.Len(t, x.manager.Results(), 3)
	})
}
