package conversations

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

func TestPlayerThatReadsNoGameOverLearnsItsResultsFromTheStandings(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(4, 1)
		w.referee("REF01")
		deaf := w.player("P01", does(protocol.NotifyMatchResult.Name, refusing(protocol.ErrInvalidFieldType)))
		for _, id := range []string{"P02", "P03", "P04"} {
			w.player(id)
		}
		end := w.finish()
		for _, row := range end.FinalStandings {
			if row.PlayerID == "P01" {
				want := protocol.PlayerStats{TotalMatches: 3, Wins: row.Wins, Draws: row.Draws, Losses: row.Losses}
				assert.Equal(t, want, deaf.player.Record().Stats)
			}
		}
		q := &protocol.ToolRequest{}
		q.AuthToken = w.token("P01")
		state, err := protocol.GetPlayerState.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf("p01")}, q)
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
