package pairing

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// graph is a set of legal pairs.
type graph map[Pairing]bool

func (g graph) legal(p, q int) bool { return g[Pairing{min(p, q), max(p, q)}] }

// drawnGraph draws the legal pairs of a number of players.
func drawnGraph(t *rapid.T, players int) graph {
	g := graph{}
	for q := range players {
		for p := range q {
			g[Pairing{p, q}] = rapid.Bool().Draw(t, "legal")
		}
	}
	return g
}

// mostPairs returns the size of the largest matching of the players of a set.
func (g graph) mostPairs(players []int) int {
	if len(players) < 2 {
		return 0
	}
	most := g.mostPairs(players[1:])
	for i, q := range players {
		if g.legal(players[0], q) {
			rest := append(append([]int{}, players[1:i]...), players[i+1:]...)
			most = max(most, 1+g.mostPairs(rest))
		}
	}
	return most
}

// checkMatching checks that opponents are mutual and legal, and returns their pairs.
func checkMatching(t require.TestingT, m *matching) (pairs int) {
	for p, q := range m.mate {
		if q == none {
			continue
		}
		require.Equal(t, p, m.mate[q])
		require.True(t, m.legal(p, q), "%d and %d", p, q)
		pairs++
	}
	return pairs / 2
}

func everyone(players int) []int {
	all := make([]int, players)
	for p := range all {
		all[p] = p
	}
	return all
}

func TestAugmentFindsTheLargestMatching(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(1, 9).Draw(t, "players")
		g := drawnGraph(t, players)
		m := newMatching(players)
		m.legal = g.legal
		all := everyone(players)
		for p := range players {
			before := checkMatching(t, m)
			if m.mate[p] == none && m.augment(p, all) {
				before++
			}
			require.Equal(t, before, checkMatching(t, m))
		}
		require.Equal(t, g.mostPairs(all), checkMatching(t, m))
	})
}

func TestAugmentContractsBlossoms(t *testing.T) {
	// The path from 0 to 7 goes around the cycle 2-3-4-5-6 the long way.
	g := graph{{0, 1}: true, {1, 2}: true, {2, 3}: true, {3, 4}: true, {4, 5}: true, {5, 6}: true, {2, 6}: true, {3, 7}: true}
	m := newMatching(8)
	m.legal = g.legal
	for _, pair := range []Pairing{{1, 2}, {3, 4}, {5, 6}} {
		m.pair(pair.A, pair.B)
	}
	assert.True(t, m.augment(0, everyone(8)))
	assert.Equal(t, []int{1, 0, 6, 7, 5, 4, 2, 3}, m.mate)
}
