package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/referee"
)

// A nimProgram is never asked.
type nimProgram struct{ referee.Program }

func TestOnlyPlayersThatWaitForProgramsAreNotPrompt(t *testing.T) {
	builtIn := &Options{Strategies: []string{"random", "even"}}
	program := &Options{Strategies: []string{"random", "exec:./bot"}}
	entrants := &Options{Entrants: []Entrant{{Name: "A", Strategy: "odd"}, {Name: "B", Strategy: "exec:./bot"}, {Name: "C"}}}
	model := &Options{Strategies: []string{"llm"}}
	elsewhere := &Options{Strategies: []string{"random"}, External: &External{}}
	game := &Options{Strategies: []string{"random"}, Programs: map[string]referee.Program{"nim": nimProgram{}}}
	game.GameType = "nim"
	for _, tt := range []struct {
		o    *Options
		id   string
		want bool
	}{
		{builtIn, "manager", true}, {builtIn, "REF01", true}, {builtIn, "P01", true}, {builtIn, "P02", true},
		{program, "manager", true}, {program, "REF01", true}, {program, "P01", true}, {program, "P02", false},
		{entrants, "P01", true}, {entrants, "P02", false}, {entrants, "P03", false},
		{model, "REF01", true}, {model, "P01", false},
		{elsewhere, "manager", false}, {elsewhere, "P01", false},
		{game, "manager", false}, {game, "REF01", false}, {game, "P01", false},
	} {
		assert.Equal(t, tt.want, tt.o.prompt(tt.id), "%s of %+v", tt.id, tt.o)
	}
}
