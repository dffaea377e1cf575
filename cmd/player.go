package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/player/strategy/external"
	"evenodd/transport"
	"evenodd/transport/http"
	"evenodd/transport/mcp"
)

type playerOptions struct {
	agentOptions
	leagues  []string
	strategy string
	tools    external.Tools
	verify   string // --verify-referee
}

// Values of --verify-referee.
const (
	verifyAnnounced = "announced"
	verifyStrict    = "strict"
)

func newPlayer(s streams, data *dataFolder) *cobra.Command {
	o := &playerOptions{agentOptions: agentOptions{address: address{ports: ports{8101, 8150}}}}
	c := &cobra.Command{
		Use:   "player",
		Short: "Take part in a league as a player",
		Long: `Run a player agent. It registers with the league manager, and repeats that until the
manager runs. It plays until the league is over, prints its record and ends.

Strategies: ` + external.Names(true) + `.
perfect plays only tic_tac_toe and joins no league of another game. The others play
every game.

exec:./bot runs your program, in any language. It reads a question on each line and
answers with a line such as {"choice": "even"}. It loses the match if it does not
answer; the log has the reason. testdata/bots has examples. It ends with the player. It
gets few environment variables: PATH, HOME, the language and those of --exec-env.

llm asks a language model with an API like OpenAI's. Set its key in EVENODD_LLM_KEY
or OPENAI_API_KEY if it needs one.

mcp asks a tool of an MCP server: of a program (--mcp-command) or at a URL
(--mcp-url). The tool gets the question that programs of exec get, and answers with a
choice. mcp-host leaves the choices to an MCP host: a person or a model that is connected to
this player's /mcp with the host token that the player prints. For both, the strategy
--fallback chooses if there is no answer in time.`,
		Example: "  evenodd player --port 8101 --strategy contrarian\n" +
			"  evenodd player --port 8101 --strategy 'exec:python3 bot.py --level 3'",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.seeded, o.version = c.Flags().Lookup("seed").Changed, c.Root().Version
			return runPlayer(c.Context(), s, data.loader, o)
		},
	}
	f := c.Flags()
	o.flags(f, "player-id", "P01", "8101 to 8199")
	f.StringSliceVar(&o.leagues, "league-id", nil, "join only this league; may be repeated")
	f.StringVar(&o.strategy, "strategy", "random", "strategy that makes the choices")
	botFlags(f, &o.tools)
	f.StringVar(&o.verify, "verify-referee", verifyAnnounced, "referees to accept: announced (also referees without access tokens, if the manager announces that) or strict (only those with access tokens)")
	return c
}

func runPlayer(ctx context.Context, s streams, files *config.Loader, o *playerOptions) error {
	if err := oneOf("verify-referee", o.verify, verifyAnnounced, verifyStrict); err != nil {
		return err
	}
	options, err := playerPreset(files, o.id)
	if err != nil {
		return err
	}
	o.tools.LLM.Key, o.tools.Hosted = llmKey(), true
	if err := external.Check(o.strategy, o.tools, options.Games...); err != nil {
		return asUsage(err)
	}
	process, err := o.open(ctx, s, files, "player", maxFromManager)
	if err != nil {
		return err
	}
	defer process.close()
	o.tools.Log = process.log
	decide, err := external.Open(o.strategy, o.tools)
	if err != nil {
		return asUsage(err)
	}
	defer external.Close(decide)
	process.complete(&options.Options, o.wantedID(8100, protocol.PlayerID))
	options.Leagues, options.Strategy, options.StrictReferees = o.leagues, decide, o.verify == verifyStrict
	options.Games = strategy.Playable(decide, options.Games)
	var p *player.Player
	if o.seeded {
		options.Entropy = func(matchID string, _ int) protocol.Secret { return simulation.Entropy(o.seed, matchID, p.ID()) }
		options.Random = func(playerID, decision string) *rand.Rand { return simulation.Random(o.seed, playerID, decision) }
	}
	if p, err = player.New(options); err != nil {
		return asUsage(err)
	}
	host, hosted := decide.(*external.Host)
	access := newHostAccess(host)
	if hosted {
		_ = printLine(s.err, "Host token of this player: %s", access.token)
	}
	health := func() map[string]any {
		return map[string]any{"status": "ok", "role": "player", "agent_id": p.ID(), "state": p.Record().State}
	}
	config := http.Config{MaxBody: maxFromManager, Identify: access.identifyOr(p.Identify)}
	err = process.run(ctx, p, config, health, func(mux *transport.Mux, name, version string) mcp.Options {
		return playerMCP(mux, name, version, access, p.Token)
	})
	if failed := p.Close(); failed != nil {
		process.log.Error().Err(failed).Str("event_type", protocol.EventHistoryIncomplete).Msg("the history on disk is incomplete")
	}
	if err != nil {
		return err
	}
	return printPlayer(s, p.Record(), external.Account(decide))
}

// botFlags defines the flags of the strategies that run outside this process.
func botFlags(f *pflag.FlagSet, t *external.Tools) {
	t.Programs.Self, t.Programs.Environ = external.Self(), os.Environ()
	f.DurationVar(&t.Timeout, "bot-timeout", 0, "longest time for a choice of a program or a model; the referee's limit may be shorter (default: 5s for a program, 20s for a model)")
	f.StringVar(&t.LLM.URL, "llm-url", "", "`URL` of the API for the strategy llm, such as http://localhost:11434/v1")
	f.StringVar(&t.LLM.Model, "llm-model", "", "model for the strategy llm")
	f.StringVar(&t.MCP.Command, "mcp-command", "", "command line of the MCP server for the strategy mcp")
	f.StringVar(&t.MCP.URL, "mcp-url", "", "`URL` of the MCP server for the strategy mcp")
	f.StringVar(&t.MCP.Tool, "mcp-tool", "", "tool of the MCP server that chooses (default: its only tool, or choose)")
	f.StringSliceVar(&t.Programs.Env, "exec-env", nil, "`NAME` of an environment variable that programs of exec and --mcp-command get too, such as PYTHONPATH; may be repeated")
	f.BoolVar(&t.Programs.Sandbox, "exec-sandbox", false, "programs of exec and --mcp-command have no network and a read-only file system (only on Linux)")
	f.StringVar(&t.Fallback, "fallback", "random", "built-in `STRATEGY` that chooses when an MCP host or server does not")
}

// llmKey returns the key for the language model. It comes only from the environment,
// because every user of the machine can read command lines.
func llmKey() string {
	return strings.TrimSpace(cmp.Or(os.Getenv("EVENODD_LLM_KEY"), os.Getenv("OPENAI_API_KEY")))
}

// playerPreset returns the options of a player that files set and flags do not.
func playerPreset(files *config.Loader, id string) (player.Options, error) {
	system, systemErr := files.System()
	defaults, defaultsErr := files.PlayerDefaults()
	preset, presetErr := files.Player(id)
	if err := errors.Join(systemErr, defaultsErr, presetErr); err != nil {
		return player.Options{}, asUsage(err)
	}
	games := defaults.GameTypes
	if preset.GameTypes != nil {
		games = preset.GameTypes
	}
	options := player.Options{Games: games}
	options.Version, options.RegisterTimeout = cmp.Or(preset.Version, defaults.Version), inSeconds(system.Timeouts.RegisterPlayer)
	return options, checkActive(files, "player", id, &preset.Preset)
}

func printPlayer(s streams, r player.Record, account string) error {
	text := fmt.Sprintf("%s: %d played, %d won, %d drawn, %d lost", r.PlayerID,
		r.Stats.TotalMatches, r.Stats.Wins, r.Stats.Draws, r.Stats.Losses)
	if t := r.League; t != nil {
		text += fmt.Sprintf(" (in the whole league %d played, %d won, %d drawn, %d lost)", t.TotalMatches, t.Wins, t.Draws, t.Losses)
	}
	if r.Rank > 0 {
		rank := fmt.Sprintf("rank %d", r.Rank)
		if r.Tied {
			rank = "shared " + rank
		}
		text += fmt.Sprintf("; %s of %d with %d points", rank, r.Players, r.Points)
	}
	var all page
	all.line("%s. %s", text, championOf(r.Champion))
	if account != "" {
		all.line("%s", account)
	}
	return all.print(s.out)
}
