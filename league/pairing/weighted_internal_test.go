package pairing

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheapestPairsCostLeast compares the sums of the costs with those of an exhaustive search.
func TestCheapestPairsCostLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n := 2 * (1 + rng.IntN(6))
		most := 1 + rng.Int64N(6)
		costs := map[pair]weight{}
		for u := range n {
			for v := range u {
				w := weight{rng.Int64N(most), rng.Int64N(most), 0, 0, rng.Int64N(most)}
				costs[pair{u, v}], costs[pair{v, u}] = w, w
			}
		}
		cost := func(u, v int) weight { return costs[pair{u, v}] }
		least := make([]*weight, 1<<n) // by the set of vertices
		least[0] = &weight{}
		for set := 1; set < 1<<n; set++ {
			u := 0
			for set>>u&1 == 0 {
				u++
			}
			for v := u + 1; v < n; v++ {
				if rest := set &^ (1<<u | 1<<v); rest != set&^(1<<u) && least[rest] != nil {
					if sum := least[rest].plus(cost(u, v)); least[set] == nil || sum.compare(*least[set]) < 0 {
						least[set] = &sum
					}
				}
			}
		}
		var sum weight
		partners, tight := cheapest(n, cost)
		for u, v := range partners {
			require.NotEqual(t, u, v)
			require.True(t, tight(u, v))
			if u < v {
				sum = sum.plus(cost(u, v))
			}
		}
		require.Equal(t, *least[1<<n-1], sum, "%d vertices", n)
		for u := range n {
			for v := range u {
				with := least[(1<<n-1)&^(1<<u|1<<v)].plus(cost(u, v))
				require.False(t, with == sum && !tight(u, v), "a pairing that costs least has %d and %d", u, v)
			}
		}
	}
}

func BenchmarkCheapest(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var costs [128][128]weight
	for u := range costs {
		for v := range u {
			costs[u][v] = weight{rng.Int64N(5), rng.Int64N(100)}
			costs[v][u] = costs[u][v]
		}
	}
	for _, n := range []int{12, 40, 128} {
		b.Run("", func(b *testing.B) {
			for b.Loop() {
				cheapest(n, func(u, v int) weight { return costs[u][v] })
			}
		})
	}
}
