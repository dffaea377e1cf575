package pairing_test

import (
	"math"
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
	s := roundRobin(t, players, legs)
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
			if (p.A > p.B) != evenLeg {
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
