package cmd

import (
	"reflect"
	"strings"

	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/table"
	"evenodd/player/strategy"
	"evenodd/player/strategy/external"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// games are the games of this program.
func games() rules.Registry {
	return rules.NewRegistry(
		evenodd.Game{},
		rockpaperscissors.Game{},
		tictactoe.Game{},
	)
}

// known is what the program has of what the files of the data folder may name.
func known() config.Known {
	k := config.Known{
		Tiebreakers: []string{
			table.TiebreakPoints, table.TiebreakWins, table.TiebreakDraws,
			table.TiebreakHeadToHead, table.TiebreakSonnebornBerger, table.TiebreakWinRate,
		},
		Strategies: append(strategy.Names(), external.Model), // what runs a program is for the command line
		Games:      map[string]config.KnownGame{},
	}
	for _, t := range games().Types() {
		game, _ := games().Game(t) // the registry has just named it
		info := game.Info()
		k.Games[t] = config.KnownGame{
			DisplayName: info.DisplayName, MoveTypes: info.MoveTypes, ValidChoices: info.ValidChoices,
			MinPlayers: info.MinPlayers, MaxPlayers: info.MaxPlayers,
			Module: strings.TrimPrefix(reflect.TypeOf(game).PkgPath(), "evenodd/"),
		}
	}
	return k
}

// gamesOf are those games that have one of the types.
func gamesOf(types []string) (rules.Registry, error) {
	var chosen []rules.Game
	for _, t := range types {
		game, err := games().Game(t)
		if err != nil {
			return rules.Registry{}, err
		}
		chosen = append(chosen, game)
	}
	return rules.NewRegistry(chosen...), nil
}

// registeredGames are the games that the games registry lists.
func registeredGames(files *config.Loader) (rules.Registry, error) {
	registry, err := files.Games()
	if err != nil {
		return rules.Registry{}, err
	}
	var types []string
	for i := range registry.Games {
		types = append(types, registry.Games[i].GameType)
	}
	return gamesOf(types)
}

// gameFlag is the flag of the commands that have a league.
func gameFlag(f *pflag.FlagSet, game *string) {
	f.StringVar(game, "game", evenodd.Type, "what the league plays: "+strings.Join(games().Types(), ", "))
}
