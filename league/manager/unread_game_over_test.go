package manager_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

func TestPlayerWithoutGameOverReadsItsResultsFromTheStandings(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(4, 1)
		w.Referee("REF01")
		player := w.Player("P01", leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.RefuseWith(protocol.ErrInvalidFieldType)))
		for _, id := range []string{"P02", "P03", "P04"} {
			w.Player(id)
		}
		end := w.Finish()
		for _, row := range end.FinalStandings {
			if row.PlayerID == "P01" {
				want := protocol.PlayerStats{TotalMatches: 3, Wins: row.Wins, Draws: row.Draws, Losses: row.Losses}
				assert.Equal(t, want, player.Player.Record().Stats)
			}
		}
		q := &protocol.ToolRequest{}
		q.AuthToken = w.Token("P01")
		state, err := protocol.GetPlayerState.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf("p01")}, q)
		require.NoError(t, err)
		require.Len(t, state.Matches, 3)
		for _, m := range state.Matches {
			assert.True(t, m.FromStandings)
			assert.NotEmpty(t, m.MyChoice)
			assert.NotEmpty(t, m.OpponentID)
			assert.Empty(t, m.OpponentChoice)
			assert.Zero(t, m.DrawnNumber)
		}
	})
}
