package player_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// Only the manager, by its credential, says that a match is forfeited. The history has the match once, however often it
// is said, also after a restart.
func TestForfeitIsBelievedFromTheManagerAlone(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.ScriptedManager()
		p := w.PlayerIn("P01", folder)
		w.Announce(p, 1, protocol.RefereeAuthNone) // a third-party referee: a caller needs no access token
		winner, other, draw := "P01", "P02", 8
		over := func(bearer string, change func(*protocol.GameOver)) error {
			q := &protocol.GameOver{
				Envelope: protocol.NewStamp(protocol.ManagerSender, w.Clock).Envelope(protocol.TypeGameOver, "conv-r1m1-forfeit"),
				MatchID:  "R1M1", GameType: "even_odd", GameResult: &league.Result{
					Status: league.StatusTechnicalLoss, WinnerPlayerID: &winner, Choices: league.Both[*string](winner, nil, other, nil),
					Reason: "P02 is suspended by test - P01 wins by default",
				},
			}
			if change != nil {
				change(q)
			}
			_, err := protocol.NotifyMatchResult.Call(w.Context, w.Untrusted,
				protocol.Peer{Endpoint: leaguetest.EndpointOf(p.Host), Bearer: bearer}, q)
			return err
		}
		credential := w.ManagerCredential("P01")
		leaguetest.AssertRefused(t, over("", nil), protocol.ErrTokenMissing, 4001)
		leaguetest.AssertRefused(t, over("wrong", nil), protocol.ErrTokenInvalid, 4001)
		leaguetest.AssertRefused(t, over(w.ManagerCredential("P02"), nil), protocol.ErrTokenInvalid, 4001)
		leaguetest.AssertRefused(t, over("", func(q *protocol.GameOver) { q.AuthToken = w.AccessToken("P01", "R1M1", 1, "REF01") }),
			protocol.ErrTokenMissing, 4001)
		leaguetest.AssertRefused(t, over(credential, func(q *protocol.GameOver) {
			q.GameResult.Status, q.GameResult.DrawnNumber = league.StatusWin, &draw
		}), protocol.ErrInvalidFieldType, -32602)
		leaguetest.AssertRefused(t, over(credential, func(q *protocol.GameOver) {
			q.GameResult.Choices = league.Both[*string]("P03", nil, "P04", nil)
		}), protocol.ErrMatchNotFound, 4003)
		assert.Zero(t, p.Player.Record().Stats.TotalMatches)

		won := protocol.PlayerStats{TotalMatches: 1, Wins: 1}
		for range 2 {
			require.NoError(t, over(credential, nil))
			assert.Equal(t, won, p.Player.Record().Stats)
		}
		require.NoError(t, p.Player.Close())
		p.Stop()
		p = w.PlayerIn("P01", folder)
		require.NoError(t, over(w.ManagerCredential("P01"), nil))
		assert.Equal(t, won, p.Player.Record().Stats)
		require.NoError(t, p.Player.Close())
		h := leaguetest.ReadHistory(t, folder, "P01")
		require.Len(t, h.Matches, 1)
		assert.Equal(t, []string{"R1M1", "P02", store.Technical + store.ResultWin}, []string{h.Matches[0].MatchID, h.Matches[0].OpponentID, h.Matches[0].Result})
		assert.Zero(t, h.Matches[0].Attempt)
	})
}

// The referee of a match that is given up has invited the player. The player is free when the match is forfeited.
func TestForfeitEndsAMatchThatWasGivenUp(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.Player("P01", leaguetest.WithRandomSecrets)
		c := w.ScriptedReferee(p, "R1M1", 1)
		_, err := c.Invite()
		require.NoError(t, err)
		winner := "P01"
		_, err = protocol.NotifyMatchResult.Call(w.Context, w.Untrusted,
			protocol.Peer{Endpoint: leaguetest.EndpointOf(p.Host), Bearer: w.ManagerCredential("P01")}, &protocol.GameOver{
				Envelope: protocol.NewStamp(protocol.ManagerSender, w.Clock).Envelope(protocol.TypeGameOver, "conv-r1m1-forfeit"),
				MatchID:  "R1M1", GameType: "even_odd", GameResult: &league.Result{
					Status: league.StatusTechnicalLoss, WinnerPlayerID: &winner, Choices: league.Both[*string]("P01", nil, "P02", nil),
				},
			})
		require.NoError(t, err)
		assert.Equal(t, "WAITING_FOR_ROUND", p.Player.Record().State)
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Wins: 1}, p.Player.Record().Stats)
	})
}
