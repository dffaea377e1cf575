package referee_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// The files of a league with many faults have all matches and no tokens.
func TestEveryMatchOfALeagueHasAFile(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		w.StartManager(4, 2)
		w.RefereeWithFiles("REF01", folder)
		w.RefereeWithFiles("REF02", folder)
		w.Player("P01")
		w.Player("P02", leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.EditAnswer("entropy", "00"), leaguetest.Normally)))
		w.Player("P03", leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.RefuseWith(protocol.ErrTokenInvalid), leaguetest.Normally)),
			leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.RefuseWith(protocol.ErrTokenMissing)))
		w.Player("P04", leaguetest.On(protocol.Invite.Name, leaguetest.Silent))
		w.Finish()

		names := leaguetest.MatchFiles(t, folder)
		require.Len(t, names, 6)
		for _, r := range w.Manager.Results() {
			doc := leaguetest.ReadMatchFile(t, folder, leaguetest.LeagueID+"/"+r.MatchID+".json")
			assert.Equal(t, store.StateAcknowledged, doc.Lifecycle.State)
			assert.Equal(t, []string{r.MatchID, r.RefereeID, r.Status, r.Reason}, []string{doc.MatchID, doc.RefereeID, doc.Result.Status, doc.Result.Reason})
			assert.Equal(t, []string{r.PlayerA, r.PlayerB}, []string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID})
		}
		secrets := w.AllTokens()
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(string(folder), "data", "matches", name))
			require.NoError(t, err)
			for what, secret := range secrets {
				assert.NotContains(t, string(text), secret, what)
			}
		}
	})
}

// A referee that dies between GAME_OVER and its report, and re-registers, reports the same
// result.
func TestRestartedRefereeReportsItsResult(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		w.StartManager(2, 1)
		r := w.RefereeWithFiles("REF01", folder)
		stopped := make(chan struct{})
		w.Player("P01", leaguetest.WithStrategy("even"), leaguetest.WithDelays(0, 0, 2*leaguetest.Second))
		w.Player("P02", leaguetest.WithStrategy("odd"))
		go func() {
			defer close(stopped)
			w.WaitUntil(1 * leaguetest.Second) // before P01 acknowledges GAME_OVER
			r.StopReferee()
		}()
		<-stopped
		assert.Equal(t, []string{leaguetest.AttemptFile(1)}, leaguetest.MatchFiles(t, folder))
		sent := w.GameOver("p02").GameResult
		w.WaitUntil(4 * leaguetest.Second)
		w.RefereeWithFiles("REF01", folder)
		w.Finish()
		results := w.Manager.Results()
		require.Len(t, results, 1)
		assert.Equal(t, sent.Reason, results[0].Reason, "the result that the players got")
		assert.Len(t, w.Calls(protocol.Invite.Name), 2, "no second match")
		assert.Equal(t, []string{leaguetest.FirstMatchFile}, leaguetest.MatchFiles(t, folder))
	})
}
