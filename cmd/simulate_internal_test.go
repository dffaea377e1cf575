package cmd

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/journal"
)

// A file of the data folder that the user has overridden would contradict the league when it is resumed: the
// command that is shown repeats the flag.
func TestCommandToResumeRepeatsOverriddenFiles(t *testing.T) {
	created := &journal.Created{LeagueID: "cup", GameType: "even_odd", Legs: 2,
		Simulation: &journal.Simulation{Seed: 7, Players: 4, Referees: 2, Strategies: []string{"exec:sh bot.sh", "random"}}}
	o := &simulateOptions{shadowed: map[string]string{"legs": "5", "game": "even_odd", "strategies": "mirror"}}
	assert.Equal(t, " --legs 2 --strategies 'exec:sh bot.sh,random'", o.toResume(created))
	o.shadowed = nil
	assert.Empty(t, o.toResume(created))
}
