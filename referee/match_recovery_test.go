package referee_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

func TestRestartedPlayerRejectsUnauthorizedReferees(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *leaguetest.World, c *leaguetest.ScriptedReferee)
		code   protocol.Code
	}{
		{"no token", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.Token = "" }, protocol.ErrMatchNotFound},
		{"the token of another player", func(w *leaguetest.World, c *leaguetest.ScriptedReferee) {
			c.Token = w.AccessToken("P02", "R1M1", 1, "REF01")
		}, protocol.ErrMatchNotFound},
		{"another sender", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.Sender = "REF02" }, protocol.ErrMatchNotFound},
		{"the referee of another match", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.MatchID = "R1M2" }, protocol.ErrMatchNotFound},
		{"the referee of another attempt", func(_ *leaguetest.World, c *leaguetest.ScriptedReferee) { c.Attempt = 2 }, protocol.ErrMatchNotFound},
		{"the referee of a finished attempt", func(w *leaguetest.World, c *leaguetest.ScriptedReferee) {
			_, err := w.ScriptedReferee(c.To, "R1M1", 2).SendGameOver(8)
			require.NoError(w.T, err)
		}, protocol.ErrInvalidMatchState},
		{"the referee of an earlier attempt", func(w *leaguetest.World, c *leaguetest.ScriptedReferee) {
			_, err := w.ScriptedReferee(c.To, "R1M1", 2).Choose()
			require.NoError(w.T, err)
		}, protocol.ErrTokenInvalid},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder := store.Folder(t.TempDir())
			w.ScriptedManager()
			w.PlayerIn("P01", folder).Stop()
			c := w.ScriptedReferee(w.PlayerIn("P01", folder), "R1M1", 1)
			test.change(w, c)
			_, err := c.Choose()
			assert.Equal(t, test.code, protocol.AsError(err).Code)
		})
	}
}

// A call may arrive before the player has re-registered.
func TestCallWaitsForTheReregistrationOfThePlayer(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.Folder(t.TempDir())
		manager := w.ScriptedManager()
		p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
		_, err := w.ScriptedReferee(p, "R1M1", 1).Invite()
		require.NoError(t, err)
		p.Stop()
		manager.Stop()
		p = w.NewPlayerIn("P01", folder, nil, leaguetest.WithStrategy("even"))
		w.RunAt(5*leaguetest.Second, func() { w.ScriptedManager() })
		w.Background.Go(func() { assert.NoError(t, p.Player.Register(w.Context)) })
		time.Sleep(time.Second)
		chosen, err := w.ScriptedReferee(p, "R1M1", 1).Choose()
		require.NoError(t, err)
		assert.Equal(t, "even", chosen.ParityChoice)
		assert.GreaterOrEqual(t, w.Now(), 5*leaguetest.Second)
	})
}

// The player crashes during its choice or at GAME_OVER. The match ends normally.
func TestMatchContinuesAfterAPlayerCrash(t *testing.T) {
	for _, method := range []string{protocol.Invite.Name, protocol.ChooseParity.Name, protocol.NotifyMatchResult.Name} {
		leaguetest.RunInMemory(t, method, func(t *testing.T, w *leaguetest.World) {
			folder := store.Folder(t.TempDir())
			w.StartManager(2, 1)
			w.Referee("REF01")
			var crashed, restarted *leaguetest.Agent
			crashed = w.PlayerIn("P01", folder, leaguetest.On(method, leaguetest.InTurn(func(c *leaguetest.Call) (jsontext.Value, error) {
				if method == protocol.Invite.Name { // it has answered, but the reply is lost
					_, _ = c.OwnAnswer()
				}
				w.Background.Go(func() {
					crashed.Stop()
					time.Sleep(time.Second)
					restarted = w.PlayerIn("P01", folder)
				})
				time.Sleep(time.Millisecond) // of virtual time: it has stopped before the league is over
				return nil, leaguetest.ErrHangUp
			})))
			w.Player("P02")
			w.Finish()
			require.NotNil(t, restarted)
			require.NoError(t, restarted.Player.Close())
			results := w.Manager.Results()
			require.Len(t, results, 1)
			assert.NotEqual(t, league.StatusTechnicalLoss, results[0].Status)
			if method == protocol.NotifyMatchResult.Name {
				return // GAME_OVER is sent once
			}
			assert.Equal(t, 1, restarted.Player.Record().Stats.TotalMatches)
			assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Matches, 1)
		})
	}
}
