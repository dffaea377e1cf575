package report

import (
	"fmt"
	"math"
	"strconv"

	"evenodd/league/record"
)

// maxBars is the number of players whose ratings the HTML shows.
const maxBars = 100

// barWidth is the width of the picture of an interval.
const barWidth = 200

// A strength shows the statistics.
type strength struct {
	*record.Statistics

	Low, High int // the ends of the scale
	Bars      []bar
	Omitted   int
}

// A bar is the interval of a player's rating.
type bar struct {
	Rating record.Rating

	PlayerID        string
	From, Width, At string // in the picture
	Ranks           string
}

// newStrength draws the intervals; nil for a league without statistics.
func newStrength(s *record.Statistics) *strength {
	if s == nil || len(s.Ratings) == 0 {
		return nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	for i := range s.Ratings {
		low, high = min(low, s.Ratings[i].Low), max(high, s.Ratings[i].High)
	}
	const unit = 100
	view := &strength{Statistics: s, Low: int(math.Floor(low/unit)) * unit, High: int(math.Ceil(high/unit)) * unit, Omitted: max(len(s.Ratings)-maxBars, 0)}
	scale := barWidth / max(float64(view.High-view.Low), 1)
	x := func(rating float64) float64 { return float64((rating - float64(view.Low)) * scale) }
	number := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	for _, r := range s.Ratings[:len(s.Ratings)-view.Omitted] {
		ranks := fmt.Sprintf("%d–%d", r.BestRank, r.WorstRank)
		if r.BestRank == r.WorstRank {
			ranks = strconv.Itoa(r.BestRank)
		}
		view.Bars = append(view.Bars, bar{r, r.PlayerID, number(x(r.Low)), number(x(r.High) - x(r.Low)), number(x(r.Rating)), ranks})
	}
	return view
}
