package player_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/rules/evenodd"
)

// moveParity asks the question of Even/Odd by GAME_MOVE_CALL.
func moveParity(w *leaguetest.World, c *leaguetest.ScriptedReferee, options ...string) (choice, entropy string) {
	r, err := c.MoveIn(evenodd.Type, w.Clock.Timestamp(), options...)
	require.NoError(w.T, err)
	return r.MoveData.Choice, r.Entropy
}

func choose(w *leaguetest.World, c *leaguetest.ScriptedReferee) (choice, entropy string) {
	r, err := c.Choose()
	require.NoError(w.T, err)
	return r.ParityChoice, r.Entropy
}

// CHOOSE_PARITY_CALL and GAME_MOVE_CALL of a match ask one question: a referee that sends both cannot choose between two
// answers. A random strategy would pass a case with a probability of one in a thousand.
func TestQuestionByBothMessagesGetsOneChoice(t *testing.T) {
	type question = func(w *leaguetest.World, c *leaguetest.ScriptedReferee) (choice, entropy string)
	move := func(w *leaguetest.World, c *leaguetest.ScriptedReferee) (string, string) {
		return moveParity(w, c, evenodd.Odd, evenodd.Even)
	}
	shouted := func(w *leaguetest.World, c *leaguetest.ScriptedReferee) (string, string) {
		choice, entropy := moveParity(w, c, "EVEN", "Odd")
		assert.Contains(w.T, []string{"EVEN", "Odd"}, choice, "as the options spell it")
		return strings.ToLower(choice), entropy
	}
	for name, ask := range map[string][]question{
		"the parity first":           {choose, move, shouted},
		"the move first":             {move, choose},
		"in another spelling first":  {shouted, choose, move},
		"again and again":            {choose, move, choose, move},
		"by several calls at a time": nil,
	} {
		leaguetest.RunOnWire(t, name, func(t *testing.T, w *leaguetest.World) {
			w.ScriptedManager()
			p := w.Player("P01", leaguetest.WithRandomSecrets)
			for n := range 10 {
				c := w.ScriptedReferee(p, fmt.Sprintf("R1M%d", n+1), 1)
				_, err := c.Invite()
				require.NoError(t, err)
				var asked sync.WaitGroup
				answers := make([]string, max(len(ask), 8))
				for i := range answers {
					if ask == nil {
						asked.Go(func() { answers[i], _ = []question{choose, move}[i%2](w, c) })
						continue
					}
					choice, entropy := ask[i%len(ask)](w, c)
					answers[i] = choice
					_, first := ask[0](w, c)
					assert.Equal(t, first, entropy)
				}
				asked.Wait()
				for _, answer := range answers {
					assert.Equal(t, answers[0], answer, c.MatchID)
				}
			}
		})
	}
}

// The signed decision is on disk. It answers the question after a restart, by whatever message it comes, and also if the
// question does not ask for a signature.
func TestQuestionByBothMessagesGetsOneChoiceAfterARestart(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		for range 10 {
			folder := store.In(t.TempDir())
			p, c := signingPlayer(w, folder)
			first, entropy := choose(w, c)
			p.Stop()
			p = w.PlayerIn("P01", folder)
			w.AnnounceStarted(p, 1, protocol.RefereeAuthAccessToken, started)
			c.To = p
			for _, signed := range []bool{true, false} {
				c.Signature.Sign = signed
				again, revealed := moveParity(w, c, evenodd.Odd, evenodd.Even)
				assert.Equal(t, []string{first, entropy}, []string{again, revealed}, "signed: %t", signed)
				again, _ = choose(w, c)
				assert.Equal(t, first, again)
			}
			assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Decisions, 1)
			p.Stop()
		}
	})
}

// In another game each position is a question of its own.
func TestMovesOfOtherGamesAreNotTheParity(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		c := w.ScriptedReferee(w.Player("P01", leaguetest.WithRandomSecrets), "R1M1", 1)
		_, err := c.Invite()
		require.NoError(t, err)
		choose(w, c)
		choice, _ := moveParity(w, c, "1", "2", "3")
		assert.Contains(t, []string{"1", "2", "3"}, choice)
	})
}

// A referee that was killed asks again from the first turn, and the player that lost technically may then have failed in
// an earlier one: the last choice of the winner that counts is not the last that it made.
func TestChoiceOfAnEarlierTurnMayBeTheLastThatCounts(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, log := leaguetest.TempFolder(t), w.CaptureLog()
		w.ScriptedManager()
		p := w.PlayerIn("P01", folder)
		c := w.ScriptedReferee(p, "R1M1", 1)
		_, err := c.Invite()
		require.NoError(t, err)
		for _, option := range []string{"first", "second"} {
			_, err = c.Move(w.Clock.Timestamp(), option)
			require.NoError(t, err)
		}
		first, winner := "first", "P01"
		_, err = c.SendResult(&protocol.GameOver{GameType: "another", GameResult: &league.Result{
			Status: league.StatusTechnicalLoss, WinnerPlayerID: &winner, Choices: league.Both("P01", &first, "P02", nil),
		}})
		require.NoError(t, err)
		require.NoError(t, p.Player.Close())
		played := leaguetest.ReadHistory(t, folder, "P01").Matches
		require.Len(t, played, 1)
		assert.Equal(t, []string{"first", ""}, []string{played[0].MyChoice, played[0].ReportedChoice})
		assert.NotContains(t, log.Text(), "DECISION_CONTRADICTED")
	})
}
