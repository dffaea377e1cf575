package cmd

import (
	"testing"

	"evenodd/rules/rulestest"
)

func TestEveryGameOfTheProgramKeepsTheRulesOfGames(t *testing.T) {
	for _, gameType := range games().Types() {
		t.Run(gameType, func(t *testing.T) {
			game, _ := games().Game(gameType) // the registry has it
			rulestest.Check(t, game)
		})
	}
}
