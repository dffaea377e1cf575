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

	Rows    []ratingRow
	Further int    // ratings that a file leaves out
	Unrated []ref  // players without a rated match
	Average string // where the picture has the average player, in percent
	Scale   []scaleMark
}

// A scaleMark names a rating above the intervals.
type scaleMark struct {
	Rating    int
	X, Anchor string // in percent, and which end of the text is there
}

// A ratingRow is the rating of one player.
type ratingRow struct {
	ref
	*stats.Player

	X, Width, Middle string // of the picture of the interval, in percent
}

// scaleUnit is what the ends of the scale are multiples of.
const scaleUnit = 100

// fill adds the numbers.
func (v *statistics) fill(s *stats.Analysis) {
	v.Analysis = s
	least, largest := float64(averageRating), float64(averageRating)
	for i := range s.Ratings {
		if r := &s.Ratings[i]; r.Matches > 0 {
			least, largest = min(least, r.Low), max(largest, r.High)
		}
	}
	low, high := math.Floor(least/scaleUnit)*scaleUnit, math.Ceil(largest/scaleUnit)*scaleUnit
	x := func(rating float64) float64 { return (rating - low) * 100 / max(high-low, 1) }
	for i := range s.Ratings {
		r := &s.Ratings[i]
		if r.Matches == 0 {
			v.Unrated = append(v.Unrated, ref{r.PlayerID, shown(r.Shown())})
			continue
		}
		v.Rows = append(v.Rows, ratingRow{
			ref{r.PlayerID, shown(r.Shown())}, r, decimal(x(r.Low)), decimal(x(r.High) - x(r.Low)), decimal(x(r.Rating)),
		})
	}
	v.Average = decimal(x(averageRating))
	for _, mark := range []scaleMark{
		{int(low), "0", "start"}, {averageRating, v.Average, "middle"}, {int(high), "100", "end"},
	} {
		const apart = 15 // percent, or the texts overlap
		if mark.Rating == averageRating || math.Abs(x(float64(mark.Rating))-x(averageRating)) > apart {
			v.Scale = append(v.Scale, mark)
		}
	}
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
