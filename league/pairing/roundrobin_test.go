package pairing_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/pairing"
)

func roundRobin(t fataler, players, legs int) pairing.RoundRobin {
	t.Helper()
	s, err := pairing.NewRoundRobin(players, legs)
	require.NoError(t, err)
	return s
}

func TestRoundRobinPairings(t *testing.T) {
	for _, tt := range []struct {
		name          string
		players, legs int
		want          [][]pairing.Pairing
	}{
		{"two players meet once", 2, 1, [][]pairing.Pairing{
			{{0, 1}},
		}},
		{"two players, three legs: the third repeats the first", 2, 3, [][]pairing.Pairing{
			{{0, 1}},
			{{1, 0}},
			{{0, 1}},
		}},
		{"three players: one match and one bye a round", 3, 1, [][]pairing.Pairing{
			{{0, 1}},
			{{0, 2}},
			{{1, 2}},
		}},
		{"four players: spec 003 table 9", 4, 1, [][]pairing.Pairing{
			{{0, 1}, {2, 3}},
			{{0, 2}, {1, 3}},
			{{0, 3}, {1, 2}},
		}},
		{"four players, two legs: sides swapped in the second", 4, 2, [][]pairing.Pairing{
			{{0, 1}, {2, 3}},
			{{0, 2}, {1, 3}},
			{{0, 3}, {1, 2}},
			{{1, 0}, {3, 2}},
			{{2, 0}, {3, 1}},
			{{3, 0}, {2, 1}},
		}},
		{"five players: the bye moves through every slot, numbers stay contiguous", 5, 1, [][]pairing.Pairing{
			{{0, 1}, {3, 4}},
			{{0, 2}, {1, 3}},
			{{0, 3}, {2, 4}},
			{{0, 4}, {1, 2}},
			{{1, 4}, {2, 3}},
		}},
		{"six players", 6, 1, [][]pairing.Pairing{
			{{0, 1}, {2, 5}, {3, 4}},
			{{0, 2}, {1, 3}, {4, 5}},
			{{0, 3}, {2, 4}, {1, 5}},
			{{0, 4}, {3, 5}, {1, 2}},
			{{0, 5}, {1, 4}, {2, 3}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := roundRobin(t, tt.players, tt.legs)
			assert.Equal(t, len(tt.want), s.Rounds())
			assert.Equal(t, tt.want, rounds(s))
		})
	}
}

// berger returns a round robin with balanced sides.
func berger(t fataler, algorithm string, players, legs int) pairing.RoundRobin {
	t.Helper()
	return newPairer(t, pairing.Format{Name: algorithm, Players: players, Legs: legs}).(pairing.RoundRobin)
}

func TestPairingsWithBalancedSides(t *testing.T) {
	for _, tt := range []struct {
		name          string
		players, legs int
		want          [][]pairing.Pairing
	}{
		{"two players: the sides change with each leg", 2, 3, [][]pairing.Pairing{{{0, 1}}, {{1, 0}}, {{0, 1}}}},
		{"three players: each is A once", 3, 1, [][]pairing.Pairing{{{1, 2}}, {{2, 0}}, {{0, 1}}}},
		{"four players meet as in spec 003 table 9, with other sides", 4, 2, [][]pairing.Pairing{
			{{0, 1}, {2, 3}},
			{{2, 0}, {3, 1}},
			{{0, 3}, {1, 2}},
			{{1, 0}, {3, 2}},
			{{0, 2}, {1, 3}},
			{{3, 0}, {2, 1}},
		}},
		{"five players: the sides of each alternate", 5, 1, [][]pairing.Pairing{
			{{1, 4}, {3, 2}},
			{{2, 0}, {4, 3}},
			{{3, 1}, {0, 4}},
			{{4, 2}, {1, 0}},
			{{0, 3}, {2, 1}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, rounds(berger(t, pairing.Berger, tt.players, tt.legs)))
		})
	}
}

// Each player is side A in k or k-1 of its matches, after each leg, and its sides alternate.
func TestSidesOfARoundRobinAreBalanced(t *testing.T) {
	for players := 2; players <= 40; players++ {
		for _, algorithm := range []string{pairing.Berger, pairing.BergerMirrored} {
			s := berger(t, algorithm, players, 5)
			balance := make([]int, players) // A minus B
			sides, repeats := make([]int, players), make([]int, players)
			for i, pairings := range rounds(s) {
				round := i + 1
				for _, p := range pairings {
					for player, side := range map[int]int{p.A: 1, p.B: -1} {
						balance[player] += side
						if side == sides[player] {
							repeats[player]++
						}
						sides[player] = side
					}
				}
				leg := s.Rounds() / 5
				if round%leg != 0 {
					continue
				}
				for player := range players {
					require.LessOrEqual(t, max(balance[player], -balance[player]), 1, "%s, %d players, player %d after %d rounds",
						algorithm, players, player, round)
					require.LessOrEqual(t, repeats[player], 2*round/leg, "%d players: the sides of player %d alternate", players, player)
				}
			}
			checkRounds(t, s, players, 5, false)
		}
	}
}

// The players that are side A once more are not those with low indexes, and the lot decides which half they are.
func TestTheLotDecidesWhoIsSideAOnceMore(t *testing.T) {
	for players := 2; players <= 40; players += 2 {
		plain, other := berger(t, pairing.Berger, players, 3), berger(t, pairing.BergerMirrored, players, 3)
		more := make([]int, players)
		for round := 1; round <= plain.Rounds(); round++ {
			opposite := other.Round(round, nil, nil)
			for i, p := range plain.Round(round, nil, nil) {
				require.Equal(t, pairing.Pairing{A: p.B, B: p.A}, opposite[i])
				more[p.A]++
				more[p.B]--
			}
		}
		for player := range players {
			require.Equal(t, 1-2*(player%2), more[player], "every second of %d players", players)
		}
	}
	assert.Equal(t, pairing.Circle, pairing.RoundRobinFor(true, true))
	assert.Equal(t, pairing.Berger, pairing.RoundRobinFor(false, false))
	assert.Equal(t, pairing.BergerMirrored, pairing.RoundRobinFor(false, true))
}

// TestNoIndexHasAnAdvantage plays leagues of eight equal players of a game in which side A wins 58% and side B 29% of
// the matches, as among random players of Tic-Tac-Toe. The test is that of chi-square for equal chances of the first
// place, at the level of 0.1%: it exceeds 24.3 with seven degrees of freedom.
func TestNoIndexHasAnAdvantage(t *testing.T) {
	const players, leagues, limit = 8, 4000, 24.3
	chiSquare := func(algorithm func(seed int) string) (sum float64) {
		first := make([]float64, players)
		for seed := range leagues {
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			points := make([]int, players)
			for _, pairings := range rounds(berger(t, algorithm(seed), players, 1)) {
				for _, p := range pairings {
					switch x := random.Float64(); {
					case x < 0.58:
						points[p.A] += 3
					case x < 0.87:
						points[p.B] += 3
					default:
						points[p.A]++
						points[p.B]++
					}
				}
			}
			best := []int{0}
			for player := 1; player < players; player++ {
				if points[player] > points[best[0]] {
					best = best[:0]
				}
				if len(best) == 0 || points[player] == points[best[0]] {
					best = append(best, player)
				}
			}
			first[best[random.IntN(len(best))]]++
		}
		expected := float64(leagues) / players
		for _, n := range first {
			sum += (n - expected) * (n - expected) / expected
		}
		return sum
	}
	drawn := chiSquare(func(seed int) string { return pairing.RoundRobinFor(false, seed%2 == 1) })
	assert.Less(t, drawn, limit)
	assert.Greater(t, chiSquare(func(int) string { return pairing.Berger }), limit, "without the lot every second player is ahead")
	assert.Greater(t, chiSquare(func(int) string { return pairing.Circle }), 10*limit, "the lower index is always A")
	t.Logf("%.1f", drawn)
}

func TestRoundRobinWithoutMatchesIsRejected(t *testing.T) {
	for _, tt := range []struct {
		name          string
		players, legs int
		want          string
	}{
		{"no player", 0, 1, "at least 2 players, got 0"},
		{"one player", 1, 1, "at least 2 players, got 1"},
		{"a negative number of players", -4, 1, "at least 2 players, got -4"},
		{"no leg", 4, 0, "at least 1 leg, got 0"},
		{"a negative leg", 4, -1, "at least 1 leg, got -1"},
		{"legs past counting", 4, math.MaxInt / 5, "more matches than can be counted"},
		{"players past counting", math.MaxInt, 1, "more matches than can be counted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := pairing.NewRoundRobin(tt.players, tt.legs)
			require.ErrorContains(t, err, tt.want)
			assert.Equal(t, pairing.RoundRobin{}, s)
		})
	}
}

func TestLargestCountableLeagueIsAccepted(t *testing.T) {
	s := roundRobin(t, 4, math.MaxInt/6)
	assert.Equal(t, math.MaxInt/6*6, s.Matches())
	assert.Len(t, s.Round(s.Rounds(), nil, nil), 2)
}

func TestZeroRoundRobinHasNoRounds(t *testing.T) {
	var s pairing.RoundRobin
	assert.Zero(t, s.Rounds())
	assert.Zero(t, s.Matches())
	assert.Nil(t, s.Round(1, nil, nil))
}

func TestRoundsOutsideTheLeagueAreNil(t *testing.T) {
	for _, players := range []int{2, 5, 6} {
		s := roundRobin(t, players, 2)
		for _, round := range []int{math.MinInt, -1, 0, s.Rounds() + 1, math.MaxInt} {
			assert.Nil(t, s.Round(round, nil, nil), "round %d", round)
		}
	}
}

func TestEveryLeagueFrom2To64(t *testing.T) {
	for players := 2; players <= 64; players++ {
		for legs := 1; legs <= 3; legs++ {
			checkSchedule(t, players, legs)
		}
	}
}

func TestAnyLeague(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 200).Draw(t, "players")
		legs := rapid.IntRange(1, 5).Draw(t, "legs")
		checkSchedule(t, players, legs)
	})
}

func rounds(s pairing.RoundRobin) [][]pairing.Pairing {
	all := make([][]pairing.Pairing, 0, s.Rounds())
	for round := 1; round <= s.Rounds(); round++ {
		all = append(all, s.Round(round, nil, nil))
	}
	return all
}

// checkSchedule checks all rounds of a league against the definition of a round
// robin. It makes millions of comparisons, for which assert is too slow.
func checkSchedule(t fataler, players, legs int) {
	t.Helper()
	checkRounds(t, roundRobin(t, players, legs), players, legs, true)
}

func checkRounds(t fataler, s pairing.RoundRobin, players, legs int, lowerFirst bool) {
	t.Helper()
	fail := func(round, match int, what string) {
		t.Helper()
		require.FailNow(t, what, "%d players, %d legs, R%dM%d", players, legs, round, match)
	}

	perLeg := s.Rounds() / legs
	met := make(map[pairing.Pairing]int) // lower index first: how often
	byes := make([]int, players)
	matches := 0
	for round := 1; round <= s.Rounds(); round++ {
		pairings := s.Round(round, nil, nil)
		if len(pairings) != players/2 {
			fail(round, 0, "every round has as many matches as possible")
		}
		busy := make([]bool, players)
		for i, p := range pairings {
			match := i + 1
			matches++
			for _, player := range []int{p.A, p.B} {
				if player < 0 || player >= players {
					fail(round, match, "only players of the league play")
				}
				if busy[player] {
					fail(round, match, "no player plays twice in a round")
				}
				busy[player] = true
			}
			evenLeg := (round-1)/perLeg%2 == 1
			if lowerFirst && (p.A > p.B) != evenLeg {
				fail(round, match, "the lower index is A in odd legs, B in even ones")
			}
			if round > perLeg {
				if (s.Round(round-perLeg, nil, nil)[i] != pairing.Pairing{A: p.B, B: p.A}) {
					fail(round, match, "a leg repeats the leg before with sides swapped")
				}
			}
			met[pairing.Pairing{A: min(p.A, p.B), B: max(p.A, p.B)}]++
		}
		free := 0
		for player, plays := range busy {
			if plays {
				continue
			}
			free++
			byes[player]++
		}
		if free != players%2 {
			fail(round, 0, "one bye a round for an odd number of players, else none")
		}
		if round%perLeg == 0 {
			checkLeg(t, players, round/perLeg, met, byes)
		}
	}
	if matches != s.Matches() {
		fail(s.Rounds(), 0, "Matches counts all matches")
	}
}

// checkLeg checks that every pair has met once per leg, and that every player had
// the same number of byes.
func checkLeg(t fataler, players, legs int, met map[pairing.Pairing]int, byes []int) {
	t.Helper()
	if len(met) != players*(players-1)/2 {
		require.FailNow(t, "every pair meets", "%d players, %d legs: %d pairs", players, legs, len(met))
	}
	for pair, times := range met {
		if times != legs {
			require.FailNow(t, "every pair meets once per leg", "%d players, %d legs: %v met %d times", players, legs, pair, times)
		}
	}
	for player, times := range byes {
		if times != players%2*legs {
			require.FailNow(t, "every player has the same number of byes", "%d players, %d legs: player %d had %d", players, legs, player, times)
		}
	}
}
