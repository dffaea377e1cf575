package rockpaperscissors_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/rulestest"
)

func TestGameKeepsTheRulesOfGames(t *testing.T) {
	rulestest.Check(t, rockpaperscissors.Game{})
}

func TestEveryPairOfHands(t *testing.T) {
	for _, test := range []struct {
		a, b   string
		winner rules.Side
		reason string
	}{
		{"rock", "scissors", rules.SideA, "P01 chose rock, P02 chose scissors"},
		{"scissors", "paper", rules.SideA, "P01 chose scissors, P02 chose paper"},
		{"paper", "rock", rules.SideA, "P01 chose paper, P02 chose rock"},
		{"scissors", "rock", rules.SideB, "P02 chose rock, P01 chose scissors"},
		{"paper", "scissors", rules.SideB, "P02 chose scissors, P01 chose paper"},
		{"rock", "paper", rules.SideB, "P02 chose paper, P01 chose rock"},
		{"rock", "rock", rules.NoSide, "Both chose rock"},
		{"paper", "paper", rules.NoSide, "Both chose paper"},
		{"scissors", "scissors", rules.NoSide, "Both chose scissors"},
	} {
		t.Run(test.a+" and "+test.b, func(t *testing.T) {
			start := rockpaperscissors.Game{}.Start()
			require.NoError(t, start.Check(rules.SideA, test.a))
			require.NoError(t, start.Check(rules.SideB, test.b))
			end := start.Play([2]string{test.a, test.b})
			assert.Empty(t, end.ToMove())
			require.Error(t, end.Check(rules.SideA, test.a))
			verdict := end.Judge(rules.Chance{Nonce: [32]byte{1}})
			assert.Equal(t, test.winner, verdict.Winner)
			assert.Equal(t, [2]string{test.a, test.b}, verdict.Moves)
			assert.Equal(t, test.reason, verdict.Reason([2]string{"P01", "P02"}))
			assert.Zero(t, verdict.Number, "nothing is drawn")
			assert.Empty(t, verdict.Parity)
		})
	}
}

func TestOtherHandsAreNotLegal(t *testing.T) {
	for _, hand := range []string{"", "Rock", " rock", "lizard", "even"} {
		require.EqualError(t, rockpaperscissors.Game{}.Start().Check(rules.SideB, hand), "choice must be one of rock, paper, scissors")
	}
}
