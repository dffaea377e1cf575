package stats

import (
	"math"
	"math/rand/v2"
)

// The numbers of this package are the same on all processors, to the last bit. For this,
//
//   - a product in a sum is written float64(x*y) + z. Without the conversion, Go may round the sum
//     only and not the product, and does so on arm64.
//   - the package has its own exp, log and samplers. The results of math.Exp and math.Log differ
//     between arm64 and amd64, those of math.Exp also between processors of amd64. Package rand
//     uses both.
//
// A last bit decides now and then whether a sampler rejects a number, and then all numbers after
// it are others. TestProgramAndTestsAreValidOnEveryPlatform finds products without the conversion.

const (
	ln2High = 0x1.62e42fefap-1      // of few bits: its product with an exponent is exact
	ln2Low  = 0x1.cf79abc9e3b3ap-40 // ln 2 − ln2High
	limit   = 700                   // of the argument of exp, below its overflow
)

// exp returns e to the power of x, with an error of a few units in the last place. For x beyond
// ±700 it returns the power of ±700.
func exp(x float64) float64 {
	x = min(max(x, -limit), limit)
	k := math.Floor(x/math.Ln2 + 0.5)
	r := x - float64(k*ln2High) - float64(k*ln2Low) // |r| ≤ ½ ln 2
	t := float64(r * r)
	even := 665_280 + float64(t*(75_600+float64(t*(840+t)))) // the Padé approximant of order 6
	odd := float64(r * (332_640 + float64(t*(10_080+float64(t*42)))))
	return math.Ldexp((even+odd)/(even-odd), int(k))
}

// log returns the natural logarithm of x > 0, with an error of a few units in the last place.
func log(x float64) float64 {
	m, exponent := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, exponent = 2*m, exponent-1
	}
	s := (m - 1) / (m + 1) // |s| < 0.172
	square, sum := float64(s*s), 0.0
	for n := 21.0; n > 1; n -= 2 {
		sum = float64(square * (1/n + sum))
	}
	k := float64(exponent) // ln x = k ln 2 + 2 artanh s
	return float64(k*ln2High) + (2*s + (float64(2*s*sum) + float64(k*ln2Low)))
}

// exponential returns a random number of the exponential distribution with mean 1.
func exponential(random *rand.Rand) float64 { return -log(1 - random.Float64()) }

// gammaHalf returns a random number of the gamma distribution with shape ½ and mean ½, that of
// half the square of a normal number. It uses Marsaglia's polar method.
func gammaHalf(random *rand.Rand) float64 {
	for {
		x, y := 2*random.Float64()-1, 2*random.Float64()-1
		square := float64(x * x)
		if s := square + float64(y*y); s > 0 && s < 1 {
			return float64(-log(s) * (square / s))
		}
	}
}
