package simulation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/simulation"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/rulestest"
)

// dealt returns the options of a league of a game, signed.
func dealt(game rules.Game) simulation.Options {
	o := options(4)
	o.Sign, o.GameType, o.Games, o.Strategies = true, game.Info().Type, rules.NewRegistry(game), []string{"random"}
	return o
}

// programmed returns the options of a league of a program with the positions of a game.
func programmed(game rules.Game) simulation.Options {
	program := rulestest.NewProgram("program_of_"+game.Info().Type, game)
	o := dealt(program.Rules())
	o.Programs = map[string]referee.Program{o.GameType: program}
	return o
}

func TestGamesWithViewsAreTheSameOnEachCarrier(t *testing.T) {
	t.Parallel()
	for _, o := range []simulation.Options{
		dealt(kuhnpoker.Game{}), dealt(pig.Game{}),
		programmed(kuhnpoker.Game{}), programmed(connectfour.Game{}), programmed(rockpaperscissors.Game{}),
	} {
		t.Run(o.GameType, func(t *testing.T) {
			first := run(t, o)
			matches := matchesOf(first)
			require.Len(t, matches, 6)
			for _, m := range matches {
				assert.Equal(t, journal.GradeProven, m.Grade, m.MatchID)
			}
			for _, transport := range transports {
				o.Transport = transport
				assert.Equal(t, outcomeOf(first), outcomeOf(run(t, o)), transport)
			}
		})
	}
}

func TestAuditOfGamesWithViewsIsClean(t *testing.T) {
	t.Parallel()
	for _, o := range []simulation.Options{dealt(kuhnpoker.Game{}), dealt(pig.Game{})} {
		findings, notes := audited(t, stored(t, o), o.Games)
		assert.Empty(t, findings, o.GameType)
		assert.Empty(t, notes, o.GameType)
	}
}
