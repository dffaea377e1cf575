package stats_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"evenodd/league"
	"evenodd/league/view/stats"
)

// roundRobin plays legs of a league. play returns the probabilities that side A and side B win.
func roundRobin(players, legs int, seed uint64, play func(a, b int) (winA, winB float64)) (matches []league.Played) {
	random := rand.New(rand.NewPCG(seed, 0))
	for leg := range legs {
		for i := range players {
			for j := i + 1; j < players; j++ {
				a, b := i, j
				if leg%2 == 1 {
					a, b = j, i
				}
				m := league.Played{A: a, B: b, Winner: league.None}
				winA, winB := play(a, b)
				switch x := random.Float64(); {
				case x < winA:
					m.Winner = a
				case x < winA+winB:
					m.Winner = b
				}
				matches = append(matches, m)
			}
		}
	}
	return matches
}

// luck is a game without skill, as Even/Odd.
func luck(_, _ int) (winA, winB float64) { return 0.25, 0.25 }

// BenchmarkAnalyse analyses leagues. The baseline counts the wins of all matches, once for each
// shuffle and each resample; x-baseline is the ratio.
func BenchmarkAnalyse(b *testing.B) {
	const times = 999 + 200
	for _, size := range []struct{ players, legs int }{{4, 1}, {8, 5}, {50, 1}, {200, 1}} {
		matches := roundRobin(size.players, size.legs, 7, luck)
		for _, alike := range []bool{true, false} {
			b.Run(fmt.Sprintf("players=%d/legs=%d/alike=%t", size.players, size.legs, alike), func(b *testing.B) {
				var took, baseline time.Duration
				for b.Loop() {
					start := time.Now()
					analyse(size.players, matches, stats.Options{Seed: 7, SidesAlike: alike})
					took += time.Since(start)
					start = time.Now()
					for range times {
						countWins(size.players, matches)
					}
					baseline += time.Since(start)
				}
				b.ReportMetric(float64(took)/float64(b.N)/1e6, "ms/analysis")
				b.ReportMetric(float64(took)/float64(baseline), "x-baseline")
			})
		}
	}
}

func countWins(players int, matches []league.Played) []int {
	wins := make([]int, players)
	for i := range matches {
		if m := &matches[i]; m.Winner != league.None {
			wins[m.Winner]++
		}
	}
	return wins
}
