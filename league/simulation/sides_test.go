package simulation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/tictactoe"
)

func equalPlayers(game string, players int, seed uint64) simulation.Options {
	o := options(players)
	o.Seed, o.GameType, o.Strategies = seed, game, []string{"random"}
	o.Games = rules.NewRegistry(evenodd.Game{}, tictactoe.Game{})
	return o
}

// The journal names the algorithm that goes with the sides of the game.
func TestStartNamesTheAlgorithmForTheSidesOfTheGame(t *testing.T) {
	t.Parallel()
	assert.Equal(t, pairing.Circle, run(t, equalPlayers(evenodd.Type, 2, 7)).State.Started.Algorithm)
	lots := map[string]int{}
	for seed := range uint64(40) {
		s := run(t, equalPlayers(tictactoe.Type, 2, seed)).State
		lots[s.Started.Algorithm]++
		first := map[string]int{pairing.Berger: 0, pairing.BergerMirrored: 1}[s.Started.Algorithm]
		require.Equal(t, []pairing.Pairing{{A: first, B: 1 - first}}, s.Pairings(1))
	}
	assert.Len(t, lots, 2)
	assert.InDelta(t, 20, lots[pairing.Berger], 10, "the seed draws a fair lot")
	for game, want := range map[string]struct {
		algorithm string
		first     pairing.Pairing
	}{
		evenodd.Type:   {pairing.Sequential, pairing.Pairing{A: 0, B: 1}},
		tictactoe.Type: {pairing.SequentialBerger, pairing.Pairing{A: 1, B: 2}},
	} {
		o := equalPlayers(game, 3, 7)
		o.Legs, o.Tournament = 2, &journal.Tournament{Algorithm: pairing.Sequential}
		s := run(t, o).State
		assert.Equal(t, want.algorithm, s.Created.Tournament.Algorithm)
		assert.Empty(t, s.Started.Algorithm)
		assert.Equal(t, []pairing.Pairing{want.first}, s.Pairings(1))
	}
}

// TestNoPlayerHasAnAdvantageByItsID plays leagues of eight random players of Tic-Tac-Toe. The test is that of
// chi-square for equal chances of the first place, at the level of 0.1% with seven degrees of freedom. A shared first
// place counts for one of those that share it.
func TestNoPlayerHasAnAdvantageByItsID(t *testing.T) {
	t.Parallel()
	const players, limit = 8, 24.3
	leagues := 80
	if leaguetest.All() {
		leagues = 600
	}
	first := map[string]float64{}
	for seed := range uint64(leagues) {
		rows := run(t, equalPlayers(tictactoe.Type, players, seed)).State.Standings()
		sharing := 1
		for sharing < players && rows[sharing].Rank == 1 {
			sharing++
		}
		first[rows[int(seed)%sharing].PlayerID]++
	}
	expected, sum := float64(leagues)/players, 0.0
	for n := range players {
		d := first[league.PlayerID(n+1)] - expected
		sum += d * d / expected
	}
	t.Logf("%v: %.1f", first, sum)
	assert.Less(t, sum, limit)
}
