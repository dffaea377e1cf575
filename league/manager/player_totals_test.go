package manager_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

func TestReturnedPlayerHasTheTotalsOfTheWholeLeague(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.Folder(t.TempDir())
		w.StartManager(2, 1, func(o *league.Options) { o.Legs = 2 })
		w.Referee("REF01")
		first := w.PlayerIn("P01", folder)
		w.Player("P02", leaguetest.On(protocol.ChooseParity.Name, leaguetest.Delayed(10*leaguetest.Second, leaguetest.Normally)))
		w.WaitUntil(11 * leaguetest.Second) // in the second of two rounds
		require.Nil(t, first.Player.Record().League, "it has played the whole league")
		require.Len(t, w.Manager.Results(), 1)
		first.Stop()
		require.NoError(t, first.Player.Close())
		require.NoError(t, os.RemoveAll(filepath.Dir(folder.History("P01"))))

		again := w.PlayerIn("P01", folder)
		r := w.Manager.Standings()[0]
		if r.PlayerID != "P01" {
			r = w.Manager.Standings()[1]
		}
		assert.Zero(t, again.Player.Record().Stats.TotalMatches)
		assert.Equal(t, &protocol.PlayerStats{TotalMatches: 1, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses}, again.Player.Record().League)
		end := w.Finish()
		require.NotNil(t, again.Player.Record().League)
		assert.Equal(t, 2, again.Player.Record().League.TotalMatches, "by the final standings")
		assert.Equal(t, 1, again.Player.Record().Stats.TotalMatches, "by its own history")
		assert.Equal(t, 2, end.FinalStandings[0].Played)

		q := &protocol.ToolRequest{}
		q.AuthToken = w.Token("P01")
		state, err := protocol.GetPlayerState.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf("p01")}, q)
		require.NoError(t, err)
		assert.Equal(t, again.Player.Record().League, state.LeagueStats)
		assert.Equal(t, 1, state.Stats.TotalMatches)
	})
}
