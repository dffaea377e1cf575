package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExpAndLogAgreeWithPackageMath(t *testing.T) {
	for x := -40.0; x <= 40; x += 1.0 / 512 {
		assert.InEpsilon(t, math.Exp(x), exp(x), 1e-15, "exp(%v)", x)
	}
	for x := 1.0 / 1024; x <= 8; x += 1.0 / 1024 {
		assert.InDelta(t, math.Log(x), log(x), 1e-15*max(1, math.Abs(math.Log(x))), "log(%v)", x)
	}
	for _, x := range []float64{1e-300, 1e-17, 1e17, 1e300} {
		assert.InEpsilon(t, math.Log(x), log(x), 1e-15, "log(%v)", x)
	}
	assert.Zero(t, log(1))
	assert.InDelta(t, 1, exp(0), 0)
	assert.InEpsilon(t, math.Exp(700), exp(1e9), 1e-12)
	assert.InEpsilon(t, math.Exp(-700), exp(math.Inf(-1)), 1e-12)
}

// Half of the numbers are below the median of the distribution, which is ln 2 for the exponential
// one and half of 0.67449² for the gamma one.
func TestSamplersHaveTheirMeanAndMedian(t *testing.T) {
	const n = 100_000
	random := newRandom(7, keyResample)
	for name, c := range map[string]struct {
		draw         func() float64
		mean, median float64
	}{
		"exponential": {func() float64 { return exponential(random) }, 1, math.Ln2},
		"gamma":       {func() float64 { return gammaHalf(random) }, 0.5, 0.67449 * 0.67449 / 2},
	} {
		values, sum := make([]float64, n), 0.0
		for i := range values {
			values[i] = c.draw()
			sum += values[i]
		}
		slices.Sort(values)
		assert.InDelta(t, c.mean, sum/n, 0.015, name)
		assert.InDelta(t, c.median, values[n/2], 0.015, name)
		assert.GreaterOrEqual(t, values[0], 0.0, name)
	}
}

// All processors compute these bits. amd64 and arm64 have, with and without fused instructions.
func TestNumbersAreTheSameOnAllProcessors(t *testing.T) {
	hash := uint64(14695981039346656037) // FNV-1a, of numbers instead of bytes
	add := func(values ...float64) {
		for _, v := range values {
			hash = (hash ^ math.Float64bits(v)) * 1099511628211
		}
	}
	for x := -30.0; x <= 30; x += 1.0 / 64 {
		add(exp(x), log(x+31))
	}
	random := newRandom(1, 2)
	for range 1000 {
		add(exponential(random), gammaHalf(random))
	}
	var matches []Match
	for a := range 12 {
		for b := range a {
			winner := []int{a, b, None, a}[random.IntN(4)]
			matches = append(matches, Match{A: a, B: b, Winner: winner})
		}
	}
	for _, alike := range []bool{false, true} {
		a := Analyse(12, matches, Options{Seed: 3, SidesAlike: alike})
		add(a.Sides.Advantage, a.Equality.Statistic, a.Equality.P)
		add(a.strengths...)
		for _, p := range a.Players {
			add(p.Rating, p.Low, p.High, p.SonnebornBerger, float64(p.LegsToNext), float64(p.BestRank), float64(p.WorstRank))
		}
	}
	assert.Equal(t, uint64(0x1acf8cde2f73cc1), hash)
}
