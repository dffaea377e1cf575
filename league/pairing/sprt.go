package pairing

import (
	"fmt"
	"math"

	"evenodd/league"
)

// MaxElo is the largest difference in strength that bounds of a league of two players name.
const MaxElo = 1000

// Bounds are two differences in strength of the first of two players over the second, on the logistic scale of Elo:
// with 400 more, a player scores 10 of 11 points. A league with bounds decides between them by a sequential test.
type Bounds struct {
	Elo0 float64 `json:"elo0"`
	Elo1 float64 `json:"elo1"` // larger than Elo0
}

// Check returns an error unless -MaxElo ≤ Elo0 < Elo1 ≤ MaxElo.
func (b Bounds) Check() error {
	if !(-MaxElo <= b.Elo0 && b.Elo0 < b.Elo1 && b.Elo1 <= MaxElo) { // also for what is no number
		return fmt.Errorf("the bounds %v and %v must be in ascending order, from %d to %d", b.Elo0, b.Elo1, -MaxElo, MaxElo)
	}
	return nil
}

// DoubleLegs counts the double legs of two players by the points of the first one in their two matches, in halves of a
// point: 0 to 4. It is the pentanomial distribution of a double leg.
type DoubleLegs [5]int

// CountDoubleLegs counts the complete double legs of a league of two players. Double legs with a technical loss count
// for nothing, and so do those whose matches are both copies.
func CountDoubleLegs(played [][]league.Played) (counts DoubleLegs) {
	for ; len(played) >= 2; played = played[2:] {
		first, second := &played[0][0], &played[1][0]
		if first.Technical || second.Technical || first.Copy && second.Copy {
			continue
		}
		counts[halfPoints(first)+halfPoints(second)]++
	}
	return counts
}

// halfPoints are those of player 0.
func halfPoints(r *league.Played) int {
	switch r.Winner {
	case none:
		return 1
	case 0:
		return 2
	}
	return 0
}

// Limit is the natural logarithm of 19: the log-likelihood ratio at which the test decides, with error probabilities of
// 5% each.
func Limit() float64 { return math.Log(19) }

// Decision is the bound that the counts support: 1 for Elo1, 0 for Elo0, and decided is false before that.
func (b Bounds) Decision(counts DoubleLegs) (bound int, decided bool) {
	switch ratio := b.LogRatio(counts); {
	case ratio >= Limit():
		return 1, true
	case ratio <= -Limit():
		return 0, true
	}
	return 0, false
}

// LogRatio is the generalised log-likelihood ratio of Elo1 against Elo0, rounded to 6 decimals, so that each processor
// decides alike. For each bound it takes the distribution of scores with the expected score of that bound under which
// the counts are most likely. A score that did not occur counts 0.001 times.
func (b Bounds) LogRatio(counts DoubleLegs) float64 {
	const least = 0.001
	var n [len(counts)]float64
	total := 0.0
	for i, count := range counts {
		n[i] = max(float64(count), least)
		total += n[i]
	}
	ratio, x0, x1 := 0.0, tilt(n, total, expected(b.Elo0)), tilt(n, total, expected(b.Elo1))
	for i := range n {
		d0, d1 := deviation(i, expected(b.Elo0)), deviation(i, expected(b.Elo1))
		// The most likely probability of score i is n[i] / total / (1 + x·d). float64 keeps a processor from rounding once
		// for two operations.
		term := math.Log((1 + float64(x0*d0)) / (1 + float64(x1*d1)))
		ratio += float64(n[i] * term)
	}
	return math.Round(ratio*1e6) / 1e6
}

// expected is the expected score in a match, from 0 to 1, with a difference in Elo.
func expected(elo float64) float64 { return 1 / (1 + math.Pow(10, -elo/400)) }

// deviation is the difference of the score of double legs with i half points from an expected score in a match.
func deviation(i int, score float64) float64 { return float64(i)/4 - score }

// tilt is the Lagrange multiplier x of the most likely distribution with an expected score: the root of
// Σ n·d / (1 + x·d), which falls over the whole interval in which all probabilities are positive. It is found by
// Newton's method, and by halving the interval where that leaves it.
func tilt(n [5]float64, total, score float64) (x float64) {
	low, high := -1/(1-score), 1/score
	for range 200 {
		sum, slope := 0.0, 0.0
		for i := range n {
			d := deviation(i, score)
			part := d / (1 + float64(x*d))
			sum += float64(n[i] / total * part)
			slope -= float64(n[i] / total * float64(part*part))
		}
		if sum > 0 {
			low = x
		} else {
			high = x
		}
		next := x - sum/slope
		if next <= low || next >= high {
			next = (low + high) / 2
		}
		if math.Abs(next-x) < 1e-13 {
			return next
		}
		x = next
	}
	return x
}
