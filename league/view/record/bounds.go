package record

import (
	"fmt"
	"slices"

	"evenodd/league"
	"evenodd/league/pairing"
	"evenodd/league/view/stats"
)

// A BoundsTest is the sequential test of a league with bounds. Difference is how much stronger the first player is.
type BoundsTest struct {
	pairing.Bounds
	PlayerID   string             `json:"player_id"`
	OpponentID string             `json:"opponent_id"`
	DoubleLegs pairing.DoubleLegs `json:"double_legs"`          // by the points of the first player: 0, ½, 1, 1½, 2
	LogRatio   float64            `json:"log_likelihood_ratio"` // of elo1 against elo0
	Limit      float64            `json:"limit"`                // at which the test accepts elo1; at its negative elo0
	Accepted   string             `json:"accepted,omitzero"`    // elo0 or elo1; "" for neither
}

// test is the test of a league with bounds by the results of its rounds; nil for another league.
func (r *Results) test(rounds [][]league.Played) *BoundsTest {
	if r.Bounds == nil || len(r.Players) != 2 {
		return nil
	}
	ids := []string{r.Players[0].PlayerID, r.Players[1].PlayerID}
	slices.SortFunc(ids, league.CompareIDs)
	counts := pairing.CountDoubleLegs(rounds)
	t := &BoundsTest{Bounds: *r.Bounds, PlayerID: ids[0], OpponentID: ids[1], DoubleLegs: counts,
		LogRatio: r.Bounds.LogRatio(counts), Limit: stats.Significant(pairing.Limit())}
	if bound, decided := r.Bounds.Decision(counts); decided {
		t.Accepted = []string{"elo0", "elo1"}[bound]
	}
	return t
}

// sentence says what stopped a league with bounds.
func (t *BoundsTest) sentence(c *Comparison, named naming) string {
	ratio := fmt.Sprintf("log-likelihood ratio %.2f, limits ±%.2f", t.LogRatio, t.Limit)
	switch c.StoppedBy {
	case StoppedBySignificance:
		accepted, rejected := t.Elo1, t.Elo0
		if t.Accepted == "elo0" {
			accepted, rejected = rejected, accepted
		}
		return fmt.Sprintf("Stopped after %d of at most %d legs: %s is rather %g than %g Elo stronger than %s (%s).", c.Legs,
			c.MostLegs, named(t.PlayerID), accepted, rejected, named(t.OpponentID), ratio)
	case StoppedByCopies:
		return fmt.Sprintf("Stopped after %d of at most %d legs by copies of earlier matches, which show nothing.", c.Legs,
			c.MostLegs)
	case StoppedByLegs:
		return fmt.Sprintf("Stopped after all %d legs: the results do not decide between %g and %g Elo (%s).", c.Legs, t.Elo0,
			t.Elo1, ratio)
	}
	return fmt.Sprintf("After %d of at most %d legs the results do not decide between %g and %g Elo (%s).", c.Legs,
		c.MostLegs, t.Elo0, t.Elo1, ratio)
}
