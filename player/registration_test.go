package player_test

import (
	"bytes"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/player"
)

// A killed player returns while its manager is away, so the result of its match arrives before
// its registration ends. The player does not know its id then.
func TestResultDuringTheRegistrationCountsForThePlayer(t *testing.T) {
	for _, test := range []struct {
		name   string
		number int
		signs  bool
		result string
	}{
		{"won", 8, false, "WIN"}, {"won with a signed decision", 8, true, "WIN"},
		{"lost", 7, false, "LOSS"}, {"lost with a signed decision", 7, true, "LOSS"},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				folder := store.Folder(t.TempDir())
				w.ScriptedManager(leaguetest.On(protocol.RegisterPlayer.Name, leaguetest.InTurn(leaguetest.Normally, leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Normally)))
				p := signingPlayer(w, folder, leaguetest.WithStrategy("even"))
				c := w.ScriptedReferee(p, "R1M1", 1)
				c.AskForSignature(started, 1)
				c.Signature.Sign = test.signs
				_, err := c.Choose()
				require.NoError(t, err)
				p.Stop() // without Close

				var log bytes.Buffer
				p = w.NewPlayerIn("P01", folder, func(o *player.Options) { o.Log = zerolog.New(&log) }, leaguetest.WithStrategy("even"))
				c.To = p
				told := make(chan error, 1)
				w.RunAt(w.Now()+leaguetest.Second, func() { // between the two requests of the registration
					assert.Empty(t, p.Player.ID())
					ack, err := c.SendGameOver(test.number)
					if err == nil {
						assert.Equal(t, "P01", ack.PlayerID)
					}
					told <- err
				})
				require.NoError(t, p.Player.Register(w.Context))
				require.NoError(t, <-told)
				require.NoError(t, p.Player.Close())
				h := leaguetest.ReadHistory(t, folder, "P01")
				require.Len(t, h.Matches, 1)
				assert.Equal(t, protocol.PlayedMatch{
					MatchID: "R1M1", OpponentID: "P02", Result: test.result, MyChoice: "even", OpponentChoice: "odd", DrawnNumber: test.number,
				}, h.Matches[0].PlayedMatch)
				assert.NotContains(t, log.String(), "DECISION_CONTRADICTED")
			})
		})
	}
}
