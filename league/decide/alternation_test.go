package decide_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
)

// fieldOf is a league that has started, with so many players and referees.
func fieldOf(t *testing.T, players, referees, legs int) *journal.State {
	t.Helper()
	rules, began := created(), &journal.Started{Algorithm: journal.Algorithm}
	rules.Legs = legs
	s := fold(t, rules)
	for n := range referees {
		began.Referees = append(began.Referees, league.RefereeID(n+1))
		apply(t, s, referee(began.Referees[n], 10, ""))
	}
	for n := range players {
		began.Players = append(began.Players, league.PlayerID(n+1))
		apply(t, s, player(began.Players[n]))
	}
	apply(t, s, began)
	return s
}

// spread is the largest difference between the numbers of matches that a player has with two referees.
func spread(s *journal.State) (most int) {
	counts := make([][]int, len(s.Started.Players))
	for i := range counts {
		counts[i] = make([]int, len(s.Started.Referees))
	}
	for round := 1; round <= s.TotalRounds(); round++ {
		for i, id := range decide.ChooseReferees(s, round) {
			p, r := s.Pairings(round)[i], slices.Index(s.Started.Referees, id)
			counts[p.A][r]++
			counts[p.B][r]++
		}
	}
	for _, c := range counts {
		most = max(most, slices.Max(c)-slices.Min(c))
	}
	return most
}

// The numbers of matches of a player with two referees differ by 2 at most in nearly all leagues, and never by more
// than 3. Less is not always possible: of four players and two referees, each with one match of a round, one player
// has the same referee three times.
func TestPlayersMeetTheRefereesEvenly(t *testing.T) {
	seen := map[int]int{}
	for _, referees := range []int{2, 3, 4, 5} {
		for _, players := range []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20} {
			s := fieldOf(t, players, referees, 1)
			n := spread(s)
			seen[n]++
			assert.LessOrEqual(t, n, 3, "%d players, %d referees", players, referees)
		}
	}
	t.Log(seen)
	assert.LessOrEqual(t, seen[3], 5)
	assert.Equal(t, 1, spread(fieldOf(t, 8, 2, 1)), "P01 had REF01 in all seven rounds")
}

// The state counts what the referees of announced rounds were, and not what was forfeited.
func TestAnnouncedMatchesAreMeetings(t *testing.T) {
	s := started(t, announced())
	assert.Equal(t, []int32{1, 1, 1, 1}, s.Meetings("REF01"))
	assert.Nil(t, s.Meetings("REF02"))
	s = started(t, &journal.AgentSuspended{AgentID: "P01", Reason: "slept"}, announced())
	forfeit, err := decide.Forfeit(s, first())
	require.NoError(t, err)
	apply(t, s, forfeit)
	assert.Equal(t, []int32{0, 0, 1, 1}, s.Meetings("REF01"))
}
