package manager_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	table "evenodd/league"
	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

func TestAssignmentHoldsPlayersRecordsAndPolicy(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(3, 1, func(o *league.Options) { o.Retry = protocol.RetryPolicy{MaxRetries: 1, Delay: 0.5} })
		w.Referee("REF01")
		evenPlayers(w, 3)
		w.Finish()
		calls := w.Calls(protocol.StartMatch.Name, "ref01")
		require.Len(t, calls, 3)
		q := leaguetest.Decode[protocol.MatchAssignment](calls[1].Message) // R2M1: P01, which drew once, against P03
		zero, one := 0, 1
		assert.Equal(t, &protocol.MatchAssignment{
			Envelope: protocol.Envelope{
				Protocol: "league.v2", MessageType: "MATCH_ASSIGNMENT", Sender: "league_manager",
				Timestamp: "2000-01-01T00:00:01Z", ConversationID: "conv-r2m1-a1",
			},
			LeagueID: leaguetest.LeagueID, RoundID: 2, MatchID: "R2M1", Attempt: 1, GameType: "even_odd",
			PlayerA: protocol.AssignedPlayer{
				PlayerID: "P01", Endpoint: "http://p01:8000/mcp", DisplayName: "Agent P01",
				Standings: protocol.Record{Draws: 1, Points: &one}, AccessToken: w.AccessToken("P01", "R2M1", 1, "REF01"),
			},
			PlayerB: protocol.AssignedPlayer{
				PlayerID: "P03", Endpoint: "http://p03:8000/mcp", DisplayName: "Agent P03",
				Standings: protocol.Record{Points: &zero}, AccessToken: w.AccessToken("P03", "R2M1", 1, "REF01"),
			},
			Timeouts:    protocol.Timeouts{GameJoinAck: 5, Move: 30, GameOver: 5, Generic: 10},
			RetryPolicy: protocol.RetryPolicy{MaxRetries: 1, Delay: 0.5},
			Scoring:     protocol.Scoring{Win: 3, Draw: 1},
		}, q)
		asked := w.Calls(protocol.ChooseParity.Name, "p01")
		require.Len(t, asked, 2)
		assert.Equal(t, q.PlayerA.Standings, *leaguetest.Decode[protocol.ChooseParityCall](asked[1].Message).Context.YourStandings)
	})
}

func TestAssignmentTellsOurRefereesTheAllowedEndpoints(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		networks := []string{"10.1.0.0/16", "100.64.0.0/10"}
		w.StartManager(2, 1, func(o *league.Options) { o.AllowedEndpoints = networks })
		w.Referee("REF01")
		evenPlayers(w, 2)
		w.Finish()
		q := leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref01").Message)
		assert.Equal(t, networks, q.AllowedEndpoints)
	})
}

func TestRefereeAppliesThePolicyOfTheAssignment(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1, func(o *league.Options) {
			o.Retry = protocol.RetryPolicy{MaxRetries: 1, Delay: 4}
			o.Timeouts = protocol.Timeouts{GameJoinAck: 3, Move: 7, GameOver: 2, Generic: 10}
			o.Scoring = table.Scoring{Win: 5, Draw: 2, Loss: 1, TechnicalLoss: 0, Tiebreakers: []string{table.TiebreakPoints}}
		})
		w.Referee("REF01")
		w.Player("P01", leaguetest.WithStrategy("even"), leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.Silent))
		w.Player("P02", leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally)), leaguetest.On(protocol.ChooseParity.Name, leaguetest.Silent))
		w.Finish()
		assert.Equal(t, []leaguetest.GameError{
			{At: 3 * leaguetest.Second, To: "p02", Code: protocol.ErrTimeout, Retry: 1, Retryable: true, Action: leaguetest.JoinAck, Next: 7 * leaguetest.Second, Remaining: leaguetest.NotGiven},
			{At: 14 * leaguetest.Second, To: "p02", Code: protocol.ErrTimeout, Retry: 1, Retryable: true, Action: leaguetest.ChoiceReply, Next: 18 * leaguetest.Second, Remaining: leaguetest.NotGiven},
			{At: 25 * leaguetest.Second, To: "p02", Code: protocol.ErrTimeout, Retry: 1, Action: leaguetest.ChoiceReply, Next: leaguetest.NotGiven, Remaining: leaguetest.NotGiven},
		}, w.GameErrors())
		report := w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)
		assert.Equal(t, 27*leaguetest.Second, report.At)
		assert.Equal(t, protocol.Both("P01", 5, "P02", 0), leaguetest.Decode[protocol.MatchResultReport](report.Message).Result.Score)
		assert.Equal(t, 5, w.Manager.Standings()[0].Points)
	})
}

func TestSlowestPossibleMatchIsNotReassigned(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		w.Referee("REF01")
		w.Referee("REF02")
		w.Player("P01", leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.Silent))
		w.Player("P02",
			leaguetest.On(protocol.Invite.Name, leaguetest.FirstN(3, leaguetest.Silent, leaguetest.Delayed(4*leaguetest.Second, leaguetest.Normally))),
			leaguetest.On(protocol.ChooseParity.Name, leaguetest.FirstN(3, leaguetest.Silent, leaguetest.Delayed(29*leaguetest.Second, leaguetest.Normally))))
		w.Finish()
		assert.Equal(t, (25+125+5)*leaguetest.Second, w.Now())
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s"}, w.AssignmentLog())
		assert.Equal(t, "REF01", w.Manager.Results()[0].RefereeID)
	})
}

func TestDeviatingButClearRepliesOnlyCountAsWarnings(t *testing.T) {
	for _, test := range []struct {
		name   string
		member string
		value  any
	}{
		{"another player_id", "player_id", "P77"},
		{"no envelope", "protocol", nil},
		{"a local time", "timestamp", "2000-01-01T02:00:00"},
		{"another conversation", "conversation_id", "conv-other"},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				record := w.Duel(nil, leaguetest.Options(
					leaguetest.On(protocol.Invite.Name, leaguetest.EditAnswer(test.member, test.value)),
					leaguetest.On(protocol.ChooseParity.Name, leaguetest.EditAnswer(test.member, test.value))))
				assert.Equal(t, protocol.StatusWin, record.Status, "the reply is unambiguous")
				assert.Empty(t, w.GameErrors())
				for _, a := range w.Agents() {
					if a.Referee != nil {
						assert.Equal(t, map[string]int{"P02": 2}, a.Referee.Record().Warnings)
					}
				}
			})
		})
	}
}
