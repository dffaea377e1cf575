package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOnlyBuiltInPlayersArePrompt(t *testing.T) {
	assert.True(t, (&Options{Strategies: []string{"random", "even"}}).prompt())
	assert.True(t, (&Options{Entrants: []Entrant{{Name: "A", Strategy: "odd"}}}).prompt())
	for name, o := range map[string]*Options{
		"a program":               {Strategies: []string{"random", "exec:./bot"}},
		"an entrant's program":    {Entrants: []Entrant{{Name: "A", Strategy: "odd"}, {Name: "B", Strategy: "exec:./bot"}}},
		"a language model":        {Strategies: []string{"llm"}},
		"an external player":      {Strategies: []string{"random"}, External: &External{}},
		"an entrant of elsewhere": {Entrants: []Entrant{{Name: "A"}}},
	} {
		assert.False(t, o.prompt(), name)
	}
}
