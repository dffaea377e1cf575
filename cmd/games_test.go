package cmd

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/rules"
)

// Where the rules treat both sides alike, the other side wins with exchanged moves.
func TestGamesWhoseSidesAreAlike(t *testing.T) {
	alike := 0
	for _, name := range games().Types() {
		game, err := games().Game(name)
		if err != nil || !game.Info().SidesAlike {
			continue
		}
		alike++
		start, decisive := game.Start(), 0
		assert.Len(t, start.ToMove(), 2, name)
		options := start.Ask(rules.SideA).Options
		assert.Equal(t, options, start.Ask(rules.SideB).Options, name)
		for _, a := range options {
			for _, b := range options {
				winner := start.Play([2]string{a, b}).Judge(rules.Chance{}).Winner
				exchanged := start.Play([2]string{b, a}).Judge(rules.Chance{}).Winner
				if winner == rules.NoSide {
					assert.Equal(t, rules.NoSide, exchanged, "%s: %s, %s", name, a, b)
					continue
				}
				decisive++
				assert.Equal(t, winner.Other(), exchanged, "%s: %s, %s", name, a, b)
			}
		}
		assert.Positive(t, decisive, name)
	}
	assert.Equal(t, 2, alike)
}
