package conversations

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// duel plays a league of one match: P01, who chooses even, against P02, who
// chooses odd, both with traits of their own.
func (w *world) duel(first, second []trait) league.MatchRecord {
	w.t.Helper()
	w.startManager(2, 1)
	w.referee("REF01")
	w.player("P01", append([]trait{choosing("even")}, first...)...)
	w.player("P02", append([]trait{choosing("odd")}, second...)...)
	w.finish()
	results := w.manager.Results()
	require.Len(w.t, results, 1)
	return results[0]
}

func with(traits ...trait) []trait { return traits }

// gameOver is the GAME_OVER that a player was sent.
func (w *world) gameOver(to string) *protocol.GameOver {
	w.t.Helper()
	return read[protocol.GameOver](w.only(protocol.NotifyMatchResult.Name, to).message)
}

// slow takes a time for each step of a match.
func slow(join, choice, end time.Duration) trait {
	return func(a *actor) {
		a.parts[protocol.Invite.Name] = after(join, honestly)
		a.parts[protocol.ChooseParity.Name] = after(choice, honestly)
		a.parts[protocol.NotifyMatchResult.Name] = after(end, honestly)
	}
}

func TestAMatchAsksBothPlayersAtTheSameTime(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.duel(with(slow(1*time.Second, 4*time.Second, 1*time.Second)), with(slow(2*time.Second, 3*time.Second, 2*time.Second)))

		assert.Equal(t, []int{0, 0}, seconds(w.said(protocol.Invite.Name)))
		assert.Equal(t, []int{2, 2}, seconds(w.said(protocol.ChooseParity.Name)), "when both have acknowledged")
		assert.Equal(t, []int{6, 6}, seconds(w.said(protocol.NotifyMatchResult.Name)), "when both have chosen")
		assert.Equal(t, 8*time.Second, w.only(protocol.ReportMatchResult.Name, theBoss).at, "when both have acknowledged the end")
		for _, method := range []string{protocol.Invite.Name, protocol.ChooseParity.Name, protocol.NotifyMatchResult.Name} {
			asked := w.said(method)
			assert.Less(t, max(asked[0].at, asked[1].at), min(asked[0].until, asked[1].until), method)
		}
		for _, e := range w.said(protocol.ChooseParity.Name) {
			assert.Equal(t, 32*time.Second, w.since(read[protocol.ChooseParityCall](e.message).Deadline))
		}
		assert.Empty(t, w.complaints())
	})
}

func TestAMatchIsOneConversation(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.duel(with(slow(1*time.Second, 0, 0)), nil)
		calls := w.record.all(func(e *exchange) bool { return e.from == "ref01" && e.method != protocol.RegisterReferee.Name })
		require.Len(t, calls, 7)
		for _, e := range append(calls, w.only(protocol.StartMatch.Name, "ref01")) {
			q := read[protocol.Envelope](e.message)
			assert.Equal(t, "conv-r1m1-a1", q.ConversationID, e.method)
			assert.Equal(t, e.at, w.since(q.Timestamp), e.method)
			if e.from == "ref01" {
				assert.Equal(t, "referee:REF01", q.Sender, e.method)
			}
		}
	})
}

func TestAMatchTellsEachPlayerItsSide(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.duel(nil, nil)
		for _, side := range []struct{ host, id, role, opponent string }{
			{"p01", "P01", protocol.RolePlayerA, "P02"},
			{"p02", "P02", protocol.RolePlayerB, "P01"},
		} {
			token := w.access(side.id, "R1M1", 1, "REF01")

			q := read[protocol.GameInvitation](w.only(protocol.Invite.Name, side.host).message)
			assert.Equal(t, side.role, q.RoleInMatch)
			assert.Equal(t, side.opponent, q.OpponentID)
			assert.Equal(t, leagueID, q.LeagueID)
			assert.Equal(t, 1, q.RoundID)
			assert.Equal(t, 1, q.Attempt)
			assert.Equal(t, evenodd.Type, q.GameType)
			assert.Equal(t, token, q.AuthToken)

			c := read[protocol.ChooseParityCall](w.only(protocol.ChooseParity.Name, side.host).message)
			assert.Equal(t, side.id, c.PlayerID)
			assert.Equal(t, side.opponent, c.Context.OpponentID)
			assert.Equal(t, 1, c.Context.RoundID)
			require.NotNil(t, c.Context.YourStandings)
			assert.Zero(t, *c.Context.YourStandings.Points)
			assert.Equal(t, token, c.AuthToken)

			assert.Equal(t, token, w.gameOver(side.host).AuthToken)
			for _, method := range []string{protocol.Invite.Name, protocol.ChooseParity.Name, protocol.NotifyMatchResult.Name} {
				assert.Equal(t, token, read[protocol.Envelope](w.only(method, side.host).answer).AuthToken, "sent back after %s", method)
			}
		}
	})
}

func TestAMatchIsDrawnSoThatAnyoneCanCheckIt(t *testing.T) {
	for _, test := range []struct {
		name    string
		commits bool
	}{
		{"both players commit entropy", true},
		{"a player that commits none counts as 32 zero bytes", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				second := with()
				if !test.commits {
					second = with(
						does(protocol.Invite.Name, editing("entropy_commitment", nil)),
						does(protocol.ChooseParity.Name, editing("entropy", nil)))
				}
				record := w.duel(nil, second)
				over := w.gameOver("p01")

				nonce, ok := protocol.ParseSecret(over.Draw.Nonce)
				require.True(t, ok)
				commitment := protocol.DrawCommitment(leagueID, "R1M1", 1, "REF01", nonce)
				assert.Equal(t, commitment, over.Draw.Commitment)
				assert.Equal(t, commitment, read[protocol.MatchAssignmentAck](w.only(protocol.StartMatch.Name, "ref01").answer).DrawCommitment)

				var entropies [2]protocol.Secret
				for i, id := range []string{"P01", "P02"} {
					joined := w.only(protocol.Invite.Name, []string{"p01", "p02"}[i])
					assert.Equal(t, commitment, read[protocol.GameInvitation](joined.message).DrawCommitment)
					revealed, told := over.Draw.Entropies.Get(id)
					if promised := read[protocol.GameJoinAck](joined.answer).EntropyCommitment; promised != "" {
						entropies[i], ok = protocol.ParseSecret(revealed)
						require.True(t, ok)
						assert.Equal(t, promised, protocol.EntropyCommitment("R1M1", id, entropies[i]))
					} else {
						assert.False(t, told)
						assert.False(t, test.commits)
					}
				}
				number := evenodd.Number(rules.Chance{Nonce: nonce, EntropyA: entropies[0], EntropyB: entropies[1]})
				assert.Equal(t, number, *over.GameResult.DrawnNumber)
				assert.Equal(t, number, record.Number)
				assert.Equal(t, evenodd.Parity(number), *over.GameResult.NumberParity)
			})
		})
	}
}

func TestAMatchEndsTheSameForEverybody(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		record := w.duel(nil, nil)
		a := w.only(protocol.NotifyMatchResult.Name, "p01").message
		b := w.only(protocol.NotifyMatchResult.Name, "p02").message
		assert.NotEqual(t, string(a), string(b), "the tokens differ")
		assert.JSONEq(t, string(edited(a, "auth_token", nil)), string(edited(b, "auth_token", nil)))

		over := w.gameOver("p01").GameResult
		winner, score := "P01", protocol.Both("P01", 3, "P02", 0)
		if *over.DrawnNumber%2 != 0 {
			winner, score = "P02", protocol.Both("P01", 0, "P02", 3)
		}
		even, odd := "even", "odd"
		assert.Equal(t, protocol.StatusWin, over.Status)
		assert.Equal(t, &winner, over.WinnerPlayerID)
		assert.Equal(t, protocol.Both("P01", &even, "P02", &odd), over.Choices)
		assert.Contains(t, over.Reason, winner+" chose ")

		q := read[protocol.MatchResultReport](w.only(protocol.ReportMatchResult.Name, theBoss).message)
		assert.Equal(t, w.token("REF01"), q.AuthToken, "the referee's own token goes to the manager alone")
		assert.Equal(t, 1, q.Attempt)
		assert.Equal(t, 1, q.RoundID)
		assert.Equal(t, &winner, q.Result.Winner)
		assert.Equal(t, score, q.Result.Score)
		assert.Equal(t, over.DrawnNumber, q.Result.Details.DrawnNumber)
		assert.Equal(t, over.Choices, q.Result.Details.Choices)
		assert.Equal(t, over.Status, q.Result.Details.Status)
		assert.Equal(t, over.Reason, q.Result.Details.Reason)
		assert.Equal(t, w.gameOver("p02").Draw, q.Draw)

		assert.Equal(t, league.MatchRecord{
			MatchID: "R1M1", RoundID: 1, PlayerA: "P01", PlayerB: "P02", RefereeID: "REF01",
			Status: protocol.StatusWin, Winner: winner, Number: *over.DrawnNumber,
			ChoiceA: even, ChoiceB: odd, Reason: over.Reason,
		}, record)
	})
}

func TestEqualChoicesAreADraw(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		record := w.duel(nil, with(choosing("even")))
		assert.Equal(t, protocol.StatusDraw, record.Status)
		assert.Empty(t, record.Winner)
		q := read[protocol.MatchResultReport](w.only(protocol.ReportMatchResult.Name, theBoss).message)
		assert.Nil(t, q.Result.Winner)
		assert.Equal(t, protocol.Both("P01", 1, "P02", 1), q.Result.Score)
		assert.NotNil(t, q.Result.Details.DrawnNumber)
		for _, row := range w.final.FinalStandings {
			assert.Equal(t, 1, row.Points)
			assert.Equal(t, 1, row.Draws)
		}
	})
}
