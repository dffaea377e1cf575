package conversations

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// The files of a whole league, in which much goes wrong, tell of every match
// and of no token.
func TestALeagueOfMatchFiles(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		w.startManager(4, 2)
		w.writer("REF01", folder)
		w.writer("REF02", folder)
		w.player("P01")
		w.player("P02", does(protocol.ChooseParity.Name, inTurn(silent, editing("parity_choice", "Even"), editing("entropy", "00"), honestly)))
		w.player("P03", does(protocol.Invite.Name, inTurn(failing(errHangUp), refusing(protocol.ErrTokenInvalid), honestly)),
			does(protocol.NotifyMatchResult.Name, refusing(protocol.ErrTokenMissing)))
		w.player("P04", does(protocol.Invite.Name, silent))
		w.finish()

		names := filesOf(t, folder)
		require.Len(t, names, 6)
		for _, r := range w.manager.Results() {
			doc := matchFile(t, folder, leagueID+"/"+r.MatchID+".json")
			assert.Equal(t, store.StateAcknowledged, doc.Lifecycle.State)
			assert.Equal(t, []string{r.MatchID, r.RefereeID, r.Status, r.Reason}, []string{doc.MatchID, doc.RefereeID, doc.Result.Status, doc.Result.Reason})
			assert.Equal(t, []string{r.PlayerA, r.PlayerB}, []string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID})
		}
		secrets := w.secrets()
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(string(folder), "data", "matches", name))
			require.NoError(t, err)
			for what, secret := range secrets {
				assert.NotContains(t, string(text), secret, what)
			}
		}
	})
}

// A referee that dies between GAME_OVER and its report, and comes back while
// the manager waits, costs nobody anything.
func TestAManagerGetsTheResultOfARefereeThatComesBack(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		w.startManager(2, 1)
		r := w.writer("REF01", folder)
		stopped := make(chan struct{})
		w.player("P01", choosing("even"), slow(0, 0, 2*second))
		w.player("P02", choosing("odd"))
		go func() {
			defer close(stopped)
			w.at(1 * second) // P01 has not acknowledged GAME_OVER
			r.halt()
		}()
		<-stopped
		assert.Equal(t, []string{attemptFile(1)}, filesOf(t, folder))
		told := w.gameOver("p02").GameResult
		w.at(4 * second)
		w.writer("REF01", folder)
		w.finish()
		results := w.manager.Results()
		require.Len(t, results, 1)
		assert.Equal(t, told.Reason, results[0].Reason, "what the players were told counts")
		assert.Len(t, w.said(protocol.Invite.Name), 2, "it is not played again")
		assert.Equal(t, []string{theMatch}, filesOf(t, folder))
	})
}
