package page

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"

	"evenodd/league/view/record"
	"evenodd/rules"
)

// A statistician keeps the statistics of a league. It computes them anew when the league has
// grown by a tenth, because they can take a second. It is safe for concurrent use.
type statistician struct {
	mu    sync.Mutex
	known *statistics
}

// of returns the statistics of the completed rounds. It computes them without a lock of the
// board.
func (s *statistician) of(b *Board, games rules.Registry) *statistics {
	s.mu.Lock()
	defer s.mu.Unlock()
	var results *record.Results
	now := &statistics{}
	b.View(func(l *record.League) {
		now.league = l
		now.Rounds, now.Over, now.decisions = l.CompletedRounds(), l.Completed != nil, len(l.Decisions)
		if !now.isNewAgainst(s.known) || now.Rounds == 0 {
			return
		}
		results = l.Results(games)
	})
	switch {
	case results != nil:
		now.fill(results.Statistics())
		s.known = now
	case now.Rounds == 0:
		return now
	}
	return s.known
}

// isNewAgainst tells whether a league has changed much.
func (v *statistics) isNewAgainst(known *statistics) bool {
	return known == nil || v.league != known.league || v.Over != known.Over || v.decisions != known.decisions ||
		v.Rounds < known.Rounds || v.Rounds*10 >= known.Rounds*11 && v.Rounds > known.Rounds
}

// statistics is the view of what the results show. Nobody changes it.
type statistics struct {
	*record.Statistics // nil before the first completed round

	Rounds    int // completed ones behind the numbers
	Over      bool
	decisions int
	league    *record.League // only to tell it from another one

	Rows      []ratingRow
	Low, High int    // the ends of the scale
	Average   string // where the picture has the average player
}

func (*statistics) title() string { return "Statistics" }

// A ratingRow is the rating of one player.
type ratingRow struct {
	ref
	Rank             int
	Value, From, To  int    // the rating and its interval
	Ranks            string // the interval of the rank: "1–3"
	Matches          int
	SonnebornBerger  string
	LegsToNext       int
	X, Width, Middle string // of the picture
}

// barWidth is the width of the picture of an interval.
const barWidth = 240

// fill adds the numbers.
func (v *statistics) fill(s *record.Statistics) {
	v.Statistics = s
	if len(s.Ratings) == 0 {
		return
	}
	var x func(rating float64) float64
	v.Low, v.High, x = s.Scale(barWidth)
	for i := range s.Ratings {
		r := &s.Ratings[i]
		v.Rows = append(v.Rows, ratingRow{
			ref: ref{r.PlayerID, shown(r.DisplayName)}, Rank: r.Rank,
			Value: int(math.Round(r.Rating)), From: int(math.Round(r.Low)), To: int(math.Round(r.High)),
			Ranks: r.Ranks(), Matches: r.Matches,
			SonnebornBerger: strconv.FormatFloat(r.SonnebornBerger, 'f', -1, 64), LegsToNext: r.LegsToNext,
			X: decimal(x(r.Low)), Width: decimal(x(r.High) - x(r.Low)), Middle: decimal(x(r.Rating)),
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

func buildStatistics(_ context.Context, b *Board, _ *http.Request) (any, error) {
	return b.statistician.of(b, b.games), nil
}
