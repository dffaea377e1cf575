package manager_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// drawnReport returns REF01's report about R1M1 with a draw that its choices and its nonce
// determine.
func drawnReport(w *leaguetest.World) *protocol.MatchResultReport {
	nonce := w.Nonce("R1M1")
	position := evenodd.Game{}.Start().Play([2]string{"even", "odd"})
	verdict := position.Judge(rules.Chance{Nonce: nonce})
	winner := []string{"P01", "P02"}[verdict.Winner]
	q := w.WinReport("REF01")
	q.Attempt = 1
	q.Result.Winner, q.Result.Details.DrawnNumber = &winner, &verdict.Number
	q.Draw = &protocol.Draw{Commitment: protocol.DrawCommitment(leaguetest.LeagueID, "R1M1", 1, "REF01", nonce), Nonce: nonce.Hex()}
	return q
}

// The manager rejects an impossible result; the referee may correct it.
func TestReportThatContradictsTheRulesIsRejected(t *testing.T) {
	maybe := "maybe"
	loser := func(q *protocol.MatchResultReport) *string {
		id := map[string]string{"P01": "P02", "P02": "P01"}[*q.Result.Winner]
		return &id
	}
	for name, test := range map[string]struct {
		change func(q *protocol.MatchResultReport)
		detail string
		code   protocol.Code // "" for E002
	}{
		"an illegal choice": {func(q *protocol.MatchResultReport) {
			q.Result.Details.Choices = protocol.Both("P01", &maybe, "P02", &maybe)
		}, "result.details.choices: P01", protocol.ErrInvalidParityChoice},
		"missing choices": {func(q *protocol.MatchResultReport) {
			q.Result.Winner, q.Result.Details.Choices = loser(q), nil
		}, "no choice reported for P01", ""},
		"a missing choice": {func(q *protocol.MatchResultReport) {
			q.Result.Details.Choices = q.Result.Details.Choices[:1]
		}, "no choice reported for P02", ""},
		"no details": {func(q *protocol.MatchResultReport) { q.Result.Details = nil },
			"no choice reported for P01", ""},
		"another number": {func(q *protocol.MatchResultReport) {
			*q.Result.Details.DrawnNumber = *q.Result.Details.DrawnNumber%10 + 1
		},
			"result.details.drawn_number: by the draw it is", ""},
		"another winner": {func(q *protocol.MatchResultReport) {
			q.Result.Winner = loser(q)
		}, "result.winner: by the rules of even_odd it is P0", ""},
		"a draw for equal choices": {func(q *protocol.MatchResultReport) {
			q.Result.Winner, q.Result.Details.Status = nil, protocol.StatusDraw
		}, "result.winner: by the rules of even_odd it is P0", ""},
		"a nonce that does not belong to the commitment": {func(q *protocol.MatchResultReport) { q.Draw.Nonce = strings.Repeat("0", 64) },
			"draw.nonce: it does not belong to the commitment", ""},
	} {
		t.Run(name, func(t *testing.T) {
			leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
				w.StartReporting()
				q := drawnReport(w)
				test.change(q)
				_, err := w.Report(q)
				assert.Equal(t, cmp.Or(test.code, protocol.ErrInvalidFieldType), protocol.AsError(err).Code)
				assert.Contains(t, protocol.AsError(err).Detail, test.detail)
				assert.Zero(t, w.Manager.Status().Recorded)
				_, err = w.Report(drawnReport(w))
				require.NoError(t, err, "a correct report is accepted")
			})
		})
	}
}

// A referee that committed to a draw must reveal that draw.
func TestReportWithoutTheCommittedDrawIsRejected(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01", leaguetest.On(protocol.ReportMatchResult.Name, leaguetest.Normally))
		w.Players(2, leaguetest.WithDelays(0, 10*leaguetest.Second, 0))
		w.WaitUntil(5 * leaguetest.Second)
		_, err := w.Report(w.WinReport("REF01"))
		leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
		assert.Contains(t, protocol.AsError(err).Detail, "draw: it is missing")
		forged := drawnReport(w)
		nonce := leaguetest.SecretOf("another")
		forged.Draw = &protocol.Draw{Commitment: protocol.DrawCommitment(leaguetest.LeagueID, "R1M1", 1, "REF01", nonce), Nonce: protocol.Secret(nonce).Hex()}
		_, err = w.Report(forged)
		leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
		assert.Contains(t, protocol.AsError(err).Detail, "draw.commitment")
		w.Finish()
		assert.Equal(t, 1, w.Manager.Status().Recorded)
	})
}
