package conversations

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

func TestReturnedPlayerHasTheTotalsOfItsWholeLeague(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := store.Folder(t.TempDir())
		w.startManager(2, 1, func(o *league.Options) { o.Legs = 2 })
		w.referee("REF01")
		first := w.lives("P01", folder)
		w.player("P02", does(protocol.ChooseParity.Name, after(10*second, honestly)))
		w.at(11 * second) // in the second of two rounds
		require.Nil(t, first.player.Record().League, "it was there all the time")
		require.Len(t, w.manager.Results(), 1)
		first.stop()
		require.NoError(t, first.player.Close())
		require.NoError(t, os.Remove(folder.History("P01")))

		again := w.lives("P01", folder)
		r := w.manager.Standings()[0]
		if r.PlayerID != "P01" {
			r = w.manager.Standings()[1]
		}
		assert.Zero(t, again.player.Record().Stats.TotalMatches)
		assert.Equal(t, &protocol.PlayerStats{TotalMatches: 1, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses}, again.player.Record().League)
		end := w.finish()
		require.NotNil(t, again.player.Record().League)
		assert.Equal(t, 2, again.player.Record().League.TotalMatches, "as the last table says")
		assert.Equal(t, 1, again.player.Record().Stats.TotalMatches, "its own history")
		assert.Equal(t, 2, end.FinalStandings[0].Played)

		q := &protocol.ToolRequest{}
		q.AuthToken = w.token("P01")
		state, err := protocol.GetPlayerState.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf("p01")}, q)
		require.NoError(t, err)
		assert.Equal(t, again.player.Record().League, state.LeagueStats)
		assert.Equal(t, 1, state.Stats.TotalMatches)
	})
}
