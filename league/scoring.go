package league

import (
	"fmt"
	"slices"
	"strings"
)

// The tie-breakers by which a league may rank its players. The higher value ranks first.
const (
	// TiebreakPoints is the total of points.
	TiebreakPoints = "points"
	// TiebreakWins is the number of wins, technical ones included.
	TiebreakWins = "wins"
	// TiebreakDraws is the number of draws.
	TiebreakDraws = "draws"
	// TiebreakHeadToHead is the points from matches among the players that all earlier
	// tie-breakers leave level.
	TiebreakHeadToHead = "head_to_head"
	// TiebreakBuchholz is the sum of the points of every opponent, once per match. A bye
	// adds nothing.
	TiebreakBuchholz = "buchholz"
	// TiebreakSonnebornBerger is the points of every opponent beaten plus half the
	// points of every opponent drawn with, once per match.
	TiebreakSonnebornBerger = "sonneborn_berger"
	// TiebreakWinRate is wins per match played; 0 before the first match.
	TiebreakWinRate = "win_rate"
)

// Scoring is how a league awards points and separates players.
type Scoring struct {
	// Points for one match. TechnicalLoss goes to the player that failed; the opponent
	// of a player that failed gets Win.
	Win, Draw, Loss, TechnicalLoss int

	// Tiebreakers, the first deciding first, each at most once. Points are one of them
	// and have no precedence of their own. An empty list means those of DefaultScoring.
	Tiebreakers []string
}

// DefaultScoring is that of spec 003 §3.4: 3 points for a win, 1 for a draw, 0 for a loss
// of any kind; ranked by points, wins, draws. (§3.4.2 says "draw difference", which does
// not exist between players; the number of draws is meant.)
func DefaultScoring() Scoring {
	return Scoring{Win: 3, Draw: 1, Tiebreakers: []string{TiebreakPoints, TiebreakWins, TiebreakDraws}}
}

// SwissTiebreakers are the usual tie-breakers of a Swiss system.
func SwissTiebreakers() []string {
	return []string{TiebreakPoints, TiebreakBuchholz, TiebreakSonnebornBerger, TiebreakWins}
}

// Tiebreakers are the names of all tie-breakers.
func Tiebreakers() []string {
	return []string{
		TiebreakPoints, TiebreakWins, TiebreakDraws,
		TiebreakHeadToHead, TiebreakBuchholz, TiebreakSonnebornBerger, TiebreakWinRate,
	}
}

// TiebreakLabel is the name of a tie-breaker for people, such as head-to-head.
func TiebreakLabel(name string) string {
	switch name {
	case TiebreakHeadToHead:
		return "head-to-head"
	case TiebreakBuchholz:
		return "Buchholz"
	case TiebreakSonnebornBerger:
		return "Sonneborn–Berger"
	case TiebreakWinRate:
		return "win rate"
	default:
		return name
	}
}

// Points are the points of a result for its players A and B. They mean nothing for a
// result that Table.Record refuses.
func (s Scoring) Points(r Result) (a, b int) {
	endA, endB := r.ends()
	return s.worth(endA), s.worth(endB)
}

// worth is the points of an end.
func (s Scoring) worth(e end) int {
	return [...]int{won: s.Win, drew: s.Draw, lost: s.Loss, failed: s.TechnicalLoss}[e]
}

// tiebreakers are the tie-breakers that rank.
func (s Scoring) tiebreakers() []string {
	if len(s.Tiebreakers) == 0 {
		return DefaultScoring().Tiebreakers
	}
	return s.Tiebreakers
}

// Equal tells whether two scorings rank alike.
func (s Scoring) Equal(o Scoring) bool {
	return s.Win == o.Win && s.Draw == o.Draw && s.Loss == o.Loss && s.TechnicalLoss == o.TechnicalLoss &&
		slices.Equal(s.tiebreakers(), o.tiebreakers())
}

// Validate returns an error for the first tie-breaker that is unknown or repeated.
func (s Scoring) Validate() error {
	known := Tiebreakers()
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

// needsGames tells whether the counters of a Row do not suffice to rank by this scoring.
func (s Scoring) needsGames() bool {
	return slices.ContainsFunc(s.Tiebreakers, func(name string) bool {
		return name == TiebreakHeadToHead || name == TiebreakBuchholz || name == TiebreakSonnebornBerger
	})
}
