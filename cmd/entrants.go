package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/lists"
	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/league/words"
	"evenodd/player/strategy/external"
)

// toolsOf returns the tools of an entrant's strategy: those of the flags, with the model, the
// server and the folder of the entrant.
func toolsOf(e *config.Entrant, flags external.Tools) external.Tools {
	flags.LLM = external.LLM{URL: e.LLM.URL, Model: e.LLM.Model, Key: e.LLM.Key(), Prompt: e.LLM.Prompt,
		KeyHint: "key_env in the file to the name of the environment variable that has it"}
	flags.MCP = external.MCP(e.MCP)
	flags.Programs.Folder = e.Folder
	return flags
}

// entrantOf is an entrant for a simulation or a trial.
func entrantOf(e *config.Entrant, flags external.Tools) simulation.Entrant {
	return simulation.Entrant{Name: e.Name, Strategy: e.Strategy(), Tools: toolsOf(e, flags), Where: e.Where}
}

// loadEntrants reads a file with players of a game, who have these tools. It completes the URLs of agents. The
// error lists all problems of the file.
func loadEntrants(path string, tools external.Tools, game ...string) ([]config.Entrant, error) {
	entrants, err := config.LoadEntrants(path, func(e *config.Entrant) (err error) {
		if e.Kind == config.KindURL {
			e.Value, err = agentURL(e.Value)
			return err
		}
		return external.Check(e.Strategy(), toolsOf(e, tools), game...)
	})
	if err != nil {
		return nil, asUsage(err)
	}
	return entrants, nil
}

// enter adds the players of --entrants to the options: first those with a URL, because
// external players get the first ids, then the others, each in the order of the file.
func (o *simulateOptions) enter() error {
	if err := completeTools(&o.Tools, o.promptFile); err != nil || o.entrants == "" {
		return err
	}
	// these are flags whose values the file has for each player
	for name := range strings.FieldsSeq("strategies player llm-url llm-model llm-prompt mcp-command mcp-url mcp-tool") {
		if o.given(name) {
			return usage("--%s cannot be used with --entrants: the file says it for each player", name)
		}
	}
	var game []string
	if !o.resume && !strings.HasPrefix(o.GameType, program.GamePrefix) { // else the journal has it, or the program
		game = []string{o.GameType}
	}
	listed, err := loadEntrants(o.entrants, o.Tools, game...)
	if err != nil {
		return err
	}
	if o.given("players") && o.Players != len(listed) {
		return usage("--players %d: %s lists %s; leave --players out", o.Players, o.entrants,
			words.Counted(len(listed), "player"))
	}
	o.Players, o.Strategies = len(listed), nil
	var own []simulation.Entrant
	for i := range listed {
		e := &listed[i]
		one := entrantOf(e, o.Tools)
		if e.Kind != config.KindURL {
			own = append(own, one)
			continue
		}
		o.urls, o.Entrants = append(o.urls, e.Value), append(o.Entrants, one)
	}
	o.Entrants = append(o.Entrants, own...)
	return nil
}

func forceFlag(f *pflag.FlagSet, force *bool) {
	f.BoolVar(force, "force", false, "start a new league even if programs or models of players fail when they are tried")
}

// preflight asks each program and model of the players one question before a new league, all at
// once as far as the processors suffice, and one for each entry of a file or of --strategies. Each has the time of a
// move in the league, in seconds. It returns an error with the cause of each failure.
func preflight(ctx context.Context, players []simulation.Entrant, own *userGame, gameType string, move float64,
	processors int) error {
	game, _ := own.games().Game(gameType) // the flag allows no others
	players = lists.Filter(players, func(e simulation.Entrant) bool { return external.Tried(e.Strategy) })
	players = slices.CompactFunc(players, func(a, b simulation.Entrant) bool { return a.Where == b.Where })
	causes := make([]error, len(players)) // nil for a player that can decide
	var trials sync.WaitGroup
	slots := make(chan struct{}, 2*processors) // both players of a match also compute at once
	for i, e := range players {
		trials.Go(func() {
			if external.Computes(e.Strategy, e.Tools) {
				slots <- struct{}{}
				defer func() { <-slots }()
			}
			if err := external.Try(ctx, e.Strategy, e.Tools, game, protocol.Seconds(move)); err != nil {
				causes[i] = fmt.Errorf("%s: %w", e.Where, err)
			}
		})
	}
	trials.Wait()
	if failed := errors.Join(causes...); failed != nil && ctx.Err() == nil {
		return asUsage(errors.Join(failed, errors.New("mend what fails, or play nevertheless with --force")))
	}
	return nil
}

// computing tells whether any of the players is a program or a model of this computer. More matches at once than it
// has processors would only make their answers late.
func computing(players []simulation.Entrant) bool {
	return slices.ContainsFunc(players, func(e simulation.Entrant) bool { return external.Computes(e.Strategy, e.Tools) })
}

// tried are the players of a simulation that preflight tries.
func (o *simulateOptions) tried() []simulation.Entrant {
	if o.entrants != "" {
		return o.Entrants
	}
	return lists.Map(o.Strategies, func(name string) simulation.Entrant {
		return simulation.Entrant{Strategy: name, Tools: o.Tools, Where: "--strategies " + name}
	})
}

// try tries the players of a new league. A league in the folder is resumed, unless --new-league is given.
func (o *upOptions) try(ctx context.Context, files *config.Loader, entrants []config.Entrant) error {
	_, err := os.Stat(store.In(o.data).Journal(o.LeagueID))
	if o.force || err == nil && !o.newLeague {
		return nil
	}
	r, err := files.Rules(o.LeagueID, o.GameType)
	if err != nil {
		return asUsage(err)
	}
	return preflight(ctx, o.own(entrants), o.userGame, o.GameType, r.Timeouts.Protocol().Move, runtime.GOMAXPROCS(0))
}

// own are the players that this command starts, and those of a URL.
func (o *upOptions) own(entrants []config.Entrant) []simulation.Entrant {
	return lists.Map(entrants, func(e config.Entrant) simulation.Entrant { return entrantOf(&e, o.tools) })
}
