package simulation_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/simulation"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/rulestest"
	"evenodd/rules/tictactoe"
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

// A league whose program fails again and again ends, because nobody could resume it.
func TestLeagueEndsWhenItsProgramFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(history []rules.Entry, state *rules.State) (*rules.State, error)
		says   string
	}{
		"it fails": {func(history []rules.Entry, state *rules.State) (*rules.State, error) {
			if len(history) > 3 {
				return nil, errors.New("it ended")
			}
			return state, nil
		}, "it ended"},
		"its options are not legal": {func(history []rules.Entry, state *rules.State) (*rules.State, error) {
			for _, q := range state.ToMove {
				if q != nil && len(history) == 2 {
					q.Options = []string{"nowhere"}
				}
			}
			return state, nil
		}, "the program refuses entry 2 of a history to which it led: "},
		"the match does not end": {func(_ []rules.Entry, state *rules.State) (*rules.State, error) {
			if state.Over {
				return &rules.State{ToMove: [2]*rules.Question{{MoveType: "test", Options: []string{"more"}}}}, nil
			}
			return state, nil
		}, "match R1M"}, // more turns than announced, or a move after the end
	} {
		t.Run(name, func(t *testing.T) {
			o := programmed(tictactoe.Game{})
			program := o.Programs[o.GameType].(*rulestest.Program)
			program.Change = test.change
			_, err := simulation.Run(t.Context(), o)
			require.ErrorContains(t, err, "the program of the game program_of_tic_tac_toe failed 3 times, the last time at REF0")
			require.ErrorContains(t, err, test.says)
			assert.Less(t, program.Asked(), 1000, "no match begins again when the league has ended")
		})
	}
}

func TestAuditOfGamesWithViewsIsClean(t *testing.T) {
	t.Parallel()
	for _, o := range []simulation.Options{
		dealt(kuhnpoker.Game{}), dealt(pig.Game{}), programmed(kuhnpoker.Game{}), programmed(connectfour.Game{}),
	} {
		by := audit.Options{Games: o.Games, Views: true, Programs: map[string]audit.Program{}}
		if program := o.Programs[o.GameType]; program != nil {
			by.Programs[o.GameType] = audit.Program{Digest: program.Digest(),
				Ask: func(history []rules.Entry) (*rules.State, error) {
					return program.Ask(t.Context(), history)
				}}
		}
		report, err := audit.Run(stored(t, o), by)
		require.NoError(t, err)
		assert.Empty(t, report.Leagues[0].Findings, o.GameType)
		assert.Empty(t, report.Leagues[0].Notes, o.GameType)
	}
}
