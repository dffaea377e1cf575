package strategy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/player/strategy"
	"evenodd/rules"
	"evenodd/rules/tictactoe"
)

func TestSpecialistPlaysItsOwnGames(t *testing.T) {
	both := []string{"even_odd", "tic_tac_toe"}
	assert.Equal(t, []string{"tic_tac_toe"}, strategy.Playable(named(t, "perfect"), both))
	assert.Equal(t, []string{"even_odd", "tic_tac_toe"}, both)
	require.NoError(t, strategy.Fits(named(t, "perfect"), both...))
	require.EqualError(t, strategy.Fits(named(t, "perfect"), "even_odd"), "strategy perfect plays tic_tac_toe, not even_odd")
	for _, name := range everyName {
		assert.Equal(t, both, strategy.Playable(named(t, name), both))
		require.NoError(t, strategy.Fits(named(t, name), "chess"), "%s plays any game", name)
	}
}

// marks returns the view of a player of Tic-Tac-Toe.
func marks(q rules.Question, n uint64) strategy.View {
	return strategy.View{
		GameType: tictactoe.Type, MoveType: q.MoveType, Options: q.Options, Context: q.Context,
		MatchID: "R1M1", RoundID: 1, PlayerID: "P01", OpponentID: "P02", Memory: strategy.NewMemory, Random: source(n),
	}
}

func TestPerfectRefusesOtherGames(t *testing.T) {
	_, err := named(t, "perfect").Choose(t.Context(), parities(strategy.NewMemory(), 1))
	require.EqualError(t, err, "strategy perfect plays tic_tac_toe, not even_odd")

	start := tictactoe.Game{}.Start().Ask(rules.SideA)
	for _, board := range []any{nil, 7, "", "XXX......"} {
		v := marks(start, 1)
		v.Context = map[string]any{tictactoe.ContextBoard: board, tictactoe.ContextMark: "O"}
		choice, err := named(t, "perfect").Choose(t.Context(), v)
		require.ErrorContains(t, err, "perfect: ")
		assert.Empty(t, choice)
	}
}

func TestPerfectMakesEachOfTheBestMoves(t *testing.T) {
	counts := map[string]int{}
	answer := tictactoe.Game{}.Start().Play([2]string{"4", ""}).Ask(rules.SideB) // after the centre
	for n := range uint64(4000) {
		choice, err := named(t, "perfect").Choose(t.Context(), marks(answer, n))
		require.NoError(t, err)
		again, err := named(t, "perfect").Choose(t.Context(), marks(answer, n))
		require.NoError(t, err)
		require.Equal(t, choice, again, "the same from the same source")
		counts[choice]++
	}
	assert.Len(t, counts, 4)
	for _, corner := range []string{"0", "2", "6", "8"} {
		assert.InDelta(t, 1000, counts[corner], 150)
	}
}
