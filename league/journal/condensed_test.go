package journal_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/journal"
)

// withoutDraws is a copy of a match without what Condense drops.
func withoutDraws(m *journal.Match) journal.Match {
	c := *m
	c.Attempts = append([]journal.Attempt(nil), m.Attempts...)
	for i := range c.Attempts {
		c.Attempts[i].Commitment, c.Attempts[i].Event = "", 0
	}
	if m.Report != nil {
		report := *m.Report
		report.Draw = nil
		c.Report = &report
	}
	return c
}

// anyResult draws a result of P01 and P02 that the state accepts: one of our referees, of a
// third-party referee, or of a forged journal.
func anyResult(t *rapid.T) league.Result {
	text := func(name string) *string {
		return rapid.Ptr(rapid.SampledFrom([]string{"", "even", "odd", "rock"}), true).Draw(t, name)
	}
	r := league.Result{
		Status:       rapid.SampledFrom([]string{league.StatusWin, league.StatusDraw, league.StatusTechnicalLoss}).Draw(t, "status"),
		DrawnNumber:  rapid.Ptr(rapid.IntRange(0, 10), true).Draw(t, "number"),
		NumberParity: text("parity"),
		Reason: strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"P01", "P02", "P0", "P011", " chose ", "\x00", "\x00A", "B"}), 0, 4).
			Draw(t, "reason"), ""),
	}
	ids := rapid.Permutation([]string{"P01", "P02"})
	if r.Status != league.StatusDraw && (r.Status == league.StatusWin || rapid.Bool().Draw(t, "one failed")) {
		r.WinnerPlayerID = &ids.Draw(t, "winner")[0]
	}
	for _, id := range ids.Draw(t, "choices")[:rapid.SampledFrom([]int{0, 1, 2, 2, 2, 2}).Draw(t, "chosen")] {
		r.Choices = append(r.Choices, league.Member[*string]{Name: id, Value: text("choice")})
	}
	if rapid.Bool().Draw(t, "faults") {
		r.Faults = league.PerPlayer[string]{}
		for _, id := range ids.Draw(t, "failed")[:rapid.IntRange(0, 2).Draw(t, "failures")] {
			r.Faults = append(r.Faults, league.Member[string]{Name: id, Value: rapid.SampledFrom([]string{"", "E001", "E009"}).Draw(t, "code")})
		}
	}
	if rapid.Bool().Draw(t, "fallbacks") {
		r.Fallbacks = league.PerPlayer[int]{}
		for _, id := range ids.Draw(t, "fell back")[:rapid.IntRange(0, 2).Draw(t, "fallbacks of")] {
			r.Fallbacks = append(r.Fallbacks, league.Member[int]{Name: id, Value: rapid.IntRange(0, 2).Draw(t, "count")})
		}
	}
	return r
}

func TestCondensedMatchLacksOnlyTheDraw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newTestLeague(t, 0, 0)
		var want []journal.Match
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			id := l.announce()
			attempt := league.Attempt{MatchID: id, Number: 1}
			l.apply(&journal.MatchAssigned{Attempt: attempt, RefereeID: "REF01"})
			if rapid.Bool().Draw(rt, "declined") {
				l.apply(&journal.MatchDeclined{Attempt: attempt, RefereeID: "REF01"})
				attempt.Number = 2
				l.apply(&journal.MatchAssigned{Attempt: attempt, RefereeID: "REF02"})
			}
			referee := []string{"REF01", "REF02"}[attempt.Number-1]
			if rapid.Bool().Draw(rt, "accepted") {
				l.apply(&journal.MatchAccepted{Attempt: attempt, RefereeID: referee, DrawCommitment: "c"})
			}
			l.report(id, attempt.Number, referee, anyResult(rt))
			if rapid.Bool().Draw(rt, "disputed") {
				l.apply(&journal.MatchDisputed{Attempt: attempt, RefereeID: "REF02"})
			}
			l.complete()
			want = append(want, withoutDraws(l.Match(id)))
		}
		records, results := l.RoundRecords(), l.Recorded
		l.Condense(l.Round)
		for m := range l.Matches() {
			require.Equal(rt, want[m.Report.MatchID.Round-1], withoutDraws(m))
		}
		assert.Equal(rt, records, l.RoundRecords())
		assert.Equal(rt, results, l.Recorded)
	})
}
