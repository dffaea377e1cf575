package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/lists"
	"evenodd/league/program"
	"evenodd/league/words"
	"evenodd/player"
	"evenodd/referee"
	"evenodd/rules"
)

// A userGame is the game that --game names as exec: with the command line of its program. Nil is that of a command
// without one; its methods then are about the games of this program.
type userGame struct {
	*program.Game

	shared bool // the host of the agent closes it
}

// anyGameFlag defines a flag that takes a game of this program, or another program.
func anyGameFlag(f *pflag.FlagSet, value *string, about string) {
	*value = defaultGame
	f.Var(&choice{value: value, words: games().Types(), open: program.GamePrefix}, "game",
		about+", "+program.GamePrefix+"PROGRAM (testdata/games) or one of: "+words.Or(games().Types()))
}

// gameFlag defines a flag that takes a program of a game.
func gameFlag(f *pflag.FlagSet, value *string, about string) {
	f.Var(&choice{value: value, open: program.GamePrefix, none: "; leave it out for a game of evenodd"}, "game", about)
}

// programFlags defines the flags for programs of some kind.
func programFlags(f *pflag.FlagSet, p *program.Programs, of string) {
	p.Environ = os.Environ()
	f.StringSliceVar(&p.Env, "exec-env", nil, "`NAME` of an environment variable that "+of+" get too, such as "+
		"PYTHONPATH; may be repeated")
	f.BoolVar(&p.Sandbox, "exec-sandbox", false, of+" have no network and a read-only file system (only on Linux)")
	f.Var(&limit{&p.Limits.Memory, program.ParseMemory, program.FormatMemory, "size"}, "exec-memory",
		"address space of each process of "+of+", such as 512MB (only on Linux; default: no limit)")
	f.Var(&limit{&p.Limits.CPU, program.ParseCPU, func(n int64) string { return fmt.Sprintf("%ds", n) }, "time"},
		"exec-cpu", "processor time that each process of "+of+" has in its life, such as 60s (not on Windows; "+
			"default: no limit)")
}

// programsOfGames are the programs of commands that run no other ones.
const programsOfGames = "programs of --game"

// openGame starts the program of a game, if a flag --game names one, and puts the type of the game in its place. The
// caller must close the game. An agent with a host uses that of its host.
func openGame(ctx context.Context, h *host, name *string, p *program.Programs, log zerolog.Logger) (*userGame, error) {
	line, named := strings.CutPrefix(*name, program.GamePrefix)
	switch {
	case !named:
		return nil, nil //nolint:nilnil // nil is a game of this program
	case h.hasGame():
		*name = h.game.Rules().Info().Type
		return &userGame{h.game.Game, true}, nil
	}
	g, err := startGame(ctx, line, p, log)
	_, failed := errors.AsType[*program.Error](err)
	switch {
	case ctx.Err() != nil:
		return nil, interrupted("")
	case failed:
		return nil, err
	case err != nil:
		return nil, asUsage(err)
	}
	*name = g.Rules().Info().Type
	return &userGame{Game: g}, nil
}

// startGame starts the program of a game, which must have another type than the games of this program. The caller must
// close the game.
func startGame(ctx context.Context, line string, p *program.Programs, log zerolog.Logger) (*program.Game, error) {
	g, err := program.Open(ctx, line, p, log)
	if err != nil {
		return nil, err
	}
	gameType := g.Rules().Info().Type
	if _, err := games().Game(gameType); err == nil {
		g.Close()
		return nil, &program.Error{Kind: program.Unreadable, Subject: "the game " + line,
			Detail: fmt.Sprintf("has the type %s, which is that of a game of evenodd: give it another type", gameType)}
	}
	return g, nil
}

// A gameReader has the flags of a command that reads a league, and may need the rules of its game.
type gameReader struct {
	game     string
	programs program.Programs
}

// flags defines the flags; what says what the rules are for.
func (r *gameReader) flags(f *pflag.FlagSet, what string) {
	gameFlag(f, &r.game, "the game of the league, if it is a program: "+program.GamePrefix+"PROGRAM, "+what)
	programFlags(f, &r.programs, programsOfGames)
}

// open starts the program of the game, if one is named. The caller must close the game.
func (r *gameReader) open(ctx context.Context) (*userGame, error) {
	return openGame(ctx, nil, &r.game, &r.programs, zerolog.Nop())
}

// close ends the program.
func (g *userGame) close() {
	if g != nil && !g.shared {
		g.Close()
	}
}

// addTo lets a loader know the game, which the files of a data folder do not name.
func (g *userGame) addTo(files *config.Loader) {
	if g != nil {
		files.Play(gameConfig(g.Rules()))
	}
}

// games are those of this program and this one.
func (g *userGame) games() rules.Registry { return g.of(games().Types()) }

// of returns the games with types from a file, and this one.
func (g *userGame) of(types []string) rules.Registry {
	of := make([]rules.Game, 0, len(types)+1)
	if g != nil {
		of = append(of, g.Rules())
		types = lists.Filter(types, func(t string) bool { return t != g.Rules().Info().Type })
	}
	for _, t := range types {
		game, _ := games().Game(t) // the loader refuses unknown types
		of = append(of, game)
	}
	return rules.NewRegistry(of...)
}

// referees is what a referee asks.
func (g *userGame) referees() map[string]referee.Program {
	if g == nil {
		return nil
	}
	return map[string]referee.Program{g.Rules().Info().Type: g}
}

// players is what a player asks.
func (g *userGame) players() map[string]player.Asker {
	if g == nil {
		return nil
	}
	return map[string]player.Asker{g.Rules().Info().Type: g}
}
