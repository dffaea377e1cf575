package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/config"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/transport"
	"evenodd/transport/http"
)

type playerOptions struct {
	agentOptions
	leagues  []string
	strategy string
	verify   string // of referees
}

// What --verify-referee may be.
const (
	verifyAnnounced = "announced"
	verifyStrict    = "strict"
)

func newPlayer(s streams, data *dataFolder) *cobra.Command {
	o := &playerOptions{agentOptions: agentOptions{address: address{ports: ports{8101, 8150}}}}
	c := &cobra.Command{
		Use:   "player",
		Short: "Take part in a league as a player",
		Long: `Run a player agent. It registers with the league manager, and keeps trying while
that is not up yet; it plays until the league is over, prints its record and ends.

Strategies: ` + strings.Join(strategy.Names(), ", ") + `.
Perfect plays tic_tac_toe alone, and joins no league of another game; the others
play any game.`,
		Example: "  evenodd player --port 8101 --strategy contrarian",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.seeded = c.Flags().Lookup("seed").Changed
			return runPlayer(c.Context(), s, data.loader, o)
		},
	}
	f := c.Flags()
	o.flags(f)
	f.StringSliceVar(&o.leagues, "league-id", nil, "join only this league, or one of these")
	f.StringVar(&o.strategy, "strategy", "random", "how to choose")
	f.StringVar(&o.verify, "verify-referee", verifyAnnounced, "whom to play with: announced (also referees that cannot prove themselves, where the manager says so) or strict (only those that do)")
	return c
}

func runPlayer(ctx context.Context, s streams, files *config.Loader, o *playerOptions) error {
	decide, err := strategy.New(o.strategy)
	if err != nil {
		return &usageError{err}
	}
	if !httpURL(o.manager) {
		return usage("--manager %q: a URL such as http://localhost:8000/mcp", o.manager)
	}
	if o.verify != verifyAnnounced && o.verify != verifyStrict {
		return usage("--verify-referee %q: announced or strict", o.verify)
	}
	options, err := playerPreset(files, o.id)
	if err != nil {
		return err
	}
	if err := strategy.Fits(decide, options.Games...); err != nil {
		return &usageError{err}
	}
	options.Games = strategy.Playable(decide, options.Games)
	client, err := newClient(maxFromManager, o.ca, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	listener, err := o.address.listen(ctx)
	if err != nil {
		return err
	}
	var p *player.Player
	name := defaultName(o.name, "Player", listener)
	file := openAgentLog(o.data, "player", "player-"+membership.Slug(name), s.err)
	defer func() { _ = file.Close() }() // a log that cannot be written has said so
	log, err := newLogger(s.err, o.logLevel, func() string { return senderOf(p) }, file)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	options.Name, options.ID, options.Leagues = name, o.id, o.leagues
	options.Endpoint, options.Manager, options.Strategy = o.address.endpoint, o.manager, decide
	options.StrictReferees = o.verify == verifyStrict
	options.Caller, options.Clock, options.Log = transport.Logged(client, log), protocol.SystemClock(), log
	options.Folder = store.Folder(o.data)
	if o.seeded {
		options.Entropy = func(matchID string, _ int) protocol.Secret { return simulation.Entropy(o.seed, matchID, p.ID()) }
		options.Random = func(playerID, decision string) *rand.Rand { return simulation.Random(o.seed, playerID, decision) }
	}
	p, err = player.New(options)
	if err != nil {
		return errors.Join(&usageError{err}, listener.Close())
	}
	mux := transport.NewMux(log)
	p.Mount(mux)
	stop := o.address.serve(listener, mux, p.Voice, http.Config{MaxBody: maxFromManager, Trusts: p.KnowsManager, Health: func() any {
		return map[string]any{"status": "ok", "role": "player", "agent_id": p.ID(), "state": p.Record().State}
	}})
	defer stop()
	log.Info().Str("endpoint", o.address.endpoint).Str("manager", o.manager).Msg("listening")
	l := &life{agent: p, caller: options.Caller, manager: o.manager, log: log, file: file, data: o.data}
	err = l.takePart(ctx)
	if kept := p.Close(); kept != nil {
		log.Error().Err(kept).Msg("the history is not complete on disk")
	}
	if err != nil {
		return err
	}
	return printPlayer(s, p.Record())
}

// playerPreset is what the files say of a player that no flag does.
func playerPreset(files *config.Loader, id string) (player.Options, error) {
	system, systemErr := files.System()
	defaults, defaultsErr := files.PlayerDefaults()
	if err := errors.Join(systemErr, defaultsErr); err != nil {
		return player.Options{}, &usageError{err}
	}
	o := player.Options{
		Version: defaults.Version, Games: defaults.GameTypes, RegisterTimeout: inSeconds(system.Timeouts.RegisterPlayer),
	}
	switch preset, err := files.Player(id); {
	case errors.Is(err, config.ErrNoPreset):
	case err != nil:
		return player.Options{}, &usageError{err}
	case !preset.Active:
		return player.Options{}, inactive(files, "player", id)
	default:
		o.Version = cmp.Or(preset.Version, o.Version)
		if preset.GameTypes != nil {
			o.Games = preset.GameTypes
		}
	}
	return o, nil
}

func printPlayer(s streams, r player.Record) error {
	_, err := fmt.Fprintf(s.out, "%s: %d played, %d won, %d drawn, %d lost", r.PlayerID,
		r.Stats.TotalMatches, r.Stats.Wins, r.Stats.Draws, r.Stats.Losses)
	if err == nil && r.Rank > 0 {
		_, err = fmt.Fprintf(s.out, "; rank %d of %d with %d points", r.Rank, r.Players, r.Points)
	}
	if err == nil {
		_, err = fmt.Fprintf(s.out, ". Champion: %s (%s)\n", r.Champion.DisplayName, r.Champion.PlayerID)
	}
	return err
}
