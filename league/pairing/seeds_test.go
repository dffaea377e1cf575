package pairing_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/pairing"
)

// Seeds give players the places of others: with the same results in the same places, the
// tournament is the same.
func TestSeedsChangeNothingButThePlayers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 20).Draw(t, "players")
		seeds := rapid.Permutation(indexes(players)).Draw(t, "seeds")
		name := rapid.SampledFrom([]string{pairing.Swiss, pairing.Knockout}).Draw(t, "format")
		plain := newPairer(t, pairing.Format{Name: name, Players: players})
		seeded := newPairer(t, pairing.Format{Name: name, Players: players, Seeds: seeds})
		judge := drawnJudge(t)
		var plainPlayed, seededPlayed [][]league.Played
		for round := 1; round <= plain.Rounds(); round++ {
			pairs := plain.Round(round, plainPlayed)
			var want []pairing.Pairing
			var plainResults, seededResults []league.Played
			for _, p := range pairs {
				r := judge(round, p)
				q := pairing.Pairing{A: seeds[p.A], B: seeds[p.B]}
				want = append(want, q)
				plainResults = append(plainResults, r)
				r.A, r.B = q.A, q.B
				if r.Winner != league.None {
					r.Winner = seeds[r.Winner]
				}
				seededResults = append(seededResults, r)
			}
			require.Equal(t, want, seeded.Round(round, seededPlayed))
			plainPlayed, seededPlayed = append(plainPlayed, plainResults), append(seededPlayed, seededResults)
		}
	})
}
