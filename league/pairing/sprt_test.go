package pairing_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/pairing"
)

// The ratios are those of an independent program for tests of chess engines.
func TestLogRatioOfDoubleLegs(t *testing.T) {
	for _, tt := range []struct {
		elo0, elo1 float64
		counts     pairing.DoubleLegs
		want       float64
	}{
		{0, 20, pairing.DoubleLegs{}, -0.000016548},
		{0, 20, pairing.DoubleLegs{10, 20, 40, 22, 12}, 0.001539668},
		{0, 20, pairing.DoubleLegs{0, 0, 300, 60, 5}, 20.404649125},
		{0, 20, pairing.DoubleLegs{0, 0, 0, 0, 7}, 0.391469319},
		{0, 20, pairing.DoubleLegs{7, 0, 0, 0, 0}, -0.414665579},
		{-5, 5, pairing.DoubleLegs{100, 900, 3000, 950, 120}, 9.606810864},
		{0, 2, pairing.DoubleLegs{1200, 9000, 21000, 9400, 1300}, 6.095281442},
		{0, 20, pairing.DoubleLegs{0, 50, 0, 0, 0}, -2.961096604},
		{0, 400, pairing.DoubleLegs{0, 0, 1, 2, 30}, 19.726861141},
		{0, 20, pairing.DoubleLegs{0, 0, 500, 0, 0}, -29.599594837},
	} {
		got := pairing.Bounds{Elo0: tt.elo0, Elo1: tt.elo1}.LogRatio(tt.counts)
		assert.InDelta(t, math.Round(tt.want*1e6)/1e6, got, 0, "%+v", tt)
	}
}

// A doubleLeg draws the result of two matches on opposite sides, of players of which the first scores
// as expected with a difference in Elo. Side A has an advantage.
func doubleLeg(random *rand.Rand, elo float64) (halfPoints int) {
	const draws, advantage = 0.4, 0.05
	expected := 1 / (1 + math.Pow(10, -elo/400))
	for _, side := range []float64{advantage, -advantage} {
		win := expected + side - draws/2
		switch u := random.Float64(); {
		case u < win:
			halfPoints += 2
		case u < win+draws:
			halfPoints++
		}
	}
	return halfPoints
}

// TestErrorsOfTheSequentialTest plays double legs until the test decides. docs/statistics.md has the figures.
func TestErrorsOfTheSequentialTest(t *testing.T) {
	runs := 100.0
	if os.Getenv("EVENODD_TEST_ALL") != "" {
		runs = 2000
	}
	bounds := pairing.Bounds{Elo0: 0, Elo1: 20}
	for _, tt := range []struct {
		name string
		elo  float64
		not  int // the wrong decision; -1 for none
	}{
		{"at elo0", bounds.Elo0, 1},
		{"at elo1", bounds.Elo1, 0},
		{"midway", (bounds.Elo0 + bounds.Elo1) / 2, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.not < 0 && runs < 2000 {
				return // it decides nothing, and takes longest
			}
			wrong, undecided, legs := 0.0, 0, 0
			for seed := range int(runs) {
				random := rand.New(rand.NewPCG(uint64(seed), 7))
				var counts pairing.DoubleLegs
				var bound, n int
				decided := false
				for ; !decided && n < 10_000; n++ {
					counts[doubleLeg(random, tt.elo)]++
					bound, decided = bounds.Decision(counts)
				}
				legs += 2 * n
				switch {
				case !decided:
					undecided++
				case bound == tt.not:
					wrong++
				}
			}
			t.Logf("%v runs: %.1f%% wrong, %d undecided, %.0f legs on average", runs, 100*wrong/runs, undecided, float64(legs)/runs)
			assert.LessOrEqual(t, wrong/runs, 0.05+2*math.Sqrt(0.05*0.95/runs), "5%% and two standard errors")
			assert.Zero(t, undecided)
		})
	}
}

func TestLeagueWithBoundsEnds(t *testing.T) {
	bounds := pairing.Bounds{Elo0: 0, Elo1: 20}
	format := pairing.Format{Name: pairing.SPRT, Players: 2, Legs: 400, Bounds: bounds}
	won := func(player int) judge {
		return func(round int, p pairing.Pairing) league.Played {
			r := league.Played{A: p.A, B: p.B, Winner: player}
			if round%3 == 0 {
				r.Winner = league.None
			}
			return r
		}
	}
	for _, tt := range []struct {
		name  string
		judge judge
		bound int
	}{{"for elo1", won(0), 1}, {"for elo0", won(1), 0}} {
		t.Run(tt.name, func(t *testing.T) {
			played := play(newPairer(t, format), tt.judge)
			require.Zero(t, len(played)%2)
			require.Less(t, len(played), 400)
			bound, decided := bounds.Decision(pairing.CountDoubleLegs(played))
			assert.True(t, decided)
			assert.Equal(t, tt.bound, bound)
			_, decided = bounds.Decision(pairing.CountDoubleLegs(played[:len(played)-2]))
			assert.False(t, decided, "it ends as soon as the results decide")
			for leg, pairings := range pairingsOf(played) {
				assert.Equal(t, []pairing.Pairing{{A: leg % 2, B: 1 - leg%2}}, pairings)
			}
		})
	}
	assert.Len(t, play(newPairer(t, format), func(round int, p pairing.Pairing) league.Played {
		r := won(0)(round, p)
		r.Technical = round%2 == 0
		return r
	}), 400, "double legs with a technical loss count for nothing")
}

func TestImpossibleBoundsAreRejected(t *testing.T) {
	for _, tt := range []struct {
		elo0, elo1 float64
		players    int
		want       string
	}{
		{20, 20, 2, "ascending order"},
		{20, 0, 2, "ascending order"},
		{0, 1001, 2, "from -1000 to 1000"},
		{-2000, 5, 2, "from -1000 to 1000"},
		{math.NaN(), 5, 2, "ascending order"},
		{0, 20, 3, "a league with bounds has two players, got 3"},
	} {
		_, err := pairing.New(pairing.Format{Name: pairing.SPRT, Players: tt.players, Legs: 2,
			Bounds: pairing.Bounds{Elo0: tt.elo0, Elo1: tt.elo1}})
		assert.ErrorContains(t, err, tt.want)
	}
}
