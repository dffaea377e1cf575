package report

import (
	"fmt"

	"evenodd/league/view/record"
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
	view := &strength{Statistics: s, Omitted: max(len(s.Ratings)-maxBars, 0)}
	var x func(rating float64) float64
	view.Low, view.High, x = s.Scale(barWidth)
	number := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	for _, r := range s.Ratings[:len(s.Ratings)-view.Omitted] {
		at := [...]string{number(x(r.Low)), number(x(r.High) - x(r.Low)), number(x(r.Rating))}
		view.Bars = append(view.Bars, bar{r, r.PlayerID, at[0], at[1], at[2], r.Ranks()})
	}
	return view
}
