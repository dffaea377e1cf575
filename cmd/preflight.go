package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/player/strategy/external"
)

func forceFlag(f *pflag.FlagSet, force *bool) {
	f.BoolVar(force, "force", false, "start a new league even if programs or models of players fail when they are tried")
}

// preflight asks each program and model of the players one question before a new league, all at
// once. It returns an error with the cause of each failure.
func preflight(ctx context.Context, players []simulation.Entrant, gameType string) error {
	game, err := games().Game(gameType)
	if err != nil {
		return err
	}
	players = protocol.Select(players, func(e simulation.Entrant) bool { return external.Tried(e.Strategy) })
	if len(players) == 0 {
		return nil
	}
	causes := make([]error, len(players)) // nil for a player that can decide
	var trials sync.WaitGroup
	for i, e := range players {
		trials.Go(func() {
			if err := external.Try(ctx, e.Strategy, e.Tools, game); err != nil {
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

// tried are the players of a simulation that preflight tries: one for each entry of --entrants, or
// for each of --strategies.
func (o *simulateOptions) tried() []simulation.Entrant {
	if o.entrants == "" {
		return protocol.Each(o.Strategies, func(name string) simulation.Entrant {
			return simulation.Entrant{Strategy: name, Tools: o.Tools, Where: "--strategies " + name}
		})
	}
	return slices.CompactFunc(slices.Clone(o.Entrants), func(a, b simulation.Entrant) bool { return a.Where == b.Where })
}

// try tries the players of a new league, one for each entry of the file. A league in the folder is
// resumed, unless --new-league is given.
func (o *upOptions) try(ctx context.Context, entrants []config.Entrant) error {
	_, err := os.Stat(store.Folder(o.data).Journal(o.LeagueID))
	if o.force || err == nil && !o.newLeague {
		return nil
	}
	var players []simulation.Entrant
	for i := range entrants {
		if e := &entrants[i]; i == 0 || e.Where != entrants[i-1].Where {
			players = append(players, simulation.Entrant{Strategy: e.Strategy(), Tools: toolsOf(e, o.tools), Where: e.Where})
		}
	}
	return preflight(ctx, players, o.GameType)
}
