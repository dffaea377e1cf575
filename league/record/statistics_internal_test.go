package record

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// In a game whose sides are alike, both move at the same time, have the same moves, and with
// exchanged moves the other side wins.
func TestGamesWhoseSidesAreAlike(t *testing.T) {
	assert.False(t, sidesAlike(tictactoe.Type))
	assert.False(t, sidesAlike("a game of another program"))
	for _, game := range []rules.Game{evenodd.Game{}, rockpaperscissors.Game{}} {
		assert.True(t, sidesAlike(game.Info().Type))
		start := game.Start()
		assert.Len(t, start.ToMove(), 2)
		options := start.Ask(rules.SideA).Options
		assert.Equal(t, options, start.Ask(rules.SideB).Options)
		decisive := 0
		for _, a := range options {
			for _, b := range options {
				winner := start.Play([2]string{a, b}).Judge(rules.Chance{}).Winner
				exchanged := start.Play([2]string{b, a}).Judge(rules.Chance{}).Winner
				if winner == rules.NoSide {
					assert.Equal(t, rules.NoSide, exchanged, "%s: %s, %s", game.Info().Type, a, b)
					continue
				}
				decisive++
				assert.Equal(t, winner.Other(), exchanged, "%s: %s, %s", game.Info().Type, a, b)
			}
		}
		assert.Positive(t, decisive)
	}
}
