package page

import (
	"fmt"
	"math"

	"evenodd/league/view/record"
	"evenodd/league/view/stats"
)

// statistics returns the statistics of the completed rounds. It computes them anew when the league has grown by a
// tenth, because they can take a second, and without the lock of the league.
func (b *Board) statistics() *statistics {
	b.computing.Lock()
	defer b.computing.Unlock()
	var results *record.Results
	now := &statistics{}
	b.View(func(l *record.League) {
		now.league = l
		now.Rounds, now.Over, now.decisions = l.CompletedRounds(), l.Completed != nil, len(l.Decisions)
		if now.isNewAgainst(b.known) && now.Rounds > 0 {
			results = l.Results(l.Games)
		}
	})
	switch {
	case results != nil:
		now.fill(results.Statistics())
		b.known = now
	case now.Rounds == 0:
		return now
	}
	return b.known
}

// isNewAgainst tells whether a league has changed much.
func (v *statistics) isNewAgainst(known *statistics) bool {
	return known == nil || v.league != known.league || v.Over != known.Over || v.decisions != known.decisions ||
		v.Rounds < known.Rounds || v.Rounds*10 >= known.Rounds*11 && v.Rounds > known.Rounds
}

// statistics is the view of what the results show. Nobody changes it.
type statistics struct {
	*stats.Analysis // nil before the first completed round

	Rounds    int // completed ones behind the numbers
	Over      bool
	decisions int
	league    *record.League // only to tell it from another one

	Rows      []ratingRow
	Unrated   []ref  // players without a rated match
	Low, High int    // the ends of the scale
	Average   string // where the picture has the average player
}

// A ratingRow is the rating of one player.
type ratingRow struct {
	ref
	*stats.Player

	X, Width, Middle string // of the picture of the interval
}

// barWidth is the width of the picture of an interval, and barUnit what its ends are multiples of.
const (
	barWidth = 240
	barUnit  = 100
)

// fill adds the numbers.
func (v *statistics) fill(s *stats.Analysis) {
	v.Analysis = s
	least, largest := float64(averageRating), float64(averageRating)
	for i := range s.Ratings {
		if r := &s.Ratings[i]; r.Matches > 0 {
			least, largest = min(least, r.Low), max(largest, r.High)
		}
	}
	v.Low, v.High = int(math.Floor(least/barUnit))*barUnit, int(math.Ceil(largest/barUnit))*barUnit
	scale := barWidth / max(float64(v.High-v.Low), 1)
	x := func(rating float64) float64 { return (rating - float64(v.Low)) * scale }
	for i := range s.Ratings {
		r := &s.Ratings[i]
		if r.Matches == 0 {
			v.Unrated = append(v.Unrated, ref{r.PlayerID, shown(r.DisplayName)})
			continue
		}
		v.Rows = append(v.Rows, ratingRow{
			ref{r.PlayerID, shown(r.DisplayName)}, r, decimal(x(r.Low)), decimal(x(r.High) - x(r.Low)), decimal(x(r.Rating)),
		})
	}
	v.Average = decimal(x(averageRating))
}

// averageRating is the rating of an average player.
const averageRating = 1500

// Text is the probability of the test in words.
func (v *statistics) Text() string {
	if v.Equality.P < 0.001 {
		return "less than 0.001"
	}
	return fmt.Sprintf("%.3f", v.Equality.P)
}
