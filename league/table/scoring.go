package table

import (
	"fmt"
	"slices"
	"strings"
)

// The tie-breaks a league may rank its players by. All are descending: the
// higher value stands first.
const (
	// TiebreakPoints is the total of points.
	TiebreakPoints = "points"
	// TiebreakWins is the number of wins, technical ones included.
	TiebreakWins = "wins"
	// TiebreakDraws is the number of draws.
	TiebreakDraws = "draws"
	// TiebreakHeadToHead is the points gained in matches among those who are
	// still level after all earlier tie-breaks.
	TiebreakHeadToHead = "head_to_head"
	// TiebreakSonnebornBerger is the points of every opponent beaten plus half
	// the points of every opponent drawn with, once per match.
	TiebreakSonnebornBerger = "sonneborn_berger"
	// TiebreakWinRate is wins per match played; 0 before the first match.
	TiebreakWinRate = "win_rate"
)

// Scoring is how a league awards points and how it separates players.
type Scoring struct {
	// Points for one match. TechnicalLoss goes to the player who failed; the
	// opponent of a player who failed gets Win.
	Win, Draw, Loss, TechnicalLoss int

	// Tiebreakers, the first deciding first, each at most once. Points are one
	// of them and have no precedence of their own. None at all means those of
	// DefaultScoring.
	Tiebreakers []string
}

// DefaultScoring is that of spec 003 §3.4: 3 points for a win, 1 for a draw, 0
// for a loss of any kind; ranked by points, wins, draws. (§3.4.2 says "draw
// difference", which a player has with nobody; the number of draws is meant.)
func DefaultScoring() Scoring {
	return Scoring{Win: 3, Draw: 1, Tiebreakers: []string{TiebreakPoints, TiebreakWins, TiebreakDraws}}
}

// Equal tells whether two scorings rank alike.
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
			return fmt.Errorf("tie-breaker %q is repeated: each of %s may be named once", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// needsResults reports whether the counters of a Row do not suffice to rank by
// this scoring.
func (s Scoring) needsResults() bool {
	return slices.Contains(s.Tiebreakers, TiebreakHeadToHead) ||
		slices.Contains(s.Tiebreakers, TiebreakSonnebornBerger)
}
