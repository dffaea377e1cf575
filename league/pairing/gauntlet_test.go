package pairing_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/pairing"
)

func TestGauntlet(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		players, gauntlet, legs int
		seeds                   []int
		want                    [][]pairing.Pairing
	}{
		{"one seed meets the others, with swapped sides in the second leg", 4, 1, 2, nil, [][]pairing.Pairing{
			{{0, 1}}, {{2, 0}}, {{0, 3}}, {{1, 0}}, {{0, 2}}, {{3, 0}},
		}},
		{"two seeds", 5, 2, 1, []int{4, 2, 0, 1, 3}, [][]pairing.Pairing{
			{{4, 0}, {2, 1}}, {{1, 4}, {3, 2}}, {{4, 3}, {0, 2}},
		}},
		{"more seeds than others", 4, 3, 1, nil, [][]pairing.Pairing{{{0, 3}}, {{3, 1}}, {{2, 3}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPairer(t, pairing.Format{
				Name: pairing.Gauntlet, Players: tt.players, Gauntlet: tt.gauntlet, Legs: tt.legs, Seeds: tt.seeds,
			})
			assert.Equal(t, tt.want, pairingsOf(play(p, lowerWins)))
		})
	}
}

func TestAnyGauntlet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := pairing.Format{Name: pairing.Gauntlet, Players: rapid.IntRange(2, 40).Draw(t, "players")}
		f.Gauntlet, f.Legs = rapid.IntRange(1, f.Players-1).Draw(t, "gauntlet"), rapid.IntRange(1, 5).Draw(t, "legs")
		f.Seeds = rapid.Permutation(indexes(f.Players)).Draw(t, "seeds")
		p := newPairer(t, f)
		met, sides := map[[2]int]int{}, map[pairing.Pairing]int{}
		turns, matches := p.Rounds()/f.Legs, 0
		require.Equal(t, max(f.Gauntlet, f.Players-f.Gauntlet), turns, "as few rounds as possible")
		balance := make([]int, f.Players)
		for round := 1; round <= p.Rounds(); round++ {
			pairings := p.Round(round, nil, nil)
			matches += len(pairings)
			require.Len(t, pairing.Byes(f.Players, pairings), f.Players-2*len(pairings), "each player plays once")
			for _, pair := range pairings {
				met[pairOf(pair.A, pair.B)]++
				sides[pair]++
				balance[pair.A]++
				balance[pair.B]--
			}
			if round%turns == 0 {
				for player, n := range balance {
					require.LessOrEqual(t, max(n, -n), round/turns%2, "player %d after round %d", player, round)
				}
			}
		}
		require.Equal(t, p.Matches(), matches)
		require.Nil(t, p.Round(p.Rounds()+1, nil, nil))
		for i, seed := range f.Seeds {
			for j, other := range f.Seeds[:i] {
				want := 0
				if j < f.Gauntlet && i >= f.Gauntlet {
					want = f.Legs
				}
				require.Equal(t, want, met[pairOf(seed, other)], "%d and %d", seed, other)
				both := sides[pairing.Pairing{A: seed, B: other}] - sides[pairing.Pairing{A: other, B: seed}]
				require.LessOrEqual(t, max(both, -both), want%2, "sides of %d and %d", seed, other)
			}
		}
	})
}

func TestInvalidGauntletIsRejected(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		players, gauntlet, legs int
		want                    string
	}{
		{"no seed", 4, 0, 1, "a gauntlet of 4 players is of 1 to 3 of them, got 0"},
		{"all players", 4, 4, 1, "a gauntlet of 4 players is of 1 to 3 of them, got 4"},
		{"one player", 1, 1, 1, "at least 2 players, got 1"},
		{"a negative number of players", -1, 1, 1, "at least 2 players, got -1"},
		{"no legs", 4, 1, 0, "at least 1 leg, got 0"},
		{"too many matches", 5, 2, math.MaxInt / 5, "more matches than can be counted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := pairing.New(pairing.Format{
				Name: pairing.Gauntlet, Players: tt.players, Gauntlet: tt.gauntlet, Legs: tt.legs,
			})
			assert.ErrorContains(t, err, tt.want)
		})
	}
}
