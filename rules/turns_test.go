package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
)

func TestSidesMoveInTurn(t *testing.T) {
	var start rules.Turns
	assert.Equal(t, []rules.Side{rules.SideA}, start.ToMove())
	require.NoError(t, start.CheckTurn(rules.SideA))
	require.EqualError(t, start.CheckTurn(rules.SideB), "it is the other's turn")

	one := start.Next([2]string{"3", "ignored"}, false)
	assert.Equal(t, []rules.Side{rules.SideB}, one.ToMove())
	assert.Zero(t, start, "turns do not change")

	end := one.Next([2]string{"ignored", "4"}, true)
	assert.Empty(t, end.ToMove())
	assert.Equal(t, rules.Turns{Moves: 2, Last: [2]string{"3", "4"}, Ended: true}, end)
	require.EqualError(t, end.CheckTurn(rules.SideA), "the match is over")
	require.EqualError(t, end.CheckTurn(rules.SideB), "the match is over")

	verdict := end.Verdict(rules.SideB, func(ids [2]string) string { return ids[rules.SideB] + " has won" })
	assert.Equal(t, rules.SideB, verdict.Winner)
	assert.Equal(t, [2]string{"3", "4"}, verdict.Moves)
	assert.Equal(t, "P02 has won", verdict.Reason([2]string{"P01", "P02"}))
}
