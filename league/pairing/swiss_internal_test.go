package pairing

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// randomRound is a round of 8 to 46 players with up to as many score groups, whose scores differ by as much as the
// settings of a league allow, so that the criteria of all groups do not fit in a weight.
func randomRound(seed uint64) *swissRound {
	random := rand.New(rand.NewPCG(seed, 7))
	entrants := make([]entrant, 8+2*random.IntN(20))
	ranked, groups := make([]int, len(entrants)), 2+random.IntN(len(entrants))
	for p := range entrants {
		ranked[p], entrants[p].score = p, 1000*random.IntN(groups)
	}
	slices.SortStableFunc(ranked, func(p, q int) int { return cmp.Compare(entrants[q].score, entrants[p].score) })
	for range random.IntN(6 * len(entrants)) {
		p, q := random.IntN(len(entrants)), random.IntN(len(entrants))
		if p != q && !slices.Contains(entrants[p].opponents, q) {
			entrants[p].opponents, entrants[q].opponents = append(entrants[p].opponents, q), append(entrants[q].opponents, p)
		}
	}
	return newSwissRound(entrants, ranked)
}

// The knowledge from the choices of the groups above changes no choice: without it, each group has the same opponents.
func TestSwissGroupsThatAreFarBelowAreRegardedInTime(t *testing.T) {
	for seed := range uint64(300) {
		got, want := randomRound(seed), randomRound(seed)
		got.pairAll()
		unpaired := func(players []int) []int {
			return slices.DeleteFunc(slices.Clone(players), func(p int) bool { return want.mate[p] != none })
		}
		for start := 0; start < len(want.ranked); {
			end := want.groupEnd(want.ranked, start)
			w := &window{swissRound: want, open: unpaired(want.ranked), spare: len(want.group)}
			w.pairGroup(unpaired(want.ranked[start:end]))
			start = end
		}
		assert.Equal(t, want.mate, got.mate, "seed %d", seed)
	}
}

// bipartiteRound is a round of an odd field whose players have met all others of their half and had a bye, except one
// of the lower half.
func bipartiteRound(upper, lower int) *swissRound {
	entrants, ranked := make([]entrant, upper+lower), make([]int, upper+lower)
	for p := range entrants {
		ranked[p] = p
		entrants[p].score, entrants[p].hadBye = len(entrants)-p/3, p != upper+lower/2
		for q := range entrants {
			if q != p && (p < upper) == (q < upper) {
				entrants[p].opponents = append(entrants[p].opponents, q)
			}
		}
	}
	return newSwissRound(entrants, ranked)
}

func TestLargeSwissFieldsHaveTheFewestRepeats(t *testing.T) {
	for _, tt := range []struct {
		name         string
		upper, lower int
		repeats      int
	}{
		{"one legal opponent in the other half for each", 150, 151, 0},
		{"three of the upper half are left", 152, 149, 2},
		{"the lower half is larger by seven", 147, 154, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := bipartiteRound(tt.upper, tt.lower)
			r.pairAll()
			var faults [allFaults]int64
			for _, p := range r.ranked {
				q := r.mate[p]
				assert.Equal(t, p, r.mate[q], "each has one opponent")
				if p < q {
					for i, n := range r.faults(p, q) {
						faults[i] += n
					}
				}
			}
			assert.Equal(t, [allFaults]int64{0, int64(tt.repeats), 0}, faults)
		})
	}
}
