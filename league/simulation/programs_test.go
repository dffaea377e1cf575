package simulation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/simulation"
	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
)

// dealt returns the options of a league of a game with draws.
func dealt(game rules.Game) simulation.Options {
	o := options(4)
	o.GameType, o.Games, o.Strategies = game.Info().Type, rules.NewRegistry(game), []string{"random"}
	return o
}

func TestGamesWithDraws(t *testing.T) {
	t.Parallel()
	for _, game := range []rules.Game{kuhnpoker.Game{}, pig.Game{}} {
		t.Run(game.Info().Type, func(t *testing.T) {
			o := dealt(game)
			o.Sign = true
			first := run(t, o)
			require.Len(t, matchesOf(first), 6)
			for _, transport := range transports {
				o.Transport = transport
				assert.Equal(t, outcomeOf(first), outcomeOf(run(t, o)), transport)
			}
		})
	}
}
