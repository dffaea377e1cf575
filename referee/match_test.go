package referee_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

func TestBothPlayersAreCalledConcurrently(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.Duel(leaguetest.Options(leaguetest.WithDelays(1*time.Second, 4*time.Second, 1*time.Second)), leaguetest.Options(leaguetest.WithDelays(2*time.Second, 3*time.Second, 2*time.Second)))

		assert.Equal(t, []int{0, 0}, leaguetest.Seconds(w.Calls(protocol.Invite.Name)))
		assert.Equal(t, []int{2, 2}, leaguetest.Seconds(w.Calls(protocol.ChooseParity.Name)), "when both have acknowledged")
		assert.Equal(t, []int{6, 6}, leaguetest.Seconds(w.Calls(protocol.NotifyMatchResult.Name)), "when both have chosen")
		assert.Equal(t, 8*time.Second, w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).At, "when both have acknowledged GAME_OVER")
		for _, method := range []string{protocol.Invite.Name, protocol.ChooseParity.Name, protocol.NotifyMatchResult.Name} {
			asked := w.Calls(method)
			assert.Less(t, max(asked[0].At, asked[1].At), min(asked[0].Until, asked[1].Until), method)
		}
		for _, e := range w.Calls(protocol.ChooseParity.Name) {
			assert.Equal(t, 32*time.Second, w.SinceStart(leaguetest.Decode[protocol.ChooseParityCall](e.Message).Deadline))
		}
		assert.Empty(t, w.GameErrors())
	})
}

func TestPlayersGetTheirToken(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.Duel(nil, nil)
		for host, id := range map[string]string{"p01": "P01", "p02": "P02"} {
			for _, method := range []string{protocol.Invite.Name, protocol.ChooseParity.Name, protocol.NotifyMatchResult.Name} {
				x := w.OnlyCall(method, host)
				for _, message := range []jsontext.Value{x.Message, x.Answer} {
					q := leaguetest.Decode[protocol.Envelope](message)
					assert.Equal(t, []string{w.AccessToken(id, "R1M1", 1, "REF01"), "conv-r1m1-a1"}, []string{q.AuthToken, q.ConversationID}, method)
				}
			}
		}
	})
}

func TestDrawCanBeVerified(t *testing.T) {
	for _, test := range []struct {
		name    string
		commits bool
	}{
		{"both players commit entropy", true},
		{"without a commitment a player's entropy is 32 zero bytes", false},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			second := leaguetest.Options()
			if !test.commits {
				second = leaguetest.Options(
					leaguetest.On(protocol.Invite.Name, leaguetest.EditAnswer("entropy_commitment", nil)),
					leaguetest.On(protocol.ChooseParity.Name, leaguetest.EditAnswer("entropy", nil)))
			}
			record := w.Duel(nil, second)
			over := w.GameOver("p01")

			nonce, ok := protocol.ParseSecret(over.Draw.Nonce)
			require.True(t, ok)
			commitment := protocol.DrawCommitment(leaguetest.LeagueID, "R1M1", 1, "REF01", nonce)
			assert.Equal(t, commitment, over.Draw.Commitment)
			assert.Equal(t, commitment, leaguetest.Decode[protocol.MatchAssignmentAck](w.OnlyCall(protocol.StartMatch.Name, "ref01").Answer).DrawCommitment)

			var entropies [2]protocol.Secret
			for i, id := range []string{"P01", "P02"} {
				joined := w.OnlyCall(protocol.Invite.Name, []string{"p01", "p02"}[i])
				assert.Equal(t, commitment, leaguetest.Decode[protocol.GameInvitation](joined.Message).DrawCommitment)
				revealed, present := over.Draw.Entropies.Get(id)
				if promised := leaguetest.Decode[protocol.GameJoinAck](joined.Answer).EntropyCommitment; promised != "" {
					entropies[i], ok = protocol.ParseSecret(revealed)
					require.True(t, ok)
					assert.Equal(t, promised, protocol.EntropyCommitment("R1M1", id, entropies[i]))
				} else {
					assert.False(t, present)
					assert.False(t, test.commits)
				}
			}
			number := evenodd.Number(rules.Chance{Nonce: nonce, EntropyA: entropies[0], EntropyB: entropies[1]})
			assert.Equal(t, number, *over.GameResult.DrawnNumber)
			assert.Equal(t, number, protocol.ValueOf(record.DrawnNumber))
			assert.Equal(t, evenodd.Parity(number), *over.GameResult.NumberParity)
		})
	}
}

func TestPlayersAndManagerGetTheSameResult(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		record := w.Duel(nil, nil)
		over := w.GameOver("p01").GameResult
		assert.Equal(t, over, w.GameOver("p02").GameResult)
		winner, score := "P01", league.Both("P01", 3, "P02", 0)
		if *over.DrawnNumber%2 != 0 {
			winner, score = "P02", league.Both("P01", 0, "P02", 3)
		}
		even, odd := "even", "odd"
		assert.Equal(t, []any{league.StatusWin, &winner, league.Both("P01", &even, "P02", &odd)}, []any{over.Status, over.WinnerPlayerID, over.Choices})
		assert.Contains(t, over.Reason, winner+" chose ")

		q := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
		assert.Equal(t, w.Token("REF01"), q.AuthToken, "the referee's own token is sent to the manager only")
		assert.Equal(t, score, q.Result.Score)
		assert.Equal(t, *over, q.Result.Result)
		assert.Equal(t, w.GameOver("p02").Draw, q.Draw)
		assert.Equal(t, *over, record.Result)
		assert.Equal(t, []string{"R1M1", "P01", "P02", "REF01", journal.GradeRecomputed},
			[]string{record.MatchID, record.PlayerAID, record.PlayerBID, record.RefereeID, record.Grade})
	})
}

// The referee counts the answers that say so. A member that it cannot read says nothing, and
// costs the player nothing.
func TestFallbacksAreCounted(t *testing.T) {
	for _, test := range []struct {
		name     string
		fallback any
		want     league.PerPlayer[int]
	}{
		{"true", true, league.PerPlayer[int]{{Name: "P02", Value: 1}}},
		{"false", false, nil},
		{"no boolean", "true", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				record := w.Duel(nil, leaguetest.Options(
					leaguetest.On(protocol.ChooseParity.Name, leaguetest.EditAnswer("fallback", test.fallback))))
				assert.Equal(t, test.want, record.Fallbacks)
				assert.Equal(t, test.want, w.GameOver("p01").GameResult.Fallbacks)
				assert.NotEqual(t, league.StatusTechnicalLoss, record.Status)
			})
		})
	}
}

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
		assert.Equal(t, league.StatusWin, report.Result.Status)
		assert.Len(t, report.Draw.Entropies, 2)
		require.NotNil(t, report.Result.WinnerPlayerID)
		won, lost := one, two
		if *report.Result.WinnerPlayerID == "P12" {
			won, lost = two, one
		}
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Wins: 1}, won.Player.Record().Stats)
		assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Losses: 1}, lost.Player.Record().Stats)
	})
}
