package league

import (
	"fmt"
	"slices"
	"strings"
)

// MatchPoints are the points of one match. TechnicalLoss goes to the player that failed; the
// opponent of a player that failed gets Win.
type MatchPoints struct {
	Win           int `json:"win_points"`
	Draw          int `json:"draw_points"`
	Loss          int `json:"loss_points"`
	TechnicalLoss int `json:"technical_loss_points"`
}

// For are the points of a side.
func (p MatchPoints) For(o Outcome) int {
	return [...]int{Win: p.Win, Draw: p.Draw, Loss: p.Loss, TechnicalLoss: p.TechnicalLoss}[o]
}

// Scoring is how a league awards points and separates players.
type Scoring struct {
	MatchPoints

	// Tiebreakers, the first deciding first, each at most once. Points are one of them
	// and have no precedence of their own. An empty list means those of DefaultScoring.
	Tiebreakers []string
}

// DefaultScoring is that of the specification: 3 points for a win, 1 for a draw, 0 for a loss
// of any kind; ranked by points, wins, draws. (The specification says "draw difference", which does
// not exist between players; the number of draws is meant.)
func DefaultScoring() Scoring {
	return Scoring{MatchPoints{Win: 3, Draw: 1}, []string{TiebreakPoints, TiebreakWins, TiebreakDraws}}
}

// SwissTiebreakers are the usual tie-breakers of a Swiss system.
func SwissTiebreakers() []string {
	return []string{TiebreakPoints, TiebreakBuchholz, TiebreakSonnebornBerger, TiebreakWins}
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
