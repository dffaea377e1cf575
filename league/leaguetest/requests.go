package leaguetest

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// AssertRefused checks the error that another agent answered with.
func AssertRefused(t *testing.T, err error, code protocol.Code, rpc int) {
	t.Helper()
	e := protocol.AsError(err)
	if assert.NotNil(t, e, "an error was expected, got %v", err) {
		assert.Equal(t, code, e.Code, e.Error())
		assert.Equal(t, rpc, e.RPC, e.Error())
	}
}

// Contradictory is a report of R1M1 whose winner is not the one that its choices
// and its number make: P01 chose even, P02 odd, and 8 was drawn.
func (w *World) Contradictory(refereeID string) *protocol.MatchResultReport {
	q := w.Wins(refereeID)
	other := "P02"
	q.Result.Winner = &other
	return q
}

// DoubleLoss is the report that both players of R1M1 failed.
func (w *World) DoubleLoss(refereeID string) *protocol.MatchResultReport {
	q := w.Verdict(refereeID, "R1M1", nil, "P01", "P02", 0, 0)
	q.Result.Details = &protocol.ResultDetails{Status: protocol.StatusTechnicalLoss}
	return q
}

// A Query is a LEAGUE_QUERY of an agent, before it is sent.
type Query struct {
	protocol.LeagueQuery
	W *World
}

func (w *World) Query(id, queryType string) *Query {
	sender := protocol.PlayerSender(id)
	if _, ok := protocol.ParseRefereeID(id); ok {
		sender = protocol.RefereeSender(id)
	}
	q := &Query{protocol.LeagueQuery{
		Envelope: protocol.NewStamp(sender, w.Clock).Envelope(protocol.TypeLeagueQuery, "conv-query"),
		LeagueID: LeagueID, QueryType: queryType,
	}, w}
	q.AuthToken = w.Token(id)
	return q
}

func (q *Query) Send() (*protocol.LeagueQueryResponse, error) {
	return protocol.Query.Call(q.W.Context, q.W.Untrusted, q.W.Manage(), &q.LeagueQuery)
}

// Accepting takes every match and conducts none.
func (w *World) Accepting(c *Call) (jsontext.Value, error) {
	q := Decode[protocol.MatchAssignment](c.Message)
	return Encode(protocol.MatchAssignmentAck{
		Envelope: protocol.NewStamp("referee:script", w.Clock).Envelope(protocol.TypeMatchAssignmentAck, q.ConversationID),
		Status:   protocol.StatusAccepted, MatchID: q.MatchID, Attempt: q.Attempt,
	}), nil
}

// Idle makes a trait of it.
func (w *World) Idle() Option { return On(protocol.StartMatch.Name, w.Accepting) }

// Verdict is a report of a referee about a match, before it is sent.
func (w *World) Verdict(refereeID, matchID string, winner *string, a, b string, scoreA, scoreB int) *protocol.MatchResultReport {
	id, _ := protocol.ParseMatchID(matchID)
	q := &protocol.MatchResultReport{
		Envelope: protocol.NewStamp(protocol.RefereeSender(refereeID), w.Clock).Envelope(protocol.TypeMatchResultReport, "conv-report"),
		LeagueID: LeagueID, RoundID: id.Round, MatchID: matchID, GameType: evenodd.Type,
		Result: protocol.MatchResult{Winner: winner, Score: protocol.Both(a, scoreA, b, scoreB)},
	}
	q.AuthToken = w.Token(refereeID)
	return q
}

// Wins is the report that P01 wins R1M1 against P02.
func (w *World) Wins(refereeID string) *protocol.MatchResultReport {
	winner, number, even, odd := "P01", 8, "even", "odd"
	q := w.Verdict(refereeID, "R1M1", &winner, "P01", "P02", 3, 0)
	q.Result.Details = &protocol.ResultDetails{
		DrawnNumber: &number, Choices: protocol.Both("P01", &even, "P02", &odd), Status: protocol.StatusWin,
	}
	return q
}

func (w *World) Report(q *protocol.MatchResultReport) (*protocol.Ack, error) {
	return protocol.ReportMatchResult.Call(w.Context, w.Untrusted, w.Manage(), q)
}

// Reporting starts a league of four players whose two referees leave the
// reports to the test: R1M1 is REF01's, and R1M2 is REF02's.
func (w *World) Reporting() {
	w.T.Helper()
	w.StartManager(4, 2)
	w.Referee("REF01", w.Idle())
	w.Referee("REF02", w.Idle())
	w.Players(4)
	w.WaitUntil(Second)
	require.Equal(w.T, "RUNNING_LEAGUE", w.Manager.Status().State)
}
