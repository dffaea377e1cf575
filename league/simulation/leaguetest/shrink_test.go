package leaguetest_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/simulation/leaguetest"
)

// smallLeague stands for a league: Shrink knows nothing of it.
type smallLeague struct {
	players int
	faults  []string
}

func smallerLeagues(l smallLeague) (smaller []smallLeague) {
	for _, n := range leaguetest.Fewer(l.players, 2) {
		smaller = append(smaller, smallLeague{n, l.faults})
	}
	for _, faults := range leaguetest.Without(l.faults) {
		smaller = append(smaller, smallLeague{l.players, faults})
	}
	return smaller
}

func TestShrinkFindsTheSmallestLeagueThatFails(t *testing.T) {
	large := smallLeague{20, []string{"drop", "crash", "hang", "deny", "garbage"}}
	needs := func(l smallLeague) bool {
		return l.players >= 3 && slices.Contains(l.faults, "crash") && slices.Contains(l.faults, "deny")
	}
	for _, tt := range []struct {
		name    string
		fails   func(l smallLeague, run int) bool
		want    smallLeague
		repeats bool
	}{
		{"always", func(l smallLeague, _ int) bool { return needs(l) }, smallLeague{3, []string{"crash", "deny"}}, true},
		{"whatever it has", func(smallLeague, int) bool { return true }, smallLeague{2, nil}, true},
		{"in three of five runs", func(l smallLeague, run int) bool { return needs(l) && run%5 < 3 },
			smallLeague{3, []string{"crash", "deny"}}, true},
		{"in two of five runs", func(l smallLeague, run int) bool { return run%5 < 2 }, large, false},
		{"once", func(_ smallLeague, run int) bool { return run == 0 }, large, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs, before := 0, smallLeague{}
			got, repeats := leaguetest.Shrink(large, smallerLeagues, func(l smallLeague) bool {
				if l.players != before.players || !slices.Equal(l.faults, before.faults) {
					runs, before = 0, l
				}
				runs++
				return tt.fails(l, runs-1)
			})
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.repeats, repeats)
		})
	}
}

// A league that can always be made smaller has an end.
func TestShrinkEnds(t *testing.T) {
	runs := 0
	_, repeats := leaguetest.Shrink(0, func(n int) []int { return []int{n + 1} }, func(int) bool { runs++; return true })
	assert.True(t, repeats)
	assert.LessOrEqual(t, runs, 605)
}

func TestFewerAndWithout(t *testing.T) {
	assert.Equal(t, []int{2, 10, 19}, leaguetest.Fewer(20, 2))
	assert.Equal(t, []int{2}, leaguetest.Fewer(3, 2))
	assert.Empty(t, leaguetest.Fewer(2, 2))
	assert.Equal(t, [][]int{nil, {1}, {2, 3}, {2, 3}, {1, 3}, {1, 2}}, leaguetest.Without([]int{1, 2, 3}))
	assert.Equal(t, [][]int{nil}, leaguetest.Without([]int{1}))
	assert.Empty(t, leaguetest.Without([]int(nil)))
}
