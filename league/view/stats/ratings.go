package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"evenodd/league"
	"evenodd/league/lists"
)

// The scale of ratings is that of Elo: odds of 10 to 1 are a difference of 400 points.
const (
	meanRating = 1500
	scale      = 400 / math.Ln10
)

// leastPrior is the least weight of the prior. A player that won all its matches has no upper
// limit, and with a smaller weight its interval would end at ratings that mean nothing.
const leastPrior = 0.01

// rate sets the ratings, the ranks, and their intervals.
//
// An interval comes from a Bayesian bootstrap (Rubin 1981): each resample gives each match a
// random weight with mean 1, exponentially distributed, and each half win and half loss of the
// prior a weight with mean ½, and estimates all strengths again. The prior is resampled too, so
// that the strength of a player that won all its matches has an interval.
func (a *Analysis) rate(matches []league.Played, o *Options) {
	a.model = newModel(len(a.Players), matches, !o.SidesAlike)
	s, data := newSolver(&a.model), &sample{games: make([]float64, len(a.model.edges)),
		scores: make([]float64, a.model.players), prior: make([]float64, a.model.players)}
	data.fill(&a.model, matches, func() float64 { return 1 }, func() float64 { return priorWins })
	s.solve(data, 1e-9)
	a.strengths = make([]float64, len(a.Players))
	for i := range a.strengths { // rounded, so that the last bits do not order players that are level
		a.strengths[i] = math.Round(s.x[i]*1e8) / 1e8
	}
	a.Sides.Advantage = scale * s.x[len(a.Players)]
	for i := range matches {
		a.Players[matches[i].A].Matches++
		a.Players[matches[i].B].Matches++
	}
	for i := range a.Players {
		a.Players[i].Rating = meanRating + scale*a.strengths[i]
	}
	a.Order = order(a.strengths)
	for i, player := range a.Order {
		p := &a.Players[player]
		p.Rank = i + 1
		if i > 0 && a.Players[a.Order[i-1]].Rating-p.Rating < 1e-6 {
			p.Rank = a.Players[a.Order[i-1]].Rank
		}
	}
	a.setIntervals(matches, s, data, o)
}

// order lists the players, the strongest first, and the lower index first if they are level.
func order(strengths []float64) []int {
	players := make([]int, len(strengths))
	for i := range players {
		players[i] = i
	}
	slices.SortStableFunc(players, func(a, b int) int { return cmp.Compare(strengths[b], strengths[a]) })
	return players
}

// setIntervals sets the intervals of ratings and ranks. The solver has the solution.
func (a *Analysis) setIntervals(matches []league.Played, s *solver, drawn *sample, o *Options) {
	n, times := len(a.Players), o.Resamples
	switch {
	case times > 0:
	case n > 1000:
		times = 100
	default:
		times = min(max(400_000/max(len(matches), 1), 200), 500)
	}
	random := newRandom(o.Seed, keyResample)
	weight := func() float64 { return -math.Log(1 - random.Float64()) } // exponentially distributed
	prior := func() float64 { return max(gammaHalf(random), leastPrior) }
	solution := slices.Clone(s.x)
	ratings, ranks := make([][]float64, n), make([][]int, n)
	for i := range n {
		ratings[i], ranks[i] = make([]float64, times), make([]int, times)
	}
	widths := a.widths()
	for t := range times {
		drawn.fill(&a.model, matches, weight, prior)
		copy(s.x, solution)
		s.solve(drawn, 0.03) // the last step leaves a small part of it
		x, middle := s.x[:n], average(s.x[:n])
		for i := range x {
			x[i] = a.strengths[i] + widths[i]*(x[i]-middle-a.strengths[i])
			ratings[i][t] = meanRating + scale*x[i]
		}
		for rank, player := range order(x) {
			ranks[player][t] = rank + 1
		}
	}
	a.resampled = lists.Map(ratings, slices.Clone[[]float64]) // interval sorts the others
	for i := range n {
		p := &a.Players[i]
		p.Low, p.High = interval(ratings[i])
		p.BestRank, p.WorstRank = interval(ranks[i])
		p.Low, p.High = min(p.Low, p.Rating), max(p.High, p.Rating)
		p.BestRank, p.WorstRank = min(p.BestRank, p.Rank), max(p.WorstRank, p.Rank)
	}
}

// Superiority is the likelihood that one player is stronger than another, from 0 to 1: the part of the resamples in
// which its rating is higher.
func (a *Analysis) Superiority(one, other int) float64 {
	above, times := 0.0, len(a.resampled[one])
	for t, rating := range a.resampled[one] {
		switch against := a.resampled[other][t]; {
		case rating > against:
			above++
		case rating == against:
			above += 0.5
		}
	}
	return above / float64(max(times, 1))
}

// gammaHalf returns a random number of the gamma distribution with shape ½ and mean ½, that of
// half the square of a normal number. It uses Marsaglia's polar method.
func gammaHalf(random *rand.Rand) float64 {
	for {
		x, y := 2*random.Float64()-1, 2*random.Float64()-1
		if s := x*x + y*y; s > 0 && s < 1 {
			return -math.Log(s) * x * x / s
		}
	}
}

// widths are the factors by which the differences of resamples from the data grow, by player.
// Where a strength rests on few matches, it fits their luck, and resamples differ too little.
// With these factors intervals contain the true rating in about 95% of leagues, and in more if
// the league is small: TestIntervalsContainTheTrueRating.
func (a *Analysis) widths() []float64 {
	n, widths := float64(len(a.Players)), make([]float64, len(a.Players))
	for i := range widths {
		widths[i] = math.Sqrt((1 + 2/float64(max(a.Players[i].Matches, 1))) * n / max(n-1, 1))
	}
	return widths
}

// average is the strength of an opponent that scores half of the points against all players. In
// the data it is 0, because of the prior. In a resample it is not, as the weights of the prior
// move all strengths; matches tell only differences.
func average(strengths []float64) float64 {
	if len(strengths) == 0 {
		return 0
	}
	low, high := slices.Min(strengths), slices.Max(strengths)
	for high-low > 1e-4 {
		middle, surplus := (low+high)/2, 0.0
		for _, x := range strengths {
			surplus += probability(x-middle) - 0.5
		}
		if surplus > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// interval returns the bounds of the central part of the values, which it sorts.
func interval[T cmp.Ordered](values []T) (low, high T) {
	slices.Sort(values)
	outside := int(float64(len(values)) * (1 - Confidence) / 2)
	return values[outside], values[len(values)-1-outside]
}

// LegsToSeparate estimates how many legs a league of these players needs to show that two of
// them differ: in 4 of 5 leagues of so many legs, a test at the level of 5% would find that their
// scores differ. In a leg each player meets each other one once. The estimate assumes that the
// present ratings are true. It is 0 if the ratings are level, or if more than 10,000 legs are
// needed.
func (a *Analysis) LegsToSeparate(one, two int) int {
	const (
		level, power = 1.959964, 0.841621 // the quantiles 97.5% and 80% of the normal distribution
		most         = 10_000
	)
	if math.Abs(a.strengths[one]-a.strengths[two]) < 1e-6 || a.Used == 0 {
		return 0
	}
	p := probability(a.strengths[one] - a.strengths[two])
	difference, ifEqual, ifTrue := 2*p-1, 1.0, 4*p*(1-p) // of the match between the two
	others := a.sampleOthers(one, two)
	weight := float64(len(a.Order)-2) / float64(max(len(others), 1))
	for _, strength := range others {
		p, q := probability(a.strengths[one]-strength), probability(a.strengths[two]-strength)
		mean := (p + q) / 2
		difference += weight * (p - q)
		ifEqual += weight * 2 * mean * (1 - mean)
		ifTrue += weight * (p*(1-p) + q*(1-q))
	}
	decisive := 1 - float64(a.Sides.Draws)/float64(a.Used) // a draw has no variance
	root := math.Sqrt(decisive) * (level*math.Sqrt(ifEqual) + power*math.Sqrt(ifTrue)) / difference
	legs := root * root
	if legs > most {
		return 0
	}
	return max(int(math.Ceil(legs)), 1)
}

// sampleOthers returns the strengths of the players other than two; of many it takes every k-th
// by rating.
func (a *Analysis) sampleOthers(one, two int) []float64 {
	const enough = 500
	var strengths []float64
	for i := 0; i < len(a.Order); i += 1 + len(a.Order)/enough {
		if player := a.Order[i]; player != one && player != two {
			strengths = append(strengths, a.strengths[player])
		}
	}
	return strengths
}

// probability is that of winning with a difference in strength.
func probability(difference float64) float64 { return 1 / (1 + math.Exp(-difference)) }
