package pairing_test

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/pairing"
)

// fataler is the common part of testing.T and rapid.T.
type fataler interface {
	require.TestingT
	Helper()
}

// A judge decides how a match ends.
type judge func(round int, p pairing.Pairing) league.Played

// lowerWins is the judge of a field in which lower indexes are stronger.
func lowerWins(_ int, p pairing.Pairing) league.Played {
	return league.Played{A: p.A, B: p.B, Winner: min(p.A, p.B)}
}

func allDrawn(_ int, p pairing.Pairing) league.Played {
	return league.Played{A: p.A, B: p.B, Winner: league.None}
}

// drawnJudge draws a judge of random results.
func drawnJudge(t *rapid.T) judge {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	draws := rapid.SampledFrom([]float64{0, 0.2, 0.9, 1}).Draw(t, "draws")
	failures := rapid.SampledFrom([]float64{0, 0.05, 0.5}).Draw(t, "failures")
	return func(_ int, p pairing.Pairing) league.Played {
		r := league.Played{A: p.A, B: p.B, Winner: league.None, Technical: rng.Float64() < failures}
		if r.Technical && rng.IntN(3) == 0 || !r.Technical && rng.Float64() < draws {
			return r
		}
		r.Winner = p.A
		if rng.IntN(2) == 0 {
			r.Winner = p.B
		}
		return r
	}
}

func newPairer(t fataler, f pairing.Format) pairing.Pairer {
	t.Helper()
	p, err := pairing.New(f)
	require.NoError(t, err)
	return p
}

// play plays a tournament until Round returns nil.
func play(p pairing.Pairer, end judge) [][]league.Played { return playWithout(p, end, nil) }

// playWithout plays a tournament with absent players.
func playWithout(p pairing.Pairer, end judge, absent pairing.Absences) (played [][]league.Played) {
	for {
		round := len(played) + 1
		pairings := p.Round(round, played, absent)
		if pairings == nil {
			return played
		}
		results := make([]league.Played, len(pairings))
		for i, pair := range pairings {
			results[i] = end(round, pair)
		}
		played = append(played, results)
	}
}

func pairingsOf(played [][]league.Played) [][]pairing.Pairing {
	all := make([][]pairing.Pairing, len(played))
	for i, results := range played {
		for _, r := range results {
			all[i] = append(all[i], pairing.Pairing{A: r.A, B: r.B})
		}
	}
	return all
}

func TestUnknownAlgorithmIsRejected(t *testing.T) {
	for _, name := range []string{"", pairing.Circle} {
		p, err := pairing.New(pairing.Format{Name: name, Players: 4, Legs: 1})
		require.NoError(t, err)
		assert.Equal(t, roundRobin(t, 4, 1), p)
	}
	_, err := pairing.New(pairing.Format{Name: "circle-v2", Players: 4, Legs: 1})
	assert.ErrorContains(t, err, "made by another version of evenodd")
}

func TestByesAreThePlayersWithoutAMatch(t *testing.T) {
	assert.Equal(t, []int{0, 2, 3}, pairing.Byes(5, []pairing.Pairing{{A: 4, B: 1}}))
	assert.Nil(t, pairing.Byes(4, []pairing.Pairing{{A: 3, B: 1}, {A: 0, B: 2}}))
}

// TestAlgorithmsNeverChange compares the pairings of many tournaments with those that
// leagues were played with. Leagues store only the name of the algorithm: other pairings
// need another name.
func TestAlgorithmsNeverChange(t *testing.T) {
	for name, want := range map[string]uint32{
		pairing.Circle:            0x6737c032,
		pairing.Berger:            0x1e9d4a94,
		pairing.BergerMirrored:    0x8667b71,
		pairing.Swiss:             0x7f8a6e13,
		pairing.Knockout:          0x85e95fc6,
		pairing.Sequential:        0xbc84ef69,
		pairing.SequentialBerger:  0x5497bdb0,
		pairing.Gauntlet:          0xfa42260c,
		pairing.DoubleElimination: 0xbb20ab23,
	} {
		sum, legs := crc32.NewIEEE(), 1
		if name == pairing.Sequential || name == pairing.SequentialBerger || name == pairing.Gauntlet {
			legs = 2
		}
		for players := 2; players <= 40; players++ {
			p := newPairer(t, pairing.Format{Name: name, Players: players, Legs: legs, Rounds: (players + 1) / 2,
				Gauntlet: (players + 3) / 5})
			fmt.Fprintln(sum, pairingsOf(play(p, func(round int, p pairing.Pairing) league.Played {
				kind := (p.A*31 + p.B*17 + round*7) % 11
				return league.Played{A: p.A, B: p.B, Winner: []int{p.A, p.B, league.None}[kind%3], Technical: kind > 8}
			})))
		}
		assert.Equal(t, want, sum.Sum32(), name)
	}
}

func ExampleNew() {
	swiss, err := pairing.New(pairing.Format{Name: pairing.Swiss, Players: 5})
	if err != nil {
		panic(err)
	}
	var played [][]league.Played
	for round := 1; round <= swiss.Rounds(); round++ {
		pairings := swiss.Round(round, played, nil)
		fmt.Println(round, pairings, "byes", pairing.Byes(5, pairings))
		var results []league.Played
		for _, p := range pairings {
			results = append(results, league.Played{A: p.A, B: p.B, Winner: min(p.A, p.B)})
		}
		played = append(played, results)
	}
	// Output:
	// 1 [{0 2} {3 1}] byes [4]
	// 2 [{1 0} {2 4}] byes [3]
	// 3 [{0 3} {4 1}] byes [2]
}

// Seeds give players the places of others: with the same results in the same places, the
// tournament is the same.
func TestSeedsChangeNothingButThePlayers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 20).Draw(t, "players")
		seeds := rapid.Permutation(indexes(players)).Draw(t, "seeds")
		name := rapid.SampledFrom([]string{pairing.Swiss, pairing.Knockout, pairing.DoubleElimination, pairing.Gauntlet}).Draw(t, "format")
		plain := newPairer(t, pairing.Format{Name: name, Players: players, Legs: 1, Gauntlet: 1})
		seeded := newPairer(t, pairing.Format{Name: name, Players: players, Seeds: seeds, Legs: 1, Gauntlet: 1})
		judge := drawnJudge(t)
		var plainPlayed, seededPlayed [][]league.Played
		for round := 1; round <= plain.Rounds(); round++ {
			pairs := plain.Round(round, plainPlayed, nil)
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
			require.Equal(t, want, seeded.Round(round, seededPlayed, nil))
			plainPlayed, seededPlayed = append(plainPlayed, plainResults), append(seededPlayed, seededResults)
		}
	})
}

func TestAbsences(t *testing.T) {
	assert.False(t, pairing.Absences(nil).Has(0, 1))
	absent := make(pairing.Absences, 2)
	absent.Set(1, 3, false)
	absent.Set(1, 3, true)
	absent.Set(1, 4, true)
	absent.Set(1, 5, false)
	absent.Set(1, 7, true)
	absent.Set(1, 7, false)
	absent.Set(1, 9, true)
	assert.Equal(t, pairing.Absences{nil, {3, 5, 9}}, absent)
	for round, want := range []bool{false, false, false, true, true, false, false, false, false, true, true} {
		assert.Equal(t, want, absent.Has(1, round), "round %d", round)
		assert.False(t, absent.Has(0, round))
	}
}

// In each two legs, the pairs of the first one meet again from the other side, and no others.
func TestPairsMeetFromBothSidesInTwoLegs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 9).Draw(t, "players")
		f := pairing.Format{Players: players, Legs: 2 * rapid.IntRange(1, 3).Draw(t, "double legs"),
			Name: rapid.SampledFrom([]string{pairing.Circle, pairing.Berger, pairing.BergerMirrored, pairing.Sequential,
				pairing.SequentialBerger, pairing.Gauntlet}).Draw(t, "algorithm")}
		if f.Name == pairing.Gauntlet {
			f.Gauntlet = rapid.IntRange(1, players-1).Draw(t, "seeds")
		}
		p, err := pairing.New(f)
		require.NoError(t, err)
		met := map[pairing.Pairing][]int{} // the legs by pairs
		for round := 1; round <= p.Rounds(); round++ {
			leg := p.(pairing.Legged).Leg(round)
			for _, pair := range p.Round(round, make([][]league.Played, round-1), nil) {
				met[pair] = append(met[pair], leg)
			}
		}
		for pair, legs := range met {
			for i, leg := range met[pairing.Pairing{A: pair.B, B: pair.A}] {
				require.Equal(t, (leg+1)/2, (legs[i]+1)/2)
				require.NotEqual(t, leg, legs[i])
			}
			require.Len(t, legs, f.Legs/2)
		}
	})
}
