package referee_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// The third-party manager uses other player ids, P11 and P12 of a static file, and sends
// them to the referee only.
func TestThirdPartyManagerMayUseOtherPlayerIDs(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Unchecked[leaguetest.ManagerHost] = true
		tokenless := leaguetest.ThenEdit(leaguetest.Normally, "manager_auth", "")
		manager := w.ScriptedManager(leaguetest.On(protocol.RegisterPlayer.Name, tokenless), leaguetest.On(protocol.RegisterReferee.Name, tokenless))
		r := w.Referee("REF01")
		one, two := w.Player("P01", leaguetest.WithStrategy("even")), w.Player("P02", leaguetest.WithStrategy("odd"))
		q := w.Assignment("R1M1", 1, "REF01")
		q.PlayerA.PlayerID, q.PlayerA.AccessToken = "P11", ""
		q.PlayerB.PlayerID, q.PlayerB.AccessToken = "P12", ""
		ack, err := w.Assign(manager, r, q)
		require.NoError(t, err)
		require.Equal(t, protocol.StatusAccepted, ack.Status)
		w.WaitUntil(leaguetest.Second)

		assert.Empty(t, w.GameErrors())
		report := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
		assert.Equal(t, league.StatusWin, report.Result.Details.Status)
		assert.Len(t, report.Draw.Entropies, 2)
		require.NotNil(t, report.Result.Winner)
		won, lost := one, two
		if *report.Result.Winner == "P12" {
			won, lost = two, one
		}
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Wins: 1}, won.Player.Record().Stats)
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Losses: 1}, lost.Player.Record().Stats)
	})
}
