package cmd

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"evenodd/config"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/simulation"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/store"
	"evenodd/league/words"
	"evenodd/player/strategy/external"
)

type simulateOptions struct {
	simulation.Options
	leagueSettings
	resume bool
	given  func(flag string) bool // tells whether the user, or a file, has set a flag
	// the origins of the flags, and the values of files that the user has replaced
	sources, shadowed map[string]string

	output string
	list   string
	quiet  bool
	rated  bool // --ratings

	drawnSeed bool // no flag names the seed

	elo pairing.Bounds // --elo0 and --elo1

	entrants   string // path of --entrants
	force      bool
	promptFile string // --llm-prompt

	serveAt string // address of the page; "" for none
	page    string // its URL; "" for none
	folder  string // of the league without --data; "" for none

	urls     []string // of external players
	meet     rendezvous
	wait     time.Duration
	patience time.Duration
}

func newSimulate(s streams, data *dataFolder) *cobra.Command {
	o := &simulateOptions{}
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Play a whole league in this process",
		Long: `Play a whole league in one process: manager, referees and players. The same seed gives the same output on every
transport and with any concurrency.

Players get ids in order, and the strategies in turn. --entrants names a file that lists the players one by one
(docs/leagues.md).

Strategies: ` + external.Names(false) + `.
exec:./bot runs your program (testdata/bots). docs/games.md describes all.

--player adds an external player, an agent that runs elsewhere. Below the table the command lists the reason of each
technical loss (docs/agents.md).

--data stores the league in a folder, --resume continues an interrupted one, and
--faults injects faults. docs/games.md describes them.`,
		Example: examples(
			"Play four players, the same league each time",
			"evenodd simulate --players 4 --strategies random,contrarian --seed 7",
			"Play another game in another format", "evenodd simulate --game tic_tac_toe --tournament swiss --players 64",
			"Play your program against built-in strategies", "evenodd simulate --strategies 'exec:python3 bot.py',even,random",
			"Play agents that run elsewhere", "evenodd simulate --player localhost:8101 --player localhost:8102",
			"Store the league, and show it in a browser", "evenodd simulate --data ./my-league --serve localhost:8080 --pace 1s",
		),
		RunE: func(c *cobra.Command, _ []string) error {
			o.given, o.sources, o.shadowed = c.Flags().Changed, data.sources, data.shadowed
			o.meet.isGiven(o.given)
			if err := o.enter(); err != nil {
				return err
			}
			return runSimulate(c.Context(), s, data.loader, o)
		},
	}
	f := c.Flags()
	o.flags(f, &o.Rules, "", "warn")
	f.BoolVar(&o.resume, "resume", false, "continue the interrupted league in the data folder")
	f.IntVar(&o.Players, "players", usualPlayers, "number of players, 2 to 10,000")
	f.IntVar(&o.Referees, "referees", 2, "number of referees, 1 to 1,000")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of all random decisions (default: a new one)")
	o.Strategies = []string{"random"}
	f.Var(&strategyList{list: &o.Strategies}, "strategies", "strategies, separated by commas and assigned to the players in "+
		"turn; a comma within the quotes of a command line separates nothing")
	f.StringVar(&o.entrants, "entrants", "", "YAML `file` that lists the players, each with its name and its strategy, "+
		"program, model or URL")
	botFlags(f, &o.Tools, &o.promptFile)
	forceFlag(f, &o.force)
	f.BoolVar(&o.Sign, "sign", false, "sign moves and the journal's heads even without --data, which always signs")
	choiceFlag(f, &o.Transport, "transport", simulation.Memory, "", simulation.Memory, simulation.Wire, simulation.HTTP)
	f.IntVar(&o.Concurrency, "concurrency", 16, "matches at once, 1 to 10,000; while players or the game are "+
		"programs or models of this computer at most its number of processors, unless you set it")
	f.StringVar(&o.Faults, "faults", "", "faults to inject: `list` such as drop=0.02,delay=0.1,crash=P03@R2")
	f.StringSliceVar(&o.urls, "player", nil, "`URL` of an external player, such as http://localhost:8101/mcp; may be "+
		"repeated")
	o.meet.flags(f, "external players find")
	f.StringVar(&o.serveAt, "serve", "", "`host:port` of a page that shows the league to browsers, such as "+
		"localhost:8080, until you interrupt the command; :8080 lets other machines connect")
	f.DurationVar(&o.pace, "pace", 0, "pause before each round, such as 300ms, to watch the league; it changes no result")
	f.DurationVar(&o.wait, "wait", 10*time.Second, "time for external players to start listening and to register")
	f.DurationVar(&o.patience, "patience", 0, "longest time for a response of an external player (default: the league's "+
		"limits)")
	choiceFlag(f, &o.output, "format", formatTable, "output", formatTable, formatJSON, formatCSV)
	choiceFlag(f, &o.list, "list", "matches", "rows of --format csv", "matches", "standings")
	f.BoolVar(&o.rated, "ratings", false, "print a second table: ratings with intervals, and the results of each pair")
	f.BoolVar(&o.untilSignificant, "until-significant", false, "play two legs at a time, until one player is shown to "+
		"be better than every other; --legs is the largest number, even (default 200)")
	f.Float64Var(&o.elo.Elo0, "elo0", 0, "with --until-significant and two players: play until the results decide "+
		"whether the first one is --elo0 or --elo1 `Elo` stronger; --legs is 20,000 by default")
	f.Float64Var(&o.elo.Elo1, "elo1", 0, "see --elo0, which is less: `Elo` of the other bound")
	f.BoolVar(&o.quiet, "quiet", false, "write nothing but errors to standard error")
	return c
}

func runSimulate(ctx context.Context, s streams, files *config.Loader, o *simulateOptions) (err error) {
	fileLevel := "info"
	switch {
	case o.given("log-level"):
		fileLevel = o.logLevel
	case o.Faults != "" || len(o.urls) > 0:
		o.logLevel = "error" // the user expects the faults: no warnings
	}
	screen := s.err
	if o.quiet {
		o.logLevel, s.err = "error", io.Discard
	}
	system, _ := files.System() // the flags needed it already
	file := openSystemLog(o.data, system.Logs, screen)
	defer func() { _ = file.Close() }() // reports a failed write itself
	o.Log = newLogger(screen, o.logLevel, fileLevel, func() string { return "" }, file)
	if o.userGame, err = openGame(ctx, nil, &o.GameType, &o.Tools.Programs, o.Log); err != nil {
		return err
	}
	defer o.userGame.close()
	o.userGame.addTo(files)
	o.Programs, o.Tools.Games = o.userGame.referees(), o.userGame.games()
	err = o.complete(files)
	if err == nil && !o.resume && !o.force {
		err = preflight(ctx, o.tried(), o.userGame, o.GameType, o.Timeouts.Move, runtime.GOMAXPROCS(0))
	}
	if err != nil {
		return err
	}
	if o.External != nil {
		leave, err := o.reach(ctx, s)
		if err != nil {
			return err
		}
		defer leave()
	}
	stop, err := o.startPage(ctx, s)
	if err != nil {
		return err
	}
	defer stop()
	result, err := o.run(ctx, s, system)
	if err != nil {
		return err
	}
	switch err := o.print(s, result); {
	case err != nil:
		return err
	case result.Unwritten != nil:
		return result.Unwritten
	}
	if o.page != "" {
		s.note("The league is over; its page stays at %s until you interrupt this command.", o.page)
		<-ctx.Done()
	}
	if o.strict {
		return lossesAndFallbacks(result.Players)
	}
	return nil
}

// run opens the files of the league, plays it, and closes them.
func (o *simulateOptions) run(ctx context.Context, s streams, system *config.System) (result *simulation.Result,
	err error) {
	if o.Files, err = o.openFiles(s); err != nil {
		return nil, err
	}
	if o.Files != nil {
		defer closeFiles(o.Files, &err)
	}
	if !o.given("seed") && !o.resume {
		o.Seed, o.drawnSeed = newSeed(), true
		s.note("Seed: %d", o.Seed)
	}
	_, unwatch := watchDisk(o.data, system.Disk.LowSpaceMB, o.Log)
	folder := o.Files
	if !o.resume && o.HasFaultyDisk() {
		o.Files = nil // the league is on a disk in memory until it is over
	}
	result, err = o.play(ctx, s)
	unwatch()
	if err == nil && ctx.Err() == nil && result.Disk != nil && folder != nil {
		err = result.Disk.Dump(simulation.DataFolder, folder.Folder.Path)
	}
	if ctx.Err() != nil {
		return nil, o.interrupted()
	}
	return result, err
}

func newSeed() uint64 {
	return rand.Uint64N(1 << 53) //nolint:gosec // a seed is not secret; every JSON reader keeps 53 bits
}

// usualMostLegs is the largest number of legs of a league until a significant result, and usualMostLegsOfBounds that of
// one with bounds.
const usualMostLegs, usualMostLegsOfBounds = 200, 20_000

// complete checks the options, and adds those of the league's files.
func (o *simulateOptions) complete(files *config.Loader) error {
	if o.given("elo0") || o.given("elo1") {
		o.bounds = &o.elo
	}
	if o.untilSignificant && !o.given("legs") {
		if o.Legs = usualMostLegs; o.bounds != nil {
			o.Legs = usualMostLegsOfBounds
		}
	}
	switch {
	case o.given("elo0") != o.given("elo1"):
		return usage("--elo0 and --elo1 belong together: give both")
	case o.rated && o.output != formatTable:
		return usage("--ratings prints a table: --format json has statistics and head_to_head")
	case o.list == "standings" && o.output != formatCSV:
		return usage("--list standings selects the rows of --format csv: set this format")
	case o.Legs == 0: // simulation.Options takes 0 for the default
		return usage("--legs 0: must be 1 or more")
	case o.Concurrency == 0: // likewise
		return usage("--concurrency 0: must be from 1 to 10,000")
	case len(o.Strategies) == 0 && o.entrants == "":
		return usage("--strategies is empty: name at least one strategy, such as random or even,odd")
	}
	if err := o.invite(); err != nil {
		return err
	}
	players, openings := o.Players, o.Openings
	if o.resume && !o.given("players") {
		o.Players = 0 // the journal has it
	}
	if o.resume {
		o.Openings = 0 // likewise, with the legs to which they belong
	}
	if _, err := o.leagueSettings.complete(files, &o.Rules); err != nil {
		return err
	}
	o.Players, o.Openings = players, openings
	o.limitConcurrency(runtime.GOMAXPROCS(0))
	o.StopWithin = stopPatience
	given := o.Options
	if o.resume {
		given.GameType, given.Tournament = "", nil // the journal has them
	}
	return asUsage(given.Validate())
}

// limitConcurrency reduces the number of matches at once to that of the processors, if the players need them and the
// user has not set it.
func (o *simulateOptions) limitConcurrency(processors int) {
	if !o.given("concurrency") && (o.userGame != nil || computing(o.tried())) {
		o.Concurrency = min(o.Concurrency, processors)
	}
}

// interrupted says how to continue the league.
func (o *simulateOptions) interrupted() error {
	switch {
	case o.External != nil:
		return interrupted("A league with external players cannot be resumed; start a new one.")
	case o.Files != nil && o.data != "":
		state, entrants := o.Files.State, ""
		if o.entrants != "" {
			entrants = " --entrants " + o.entrants
		}
		return interrupted("%d of %s%d matches were recorded. Resume with: evenodd simulate --data %s --league-id %s%s%s "+
			"--resume", state.Recorded, atMost(state.AtMost()), state.TotalMatches(), o.data, o.LeagueID, entrants,
			o.toResume(state.Created))
	}
	return interrupted("Run it again with --seed %d for the same league.", o.Seed)
}

// play runs the league, shows its progress, and prints the time that it took.
func (o *simulateOptions) play(ctx context.Context, s streams) (*simulation.Result, error) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		// what a match needs is garbage soon, the result of a league is not
		defer debug.SetGCPercent(debug.SetGCPercent(800))
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(352 << 20))
	}
	progress, stop := s.showProgress("matches")
	if progress != nil {
		o.Progress = progress
	}
	var head manager.SignedHead
	o.Sealed = func(h manager.SignedHead) { head = h }
	start := time.Now()
	result, err := simulation.Run(ctx, o.Options)
	stop()
	if err == nil && ctx.Err() == nil {
		took := time.Since(start)
		s.note("%s in %s, %.0f matches/s", words.Counted(result.State.Recorded, "match"),
			took.Round(time.Millisecond), float64(result.State.Recorded)/took.Seconds())
		noteModels(s, result)
		noteDisk(s, result.Disk)
		printHead(s.err, head)
	}
	return result, err
}

// noteDisk tells of the faults of a disk; nil for none.
func noteDisk(s streams, d *memdisk.Disk) {
	if d == nil {
		return
	}
	var kinds []string
	injected := d.Injected()
	for _, kind := range slices.Sorted(maps.Keys(injected)) {
		kinds = append(kinds, words.Counted(injected[kind], kind))
	}
	if len(kinds) > 0 {
		s.note("Faults of the disk: %s; its slow syncs took %s of its own time", strings.Join(kinds, ", "),
			d.Slept().Round(time.Millisecond))
	}
}

// openFiles opens the files of the league in the data folder. The league must exist
// if and only if --resume is given.
func (o *simulateOptions) openFiles(s streams) (*manager.Files, error) {
	missing := usage("there is no league %s to resume in %s", o.LeagueID, o.data)
	switch {
	case o.resume && o.data == "":
		return nil, usage("--resume needs the folder of the interrupted league: set --data")
	case o.resume && o.newLeague:
		return nil, usage("--resume continues a league, --new-league starts another: give one of them")
	case o.resume:
		if _, err := os.Stat(store.In(o.data).Journal(o.LeagueID)); errors.Is(err, fs.ErrNotExist) {
			return nil, missing
		}
	}
	folder := o.data
	if folder == "" && !o.newLeague {
		folder = o.folder
	}
	stored, err := openFiles(s, folder, o.LeagueID, o.newLeague, nil)
	if stored == nil || err != nil {
		return nil, err
	}
	exists := stored.State.Created != nil
	if exists && o.resume {
		if err := o.contradictions(stored.State.Created); err != nil {
			return nil, errors.Join(err, stored.Close())
		}
	}
	if exists == o.resume {
		return stored, nil
	}
	if exists {
		missing = usage("league %s exists in %s already: --resume continues it, --new-league starts another", o.LeagueID,
			o.data)
	}
	return nil, errors.Join(missing, stored.Close())
}
