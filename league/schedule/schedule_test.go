package schedule_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/schedule"
)

// fataler is what testing.T and rapid.T have in common, so that one check
// serves the exhaustive loops and the properties.
type fataler interface {
	require.TestingT
	Helper()
}

func roundRobin(t fataler, players, legs int) schedule.Schedule {
	t.Helper()
	s, err := schedule.RoundRobin(players, legs)
	require.NoError(t, err)
	return s
}

func TestRoundRobinToTheLetter(t *testing.T) {
	tests := []struct {
		name          string
		players, legs int
		want          [][]schedule.Pairing
	}{
		{"two players meet once", 2, 1, [][]schedule.Pairing{
			{{0, 1}},
		}},
		{"two players, three legs: the third is seated like the first", 2, 3, [][]schedule.Pairing{
			{{0, 1}},
			{{1, 0}},
			{{0, 1}},
		}},
		{"three players: one match and one bye a round", 3, 1, [][]schedule.Pairing{
			{{0, 1}},
			{{0, 2}},
			{{1, 2}},
		}},
		{"four players: spec 003 table 9", 4, 1, [][]schedule.Pairing{
			{{0, 1}, {2, 3}},
			{{0, 2}, {1, 3}},
			{{0, 3}, {1, 2}},
		}},
		{"four players, two legs: seats swapped in the second", 4, 2, [][]schedule.Pairing{
			{{0, 1}, {2, 3}},
			{{0, 2}, {1, 3}},
			{{0, 3}, {1, 2}},
			{{1, 0}, {3, 2}},
			{{2, 0}, {3, 1}},
			{{3, 0}, {2, 1}},
		}},
		{"five players: the bye moves through every slot, numbers stay contiguous", 5, 1, [][]schedule.Pairing{
			{{0, 1}, {3, 4}},
			{{0, 2}, {1, 3}},
			{{0, 3}, {2, 4}},
			{{0, 4}, {1, 2}},
			{{1, 4}, {2, 3}},
		}},
		{"six players", 6, 1, [][]schedule.Pairing{
			{{0, 1}, {2, 5}, {3, 4}},
			{{0, 2}, {1, 3}, {4, 5}},
			{{0, 3}, {2, 4}, {1, 5}},
			{{0, 4}, {3, 5}, {1, 2}},
			{{0, 5}, {1, 4}, {2, 3}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := roundRobin(t, tt.players, tt.legs)
			assert.Equal(t, len(tt.want), s.Rounds())
			assert.Equal(t, tt.want, rounds(s))
		})
	}
}

func TestRoundRobinRefuses(t *testing.T) {
	tests := []struct {
		name          string
		players, legs int
		want          string
	}{
		{"nobody", 0, 1, "at least 2 players, got 0"},
		{"one player", 1, 1, "at least 2 players, got 1"},
		{"fewer than none", -4, 1, "at least 2 players, got -4"},
		{"no leg", 4, 0, "at least 1 leg, got 0"},
		{"a negative leg", 4, -1, "at least 1 leg, got -1"},
		{"legs past counting", 4, math.MaxInt / 5, "more matches than can be counted"},
		{"players past counting", math.MaxInt, 1, "more matches than can be counted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := schedule.RoundRobin(tt.players, tt.legs)
			require.ErrorContains(t, err, tt.want)
			assert.Equal(t, schedule.Schedule{}, s)
		})
	}
}

func TestLargestCountableLeagueIsAccepted(t *testing.T) {
	s := roundRobin(t, 4, math.MaxInt/6)
	assert.Equal(t, math.MaxInt/6*6, s.Matches())
	last, ok := s.Pair(s.Rounds(), 2)
	require.True(t, ok)
	assert.ElementsMatch(t, []int{1, 2}, []int{last.A, last.B})
}

func TestZeroScheduleHasNoRounds(t *testing.T) {
	var s schedule.Schedule
	assert.Zero(t, s.Players())
	assert.Zero(t, s.Legs())
	assert.Zero(t, s.Rounds())
	assert.Zero(t, s.Matches())
	assert.Nil(t, s.Round(1))
	_, ok := s.Pair(1, 1)
	assert.False(t, ok)
	_, _, ok = s.Opponent(1, 0)
	assert.False(t, ok)
}

func TestCounts(t *testing.T) {
	tests := []struct {
		name                         string
		players, legs                int
		rounds, perRound, inTheWhole int
	}{
		{"four players, spec 003 §3.5.1", 4, 1, 3, 2, 6},
		{"five players", 5, 1, 5, 2, 10},
		{"five players, two legs", 5, 2, 10, 2, 20},
		{"fifty players, three legs", 50, 3, 147, 25, 3675},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := roundRobin(t, tt.players, tt.legs)
			assert.Equal(t, tt.players, s.Players())
			assert.Equal(t, tt.legs, s.Legs())
			assert.Equal(t, tt.rounds, s.Rounds())
			assert.Equal(t, tt.perRound, s.MatchesPerRound())
			assert.Equal(t, tt.inTheWhole, s.Matches())
		})
	}
}

func TestWhatIsNotInTheSchedule(t *testing.T) {
	for _, players := range []int{2, 5, 6} {
		s := roundRobin(t, players, 2)
		for _, round := range []int{math.MinInt, -1, 0, s.Rounds() + 1, math.MaxInt} {
			assert.Nil(t, s.Round(round), "round %d", round)
			pairing, ok := s.Pair(round, 1)
			assert.False(t, ok, "round %d", round)
			assert.Zero(t, pairing)
			opponent, match, ok := s.Opponent(round, 0)
			assert.False(t, ok, "round %d", round)
			assert.Zero(t, opponent)
			assert.Zero(t, match)
		}
		for _, match := range []int{math.MinInt, -1, 0, s.MatchesPerRound() + 1, math.MaxInt} {
			_, ok := s.Pair(1, match)
			assert.False(t, ok, "match %d", match)
		}
		for _, player := range []int{math.MinInt, -1, players, math.MaxInt} {
			_, _, ok := s.Opponent(1, player)
			assert.False(t, ok, "player %d", player)
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

// In a league too large to walk through, single lookups still agree.
func TestLookupsAgreeInHugeLeagues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 20_000).Draw(t, "players")
		s := roundRobin(t, players, rapid.IntRange(1, 4).Draw(t, "legs"))
		round := rapid.IntRange(1, s.Rounds()).Draw(t, "round")
		match := rapid.IntRange(1, s.MatchesPerRound()).Draw(t, "match")

		p, ok := s.Pair(round, match)
		require.True(t, ok)
		opponent, m, ok := s.Opponent(round, p.A)
		require.True(t, ok)
		require.Equal(t, []int{p.B, match}, []int{opponent, m})
		opponent, m, ok = s.Opponent(round, p.B)
		require.True(t, ok)
		require.Equal(t, []int{p.A, match}, []int{opponent, m})
	})
}

func TestLookupsDoNotAllocate(t *testing.T) {
	s := roundRobin(t, 1001, 2)
	round, sum := 0, 0
	allocs := testing.AllocsPerRun(1000, func() {
		round = round%s.Rounds() + 1
		p, _ := s.Pair(round, 7)
		opponent, _, _ := s.Opponent(round, 7)
		sum += p.A + opponent
	})
	assert.Zero(t, allocs)
	assert.NotZero(t, sum)
}

func rounds(s schedule.Schedule) [][]schedule.Pairing {
	all := make([][]schedule.Pairing, 0, s.Rounds())
	for round := 1; round <= s.Rounds(); round++ {
		all = append(all, s.Round(round))
	}
	return all
}

// checkSchedule walks through a whole league and holds it against what a round
// robin is, without using how it is made. It compares by hand rather than with
// assert because it makes millions of comparisons.
func checkSchedule(t fataler, players, legs int) {
	t.Helper()
	s := roundRobin(t, players, legs)
	fail := func(round, match int, what string) {
		t.Helper()
		require.FailNow(t, what, "%d players, %d legs, R%dM%d", players, legs, round, match)
	}

	perLeg := s.Rounds() / legs
	met := make(map[schedule.Pairing]int) // by seats, lower index first: how often
	byes := make([]int, players)
	index := 0
	for round := 1; round <= s.Rounds(); round++ {
		pairings := s.Round(round)
		if len(pairings) != players/2 {
			fail(round, 0, "every round has all the matches it has room for")
		}
		busy := make([]bool, players)
		for i, p := range pairings {
			match := i + 1
			if again, ok := s.Pair(round, match); !ok || again != p {
				fail(round, match, "Pair and Round agree")
			}
			if s.Index(round, match) != index {
				fail(round, match, "Index counts the matches in order")
			}
			index++
			for _, player := range []int{p.A, p.B} {
				if player < 0 || player >= players {
					fail(round, match, "only players of the league play")
				}
				if busy[player] {
					fail(round, match, "nobody plays twice in a round")
				}
				busy[player] = true
				opponent, m, ok := s.Opponent(round, player)
				if !ok || m != match || opponent != p.A+p.B-player {
					fail(round, match, "Opponent and Round agree")
				}
			}
			evenLeg := (round-1)/perLeg%2 == 1
			if (p.A > p.B) != evenLeg {
				fail(round, match, "the lower index is A in odd legs, B in even ones")
			}
			if round > perLeg {
				before, _ := s.Pair(round-perLeg, match)
				if (before != schedule.Pairing{A: p.B, B: p.A}) {
					fail(round, match, "a leg repeats the one before with seats swapped")
				}
			}
			met[schedule.Pairing{A: min(p.A, p.B), B: max(p.A, p.B)}]++
		}
		free := 0
		for player, plays := range busy {
			if plays {
				continue
			}
			free++
			byes[player]++
			if _, _, ok := s.Opponent(round, player); ok {
				fail(round, 0, "a player with a bye has no opponent")
			}
		}
		if free != players%2 {
			fail(round, 0, "one bye a round for an odd number of players, else none")
		}
		if round%perLeg == 0 {
			checkLeg(t, players, round/perLeg, met, byes)
		}
	}
	if index != s.Matches() {
		fail(s.Rounds(), 0, "Matches counts all matches")
	}
}

// checkLeg holds what has been played after so many whole legs against one
// meeting of every pair, and one bye of every player if any, per leg.
func checkLeg(t fataler, players, legs int, met map[schedule.Pairing]int, byes []int) {
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
