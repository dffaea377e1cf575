package conversations

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/table"
)

func TestAnAssignmentHoldsAllThatTheRefereeNeeds(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(3, 1, func(o *league.Options) { o.Retry = protocol.RetryPolicy{MaxRetries: 1, Delay: 0.5} })
		w.referee("REF01")
		w.evens(3)
		w.finish()
		calls := w.said(protocol.StartMatch.Name, "ref01")
		require.Len(t, calls, 3)
		q := read[protocol.MatchAssignment](calls[1].message) // R2M1 is P01, who drew once, against P03
		zero, one := 0, 1
		assert.Equal(t, &protocol.MatchAssignment{
			Envelope: protocol.Envelope{
				Protocol: "league.v2", MessageType: "MATCH_ASSIGNMENT", Sender: "league_manager",
				Timestamp: "2000-01-01T00:00:01Z", ConversationID: "conv-r2m1-a1",
			},
			LeagueID: leagueID, RoundID: 2, MatchID: "R2M1", Attempt: 1, GameType: "even_odd",
			PlayerA: protocol.AssignedPlayer{
				PlayerID: "P01", Endpoint: "http://p01:8000/mcp", DisplayName: "Agent P01",
				Standings: protocol.Record{Draws: 1, Points: &one}, AccessToken: w.access("P01", "R2M1", 1, "REF01"),
			},
			PlayerB: protocol.AssignedPlayer{
				PlayerID: "P03", Endpoint: "http://p03:8000/mcp", DisplayName: "Agent P03",
				Standings: protocol.Record{Points: &zero}, AccessToken: w.access("P03", "R2M1", 1, "REF01"),
			},
			Timeouts:    protocol.Timeouts{GameJoinAck: 5, Move: 30, GameOver: 5, Generic: 10},
			RetryPolicy: protocol.RetryPolicy{MaxRetries: 1, Delay: 0.5},
			Scoring:     protocol.Scoring{Win: 3, Draw: 1},
		}, q)
		asked := w.said(protocol.ChooseParity.Name, "p01")
		require.Len(t, asked, 2)
		assert.Equal(t, q.PlayerA.Standings, *read[protocol.ChooseParityCall](asked[1].message).Context.YourStandings)
	})
}

func TestTheRefereeKeepsToTheLeaguesPolicy(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 1, func(o *league.Options) {
			o.Retry = protocol.RetryPolicy{MaxRetries: 1, Delay: 4}
			o.Timeouts = protocol.Timeouts{GameJoinAck: 3, Move: 7, GameOver: 2, Generic: 10}
			o.Scoring = table.Scoring{Win: 5, Draw: 2, Loss: 1, TechnicalLoss: 0, Tiebreakers: []string{table.TiebreakPoints}}
		})
		w.referee("REF01")
		w.player("P01", choosing("even"), does(protocol.NotifyMatchResult.Name, silent))
		w.player("P02", does(protocol.Invite.Name, inTurn(silent, honestly)), does(protocol.ChooseParity.Name, silent))
		w.finish()
		assert.Equal(t, []complaint{
			{At: 3 * second, To: "p02", Code: protocol.ErrTimeout, Retry: 1, Retryable: true, Action: join, Next: 7 * second, Remaining: none},
			{At: 14 * second, To: "p02", Code: protocol.ErrTimeout, Retry: 1, Retryable: true, Action: choice, Next: 18 * second, Remaining: none},
			{At: 25 * second, To: "p02", Code: protocol.ErrTimeout, Retry: 1, Action: choice, Next: none, Remaining: none},
		}, w.complaints())
		report := w.only(protocol.ReportMatchResult.Name, theBoss)
		assert.Equal(t, 27*second, report.at)
		assert.Equal(t, protocol.Both("P01", 5, "P02", 0), read[protocol.MatchResultReport](report.message).Result.Score)
		assert.Equal(t, 5, w.manager.Standings()[0].Points)
	})
}

func TestTheSlowestMatchIsNotTakenFromItsReferee(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 2)
		w.referee("REF01")
		w.referee("REF02")
		w.player("P01", does(protocol.NotifyMatchResult.Name, silent))
		w.player("P02",
			does(protocol.Invite.Name, nTimes(3, silent, after(4*second, honestly))),
			does(protocol.ChooseParity.Name, nTimes(3, silent, after(29*second, honestly))))
		w.finish()
		assert.Equal(t, (25+125+5)*second, w.now())
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s"}, w.assignments())
		assert.Equal(t, "REF01", w.manager.Results()[0].RefereeID)
	})
}

func TestOnlyRepliesThatDoNotConformAreCounted(t *testing.T) {
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
			onEveryCarrier(t, func(t *testing.T, w *world) {
				record := w.duel(nil, with(
					does(protocol.Invite.Name, editing(test.member, test.value)),
					does(protocol.ChooseParity.Name, editing(test.member, test.value))))
				assert.Equal(t, protocol.StatusWin, record.Status, "its meaning is clear")
				assert.Empty(t, w.complaints())
				for _, a := range w.everybody() {
					if a.referee != nil {
						assert.Equal(t, map[string]int{"P02": 2}, a.referee.Record().Warnings)
					}
				}
			})
		})
	}
}
