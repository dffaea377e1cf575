package cmd

import (
	"reflect"
	"slices"
	"strings"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/player/strategy"
	"evenodd/player/strategy/external"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/evenodd"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
	"evenodd/transport/dialect"
)

// The league and the game if no flag names others.
const (
	defaultLeague = dialect.UsualLeague
	defaultGame   = evenodd.Type
)

// games are the games of this program.
func games() rules.Registry {
	return rules.NewRegistry(
		connectfour.Game{},
		evenodd.Game{},
		kuhnpoker.Game{},
		pig.Game{},
		rockpaperscissors.Game{},
		tictactoe.Game{},
	)
}

// known lists the tie-breaks, strategies and games that the files of a data folder can
// name.
func known() config.Known {
	k := config.Known{
		Tiebreakers: league.Tiebreakers(),
		Tournaments: journal.Formats(),
		// not programs: a file in the data folder may come from somebody else
		Strategies: append(strategy.Names(), external.Model),
		Games:      map[string]config.Game{},
	}
	for _, t := range games().Types() {
		game, _ := games().Game(t) // the registry has it
		k.Games[t] = gameConfig(game)
	}
	return k
}

// large tells whether games of some types can have large messages. That is possible for each game that this program
// does not know.
func large(types []string) bool {
	return slices.ContainsFunc(types, func(t string) bool {
		game, err := games().Game(t)
		return err != nil || game.Info().Large
	})
}

// gameConfig is the entry of a game in the registry of games.
func gameConfig(game rules.Game) config.Game {
	info := game.Info()
	return config.Game{
		GameType: info.Type, DisplayName: info.DisplayName, MoveTypes: info.MoveTypes, ValidChoices: info.ValidChoices,
		MinPlayers: 2, MaxPlayers: 2, RulesModule: strings.TrimPrefix(reflect.TypeOf(game).PkgPath(), "evenodd/"),
	}
}
