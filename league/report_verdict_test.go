package league_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/leaguetest"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// drawn is the report of REF01 about R1M1, with a draw, as the rules have it:
// P01 chose even and P02 odd.
func drawn(w *leaguetest.World) *protocol.MatchResultReport {
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

// A result that cannot be is refused, whoever says so: the match is played again.
func TestAResultThatCannotBe(t *testing.T) {
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
		"a choice that there is not": {func(q *protocol.MatchResultReport) {
			q.Result.Details.Choices = protocol.Both("P01", &maybe, "P02", &maybe)
		}, "result.details.choices: P01", protocol.ErrInvalidParityChoice},
		"choices that are not told": {func(q *protocol.MatchResultReport) {
			q.Result.Winner, q.Result.Details.Choices = loser(q), nil
		}, "no choice reported for P01", ""},
		"a choice that is not told": {func(q *protocol.MatchResultReport) {
			q.Result.Details.Choices = q.Result.Details.Choices[:1]
		}, "no choice reported for P02", ""},
		"nothing but a draw": {func(q *protocol.MatchResultReport) { q.Result.Details = nil },
			"no choice reported for P01", ""},
		"another number": {func(q *protocol.MatchResultReport) {
			*q.Result.Details.DrawnNumber = *q.Result.Details.DrawnNumber%10 + 1
		},
			"result.details.drawn_number: by the draw it is", ""},
		"another winner": {func(q *protocol.MatchResultReport) {
			q.Result.Winner = loser(q)
		}, "result.winner: by the rules of even_odd it is P0", ""},
		"a draw of equal parts": {func(q *protocol.MatchResultReport) {
			q.Result.Winner, q.Result.Details.Status = nil, protocol.StatusDraw
		}, "result.winner: by the rules of even_odd it is P0", ""},
		"a nonce that was not promised": {func(q *protocol.MatchResultReport) { q.Draw.Nonce = strings.Repeat("0", 64) },
			"draw.nonce: it does not belong to the commitment", ""},
	} {
		t.Run(name, func(t *testing.T) {
			leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
				w.StartReporting()
				q := drawn(w)
				test.change(q)
				_, err := w.Report(q)
				assert.Equal(t, cmp.Or(test.code, protocol.ErrInvalidFieldType), protocol.AsError(err).Code)
				assert.Contains(t, protocol.AsError(err).Detail, test.detail)
				assert.Zero(t, w.Manager.Status().Recorded)
				_, err = w.Report(drawn(w))
				require.NoError(t, err, "the truth is taken")
			})
		})
	}
}

// A referee that was bound to a draw must reveal it, and no other.
func TestAResultWithoutThePromisedDraw(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01", leaguetest.On(protocol.ReportMatchResult.Name, leaguetest.Normally))
		w.Players(2, leaguetest.WithDelays(0, 10*leaguetest.Second, 0))
		w.WaitUntil(5 * leaguetest.Second)
		_, err := w.Report(w.WinReport("REF01"))
		leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
		assert.Contains(t, protocol.AsError(err).Detail, "draw: it is missing")
		forged := drawn(w)
		nonce := leaguetest.SecretOf("another")
		forged.Draw = &protocol.Draw{Commitment: protocol.DrawCommitment(leaguetest.LeagueID, "R1M1", 1, "REF01", nonce), Nonce: protocol.Secret(nonce).Hex()}
		_, err = w.Report(forged)
		leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
		assert.Contains(t, protocol.AsError(err).Detail, "draw.commitment")
		w.Finish()
		assert.Equal(t, 1, w.Manager.Status().Recorded)
	})
}
