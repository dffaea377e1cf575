package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/dialect/bridge"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/player/strategy/external"
	"evenodd/transport"
	"evenodd/transport/http"
)

type playerOptions struct {
	agentOptions
	leagues  []string
	strategy string
	tools    external.Tools
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

Strategies: ` + external.Names() + `.
Perfect plays tic_tac_toe alone, and joins no league of another game; the others
play any game.

exec:./bot runs a program of yours, in any language: it reads a question a line,
and answers each with a line such as {"choice": "even"}. A question it does not
answer costs that match; the log says why. testdata/bots has examples.

llm asks a language model, at an endpoint that speaks as OpenAI's does. Its key, if
it needs one, is in EVENODD_LLM_KEY or OPENAI_API_KEY.`,
		Example: "  evenodd player --port 8101 --strategy contrarian\n" +
			"  evenodd player --port 8101 --strategy 'exec:python3 bot.py --level 3'",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.seeded = c.Flags().Lookup("seed").Changed
			return runPlayer(c.Context(), s, data.loader, o)
		},
	}
	f := c.Flags()
	o.flags(f, "player-id", "P01", "8101 to 8199")
	f.StringSliceVar(&o.leagues, "league-id", nil, "join only this league, or one of these")
	f.StringVar(&o.strategy, "strategy", "random", "how to choose")
	botFlags(f, &o.tools)
	f.StringVar(&o.verify, "verify-referee", verifyAnnounced, "whom to play with: announced (also referees that cannot prove themselves, where the manager says so) or strict (only those that do)")
	return c
}

func runPlayer(ctx context.Context, s streams, files *config.Loader, o *playerOptions) error {
	o.tools.LLM.Key = llmKey()
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
	if err := external.Check(o.strategy, o.tools, options.Games...); err != nil {
		return &usageError{err}
	}
	listener, err := o.address.listen(ctx)
	if err != nil {
		return err
	}
	var known atomic.Pointer[player.Player] // what the bot says is logged from the start
	name := defaultName(o.name, "Player", listener)
	file := openAgentLog(o.data, "player", "player-"+membership.Slug(name), s.err)
	defer func() { _ = file.Close() }() // a log that cannot be written has said so
	log, err := newLogger(s.err, o.logLevel, func() string { return senderOf(known.Load()) }, file)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	speak := bridge.New(bridge.Options{Endpoint: o.address.endpoint, Clock: protocol.SystemClock(), Log: log})
	client, err := newClient(maxFromManager, o.ca, nil, speak)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer client.Close()
	o.tools.Log = log
	decide, err := external.Open(o.strategy, o.tools)
	if err != nil {
		return errors.Join(&usageError{err}, listener.Close())
	}
	defer external.Close(decide)
	options.Name, options.ID, options.Leagues = name, o.wantedID(8100, protocol.PlayerID), o.leagues
	options.Endpoint, options.Manager, options.Strategy = o.address.endpoint, o.manager, decide
	options.Games = strategy.Playable(decide, options.Games)
	options.StrictReferees = o.verify == verifyStrict
	options.Caller, options.Clock, options.Log = transport.Logged(client, log), protocol.SystemClock(), log
	options.Folder = store.Folder(o.data)
	var p *player.Player
	if o.seeded {
		options.Entropy = func(matchID string, _ int) protocol.Secret { return simulation.Entropy(o.seed, matchID, p.ID()) }
		options.Random = func(playerID, decision string) *rand.Rand { return simulation.Random(o.seed, playerID, decision) }
	}
	p, err = player.New(options)
	if err != nil {
		return errors.Join(&usageError{err}, listener.Close())
	}
	known.Store(p)
	mux := transport.NewMux(log)
	p.Mount(mux)
	stop := o.address.serve(listener, mux, p.Stamp, http.Config{MaxBody: maxFromManager, Trusts: p.KnowsManager, Dialect: speak, Health: func() any {
		return map[string]any{"status": "ok", "role": "player", "agent_id": p.ID(), "state": p.Record().State}
	}})
	defer stop()
	log.Info().Str("endpoint", o.address.endpoint).Str("manager", o.manager).Str("event_type", protocol.EventListening).Msg("listening")
	l := &life{
		agent: p, endpoint: options.Endpoint, caller: options.Caller, manager: o.manager,
		clock: options.Clock, log: log, file: file, data: o.data,
	}
	err = l.takePart(ctx)
	if kept := p.Close(); kept != nil {
		log.Error().Err(kept).Str("event_type", protocol.EventHistoryIncomplete).Msg("the history is not complete on disk")
	}
	if err != nil {
		return err
	}
	return printPlayer(s, p.Record(), external.Account(decide))
}

// botFlags are the flags of what strategies that think outside this process need.
func botFlags(f *pflag.FlagSet, t *external.Tools) {
	f.DurationVar(&t.Timeout, "bot-timeout", 0, "how long a program or a model may think, less where the referee wants it (default: 5s for a program, 20s for a model)")
	f.StringVar(&t.LLM.URL, "llm-url", "", "`URL` of the endpoint that the strategy llm asks, such as http://localhost:11434/v1")
	f.StringVar(&t.LLM.Model, "llm-model", "", "model that the strategy llm asks for")
}

// llmKey is the key for the endpoint. It comes from the environment alone: a
// command line is seen by everybody on the machine.
func llmKey() string {
	return strings.TrimSpace(cmp.Or(os.Getenv("EVENODD_LLM_KEY"), os.Getenv("OPENAI_API_KEY")))
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

func printPlayer(s streams, r player.Record, account string) error {
	_, err := fmt.Fprintf(s.out, "%s: %d played, %d won, %d drawn, %d lost", r.PlayerID,
		r.Stats.TotalMatches, r.Stats.Wins, r.Stats.Draws, r.Stats.Losses)
	if t := r.League; err == nil && t != nil {
		_, err = fmt.Fprintf(s.out, " (in the whole league %d played, %d won, %d drawn, %d lost)", t.TotalMatches, t.Wins, t.Draws, t.Losses)
	}
	if err == nil && r.Rank > 0 {
		_, err = fmt.Fprintf(s.out, "; rank %d of %d with %d points", r.Rank, r.Players, r.Points)
	}
	if err == nil {
		_, err = fmt.Fprintf(s.out, ". Champion: %s (%s)\n", r.Champion.DisplayName, r.Champion.PlayerID)
	}
	if err == nil && account != "" {
		_, err = fmt.Fprintln(s.out, account)
	}
	return err
}
