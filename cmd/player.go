package cmd

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/cmd/metrics"
	"evenodd/config"
	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/view/page"
	"evenodd/league/words"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/player/strategy/external"
	"evenodd/player/strategy/person"
	"evenodd/transport"
	"evenodd/transport/http"
	"evenodd/transport/mcp"
)

type playerOptions struct {
	agentOptions

	games    []string // types
	game     string   // --game
	programs map[string]player.Asker
	strategy string
	tools    external.Tools
	prompt   string // --llm-prompt
	verify   string // --verify-referee
	count    int
	entrant  *config.Entrant // of a file, with what the flags do not have; nil for none
	key      string          // of its model
	person   *person.Person  // the strategy, if its page is not at this player; else nil
}

// verifyStrict is a value of --verify-referee.
const verifyStrict = "strict"

func newPlayer(s streams, data *dataFolder) *cobra.Command {
	o := &playerOptions{}
	c := &cobra.Command{
		Use:   "player",
		Short: "Take part in a league as a player",
		Long: `Run a player agent. It registers with the league manager, and repeats that until the manager runs. It plays
until the league is over, prints its record and ends.

Strategies: ` + external.Names(true) + `.
` + strategy.Specialties() + `. The others play every game.
docs/games.md describes all.

exec:./bot runs your program, llm asks a language model (its key is in
EVENODD_LLM_KEY or OPENAI_API_KEY), mcp a tool of an MCP server, and mcp-host a
person or a model (docs/mcp.md). person lets a person play in a browser, by a link
that the command prints and that works once.

--count 30 runs 30 players in this process, each with its own port, name,
identity and log file.`,
		Example: examples(
			"Play with a built-in strategy", "evenodd player --strategy contrarian",
			"Play with your own program", "evenodd player --strategy 'exec:python3 bot.py --level 3'",
			"Play yourself, in a browser", "evenodd player --strategy person --name Ada",
			"Run 30 players in one process", "evenodd player --count 30 --name Bot",
			"Join a league on another machine", "evenodd player --manager http://192.0.2.7:8000/",
		),
		RunE: func(c *cobra.Command, _ []string) error {
			o.program = c.Root().Version
			return o.run(c.Context(), s, data)
		},
	}
	o.flags(c.Flags())
	return c
}

// run runs players, whose flags are set.
func (o *playerOptions) run(ctx context.Context, s streams, data *dataFolder) error {
	o.given = data.given
	return debugged(ctx, o.address.debug, func() error { return runPlayer(ctx, s, data.loader, o) })
}

// flags defines the flags of players.
func (o *playerOptions) flags(f *pflag.FlagSet) {
	o.address.ports = ports{8101, 8150}
	o.agentFlags(f, "player-id", "P01", "8101 to 8199")
	f.StringSliceVar(&o.Leagues, "league-id", nil, "join only this league; may be repeated")
	f.StringVar(&o.strategy, "strategy", "random", "strategy that makes the choices")
	f.StringVar(&o.game, "game", "", "a further game to play: the type of a game that is a program, such as nim, or "+
		"exec: with its program, which then checks what the player was shown of a hidden game")
	botFlags(f, &o.tools, &o.prompt)
	f.IntVar(&o.count, "count", 1, fmt.Sprintf("players in this process, 1 to %d; with --name NAME their names are "+
		"NAME-1, NAME-2 and so on", mostPlayers))
	o.verify = "announced"
	f.Var(&choice{value: &o.verify, words: []string{"announced", verifyStrict}}, "verify-referee",
		"referees to accept: announced (also referees without access tokens, if the manager announces that) or strict "+
			"(only those with access tokens)")
}

func runPlayer(ctx context.Context, s streams, files *config.Loader, o *playerOptions) (err error) {
	o.tools.Hosted = true
	if err := o.checkCount(); err != nil {
		return err
	}
	if o.entrant != nil {
		o.strategy, o.tools = o.entrant.Strategy(), toolsOf(o.entrant, o.tools)
		o.tools.LLM.Key = o.key
	} else if err := completeTools(&o.tools, o.prompt); err != nil {
		return err
	}
	if o.games, err = o.preset(files, protocol.RolePlayer); err != nil {
		return err
	}
	own, err := openGame(ctx, o.host, &o.game, &o.tools.Programs, zerolog.Nop())
	if err != nil {
		return err
	}
	defer own.close()
	if o.game != "" && !program.IsType(o.game) {
		return usage("--game %.60q: must be the type of a game, such as nim, or exec:PROGRAM", o.game)
	}
	if o.game != "" && !slices.Contains(o.games, o.game) {
		o.games = append(slices.Clone(o.games), o.game)
	}
	o.tools.Games, o.programs = own.games(), own.players()
	if err := external.Check(o.strategy, o.tools, o.games...); err != nil {
		return asUsage(err)
	}
	o.Large = large(o.games)
	return runPlayers(ctx, s, files, o)
}

// A finalRecord is the record of a player whose league is over.
type finalRecord struct {
	player.Record
	name    string // display name
	account string // of its strategy; "" for none
}

// play runs a player that listens on l, until its league is over. It returns the name also
// with an error.
func (o *playerOptions) play(ctx context.Context, s streams, files *config.Loader, l net.Listener) (r finalRecord,
	err error) {
	process, err := o.open(s, files, protocol.RolePlayer, maxFromManager, l)
	r.name = o.Name
	if err != nil {
		return r, err
	}
	defer process.close()
	o.tools.Log, o.tools.Player = o.Log, o.Name
	decide, err := o.decides()
	if err != nil {
		return r, asUsage(err)
	}
	defer external.Close(decide)
	options := player.Options{Options: o.Options, Strategy: decide, StrictReferees: o.verify == verifyStrict,
		Games: strategy.Playable(decide, o.games), Rules: o.tools.Games, Programs: o.programs}
	var p *player.Player
	if o.given["seed"] {
		options.Entropy = func(matchID string, _ int) protocol.Secret { return simulation.Entropy(o.seed, matchID, p.ID()) }
		options.Random = func(playerID, decision string) *rand.Rand { return simulation.Random(o.seed, playerID, decision) }
	}
	if o.prints(s) {
		lines := newAgentLines(s, func(ctx context.Context) map[string]string { return p.Names(ctx) })
		defer background(lines.run)()
		options.Ended = func(m *protocol.PlayedMatch, reason string) { lines.played(ctx, *m, reason) }
	}
	if p, err = player.New(options); err != nil {
		return r, asUsage(err)
	}
	host, hosted := decide.(*external.Host)
	access := &hostAccess{host: host, token: "host-" + crand.Text()}
	if hosted {
		called := "this player"
		if o.several {
			called = o.Name
		}
		s.note("Host token of %s: %s", called, access.token)
		process.leaving = func() {
			select {
			case <-p.Done():
				host.End("the league is over")
			default:
				host.End("the player stops")
			}
		}
	}
	matchMetrics(process.metrics, func(emit metrics.Emit) {
		own := p.Record().Stats
		emit(float64(own.Wins), "recorded", "win")
		emit(float64(own.Draws), "recorded", "draw")
		emit(float64(own.Losses), "recorded", "loss")
	})
	config := http.Config{MaxBody: maxFromManager, Identify: access.identifyOr(p.Identify)}
	who, plays := decide.(*person.Person)
	if config.Patient = plays; plays && o.person == nil {
		d, err := openDesk(ctx, who, o.Folder, o.Name, &o.address, l, page.PlayOptions{Log: o.Log,
			Pages: pageOf(o.Manager, "")})
		if err != nil {
			return r, err
		}
		config.Mounts = d.mounts()
		d.introduce(s)
		if !o.several {
			renewLinks(ctx, s, d)
		}
		process.leaving = func() { d.leave(p) }
	}
	err = process.run(ctx, p, config, func() (string, any) { return "state", p.Record().State },
		func(mux *transport.Mux) mcp.Options { return playerMCP(mux, o.Name, o.program, access, p.Token) })
	if failed := p.Close(); failed != nil {
		o.Log.Error().Err(failed).Str("event_type", "HISTORY_INCOMPLETE").
			Msg("the history on disk is incomplete")
	}
	r.Record, r.account = p.Record(), external.Account(decide)
	return r, err
}

// decides returns the strategy.
func (o *playerOptions) decides() (strategy.Strategy, error) {
	if o.person != nil {
		return o.person, nil
	}
	return external.Open(o.strategy, o.tools)
}

// botFlags defines the flags of the external strategies.
func botFlags(f *pflag.FlagSet, t *external.Tools, promptFile *string) {
	t.Games = games()
	f.DurationVar(&t.Timeout, "bot-timeout", 0, "longest time for a choice of a program or a model; the referee's limit "+
		"may be shorter (default: 5s for a program, 20s for a model)")
	f.StringVar(&t.LLM.URL, "llm-url", "", "`URL` of the API for the strategy llm, such as http://localhost:11434/v1")
	f.StringVar(&t.LLM.Model, "llm-model", "", "model for the strategy llm")
	f.StringVar(promptFile, "llm-prompt", "", "`file` with instructions that the model of the strategy llm gets before "+
		"each question")
	f.StringVar(&t.MCP.Command, "mcp-command", "", "command line of the MCP server for the strategy mcp")
	f.StringVar(&t.MCP.URL, "mcp-url", "", "`URL` of the MCP server for the strategy mcp")
	f.StringVar(&t.MCP.Tool, "mcp-tool", "", "tool of the MCP server that chooses (default: its only tool, or choose)")
	programFlags(f, &t.Programs, "programs of exec and --mcp-command")
	t.Fallback = "random"
	f.Var(&choice{value: &t.Fallback, words: strategy.Names()}, "fallback",
		"built-in `STRATEGY` that chooses when an MCP host or server does not")
}

// completeTools adds the key and the prompt of the language model. The key comes only from the environment,
// because every user of the machine can read command lines.
func completeTools(t *external.Tools, promptFile string) (err error) {
	t.LLM.Key = strings.TrimSpace(cmp.Or(os.Getenv(llmKeyVariable), os.Getenv(openAIKeyVariable)))
	t.LLM.KeyHint = llmKeyVariable + " or " + openAIKeyVariable
	if promptFile == "" {
		return nil
	}
	if t.LLM.Prompt, err = config.ReadPrompt(promptFile); err != nil {
		return usage("--llm-prompt %s: %w", promptFile, err)
	}
	return nil
}

// The environment variables with the key of a language model.
const (
	llmKeyVariable    = "EVENODD_LLM_KEY"
	openAIKeyVariable = "OPENAI_API_KEY"
)

// summary is the record as a sentence.
func (r *finalRecord) summary() string {
	text := fmt.Sprintf("%s: %d played, %d won, %d drawn, %d lost", r.PlayerID,
		r.Stats.TotalMatches, r.Stats.Wins, r.Stats.Draws, r.Stats.Losses)
	if t := r.League; t != nil {
		text += fmt.Sprintf(" (in the whole league %d played, %d won, %d drawn, %d lost)", t.TotalMatches, t.Wins,
			t.Draws, t.Losses)
	}
	if r.Rank > 0 {
		rank := fmt.Sprintf("rank %d", r.Rank)
		if r.Tied {
			rank = "shared " + rank
		}
		text += fmt.Sprintf("; %s of %d with %s", rank, r.Players, words.Counted(r.Points, "point"))
	}
	return text
}

// mostPlayers is the largest number of players in one process. Each has a port, a client
// and open files.
const mostPlayers = 1000

// checkCount returns an error for a --count that does not fit the other flags.
func (o *playerOptions) checkCount() error {
	first, last := o.address.ports.first, o.address.ports.last
	switch {
	case o.count < 1 || o.count > mostPlayers:
		return usage("--count %d: must be from 1 to %d", o.count, mostPlayers)
	case o.strategy == person.Name && o.nats.noHTTP:
		return usage("--strategy person: the page needs an HTTP server: leave --no-http out")
	case o.count == 1:
		return nil
	case o.ID != "" || o.address.endpoint != "" || o.RegistrationCode != "":
		return usage("--id, --endpoint and --registration-code belong to one player: leave them out with --count %d", o.count)
	case first > 0 && last-first+1 < o.count:
		return usage("--count %d: needs as many ports, and --port %s has %d: set a larger range, or 0 for any free ones",
			o.count, &o.address.ports, last-first+1)
	case o.Name != "" && !protocol.ValidName(o.nameOf(o.count)):
		return usage("--name %q: the name %s must have 1 to 50 characters and no control characters", o.Name,
			o.nameOf(o.count))
	}
	return nil
}

// nameOf returns the display name of the player with a number from 1; "" for one after its
// port.
func (o *playerOptions) nameOf(number int) string {
	if o.Name == "" || o.count == 1 {
		return o.Name
	}
	return fmt.Sprintf("%s-%d", o.Name, number)
}

// listenAll returns the options of each of --count players, and its open port.
func (o *playerOptions) listenAll(ctx context.Context) ([]playerOptions, []net.Listener, error) {
	all := slices.Repeat([]playerOptions{*o}, o.count)
	listeners := make([]net.Listener, 0, o.count)
	for i := range all {
		all[i].Name = o.nameOf(i + 1)
		l, err := all[i].listen(ctx)
		if err != nil {
			for _, open := range listeners {
				closeListener(open)
			}
			if o.several {
				err = fmt.Errorf("player %d of %d: %w", i+1, o.count, err)
			}
			return nil, nil, err
		}
		listeners = append(listeners, l)
	}
	return all, listeners, nil
}

// runPlayers runs --count players until their league is over, and prints their records. A
// player that fails stops no other. It opens all ports before the first player registers.
func runPlayers(ctx context.Context, s streams, files *config.Loader, o *playerOptions) error {
	o.several = o.count > 1
	if err := o.prepare(ctx, s); err != nil {
		return err
	}
	all, listeners, err := o.listenAll(ctx)
	if err != nil {
		return err
	}
	records, problems := make([]finalRecord, o.count), make([]error, o.count)
	var playing sync.WaitGroup
	for i := range all {
		playing.Go(func() {
			records[i], problems[i] = all[i].play(ctx, s, files, listeners[i])
			if o.several && problems[i] != nil && ctx.Err() == nil {
				printError(s.err, fmt.Errorf("%s has failed: %w", records[i].name, problems[i]))
			}
		})
	}
	playing.Wait()
	return o.printRecords(s, records, problems)
}

// printRecords prints the records of players whose leagues are over, and returns an error if any has failed.
func (o *playerOptions) printRecords(s streams, records []finalRecord, problems []error) error {
	if o.prints(s) && problems[0] == nil && isTerminal(s.out) {
		if err := printLastTable(s, &records[0].Record); err != nil {
			return err
		}
	}
	var text printout
	var failed []string
	champion := ""
	for i, err := range problems {
		r, front := &records[i], ""
		switch {
		case err != nil && (!o.several || exitCode(err) == exitInterrupted):
			return err
		case err != nil:
			failed = append(failed, r.name)
			continue
		case o.several:
			front, champion = r.name+": ", cmp.Or(champion, championOf(r.Champion))
			text.line("%s%s", front, r.summary())
		default:
			text.line("%s. %s", r.summary(), championOf(r.Champion))
		}
		if r.account != "" {
			text.line("%s%s", front, r.account)
		}
	}
	if champion != "" {
		text.line("%s", champion)
	}
	if err := text.print(s.out); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d players failed: %s", len(failed), o.count, strings.Join(failed, ", "))
	}
	return nil
}
