package audit_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/pig"
	"evenodd/rules/rulestest"
)

// failsAt makes a program fail so many times when it is asked about a history of a length.
func failsAt(program *rulestest.Program, length, times int) {
	var mu sync.Mutex
	program.Change = func(history []rules.Entry, state *rules.State) (*rules.State, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(history) == length && times > 0 {
			times--
			return nil, errors.New("it has ended")
		}
		return state, nil
	}
}

// Attempts that a referee gave up because the program of the game had failed say nothing against the referee: neither
// one that stays so, nor one that it began again under the same number.
func TestAttemptsGivenUpByAFailureOfTheProgramHaveNoFindings(t *testing.T) {
	for name, game := range map[string]rules.Game{"open": connectfour.Game{}, "with draws": pig.Game{},
		"hidden": bids(2)} {
		for kind, times := range map[string]int{"begun again": 2, "given up": 1000, "given up at once": 1000} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				program := rulestest.NewProgram("broken", game)
				length := 3
				if kind == "given up at once" {
					length = 0
				}
				failsAt(program, length, times)
				p, err := playOrStop(t, program.Rules(), program)
				assert.Equal(t, times == 1000, err != nil, "%v", err)
				program.Change = nil
				for _, p.options.Views = range []bool{true, false} {
					l := p.audit()
					assert.Empty(t, l.Findings, listed(l.Findings))
				}
				p.options.Views, p.options.Games, p.options.Programs = true, games(), nil
				l := p.audit()
				assert.Empty(t, l.Findings, listed(l.Findings))
				if times == 1000 && !game.Info().Hidden {
					require.Contains(t, p.read("data/matches/cup/R1M1-a1.json"), `"ABANDONED"`)
				}
			})
		}
	}
}
