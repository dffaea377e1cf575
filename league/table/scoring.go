package table

import (
	"fmt"
	"slices"
	"strings"
)

// The tie-breaks of a league. All are descending: the higher value ranks first.
const (
	// TiebreakPoints is the total of points.
	TiebreakPoints = "points"
	// TiebreakWins is the number of wins, technical ones included.
	TiebreakWins = "wins"
	// TiebreakDraws is the number of draws.
	TiebreakDraws = "draws"
	// TiebreakHeadToHead is the points from matches among the players that are still tied
	// after all earlier tie-breaks.
	TiebreakHeadToHead = "head_to_head"
	// TiebreakSonnebornBerger is the points of each defeated opponent plus half the points
	// of each opponent of a draw, once per match.
	TiebreakSonnebornBerger = "sonneborn_berger"
	// TiebreakWinRate is wins per match played; 0 before the first match.
	TiebreakWinRate = "win_rate"
)

// Scoring defines the points of a match and the order of the players.
type Scoring struct {
	// Points for one match. A player that failed gets TechnicalLoss, its opponent Win.
	Win, Draw, Loss, TechnicalLoss int

	// Tiebreakers by priority, each at most once. Points are an ordinary tie-break. An empty
	// list means the tie-breaks of DefaultScoring.
	Tiebreakers []string
}

// DefaultScoring returns the scoring of spec 003 §3.4: 3 points for a win, 1 for a draw, 0
// for a loss of any kind; ranked by points, wins, draws. (§3.4.2 says "draw difference",
// which does not exist; it means the number of draws.)
func DefaultScoring() Scoring {
	return Scoring{Win: 3, Draw: 1, Tiebreakers: []string{TiebreakPoints, TiebreakWins, TiebreakDraws}}
}

// Equal reports whether two scorings rank identically.
func (s Scoring) Equal(o Scoring) bool {
	named := func(list []string) []string {
		if len(list) == 0 {
			return DefaultScoring().Tiebreakers
		}
		return list
	}
	return s.Win == o.Win && s.Draw == o.Draw && s.Loss == o.Loss && s.TechnicalLoss == o.TechnicalLoss &&
		slices.Equal(named(s.Tiebreakers), named(o.Tiebreakers))
}

// Validate reports the first tie-breaker that is unknown or repeated.
func (s Scoring) Validate() error {
	known := []string{
		TiebreakPoints, TiebreakWins, TiebreakDraws,
		TiebreakHeadToHead, TiebreakSonnebornBerger, TiebreakWinRate,
	}
	for i, name := range s.Tiebreakers {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown tie-breaker %q: known are %s", name, strings.Join(known, ", "))
		}
		if slices.Contains(s.Tiebreakers[:i], name) {
			return fmt.Errorf("tie-breaker %q is repeated: use each of %s at most once", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// needsResults reports whether the tie-breaks need more than the counters of a Row.
func (s Scoring) needsResults() bool {
	return slices.Contains(s.Tiebreakers, TiebreakHeadToHead) ||
		slices.Contains(s.Tiebreakers, TiebreakSonnebornBerger)
}
