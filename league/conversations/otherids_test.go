package conversations

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// The third-party manager knows our players by the ids of a static file, P11 and
// P12, and tells only the referee.
func TestPlayersAndRefereeOfOursPlayUnderAManagerThatKnowsPlayersByOtherIDs(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.unchecked[theBoss] = true
		tokenless := altogether(honestly, "manager_auth", "")
		boss := w.boss(does(protocol.RegisterPlayer.Name, tokenless), does(protocol.RegisterReferee.Name, tokenless))
		r := w.referee("REF01")
		one, two := w.player("P01", choosing("even")), w.player("P02", choosing("odd"))
		q := w.assignment("R1M1", 1, "REF01")
		q.PlayerA.PlayerID, q.PlayerA.AccessToken = "P11", ""
		q.PlayerB.PlayerID, q.PlayerB.AccessToken = "P12", ""
		ack, err := w.assign(boss, r, q)
		require.NoError(t, err)
		require.Equal(t, protocol.StatusAccepted, ack.Status)
		w.at(second)

		assert.Empty(t, w.complaints())
		report := read[protocol.MatchResultReport](w.only(protocol.ReportMatchResult.Name, theBoss).message)
		assert.Equal(t, protocol.StatusWin, report.Result.Details.Status)
		assert.Len(t, report.Draw.Entropies, 2)
		require.NotNil(t, report.Result.Winner)
		won, lost := one, two
		if *report.Result.Winner == "P12" {
			won, lost = two, one
		}
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Wins: 1}, won.player.Record().Stats)
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Losses: 1}, lost.player.Record().Stats)
	})
}
