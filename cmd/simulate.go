package cmd

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/player/strategy/external"
)

type simulateOptions struct {
	simulation.Options
	data     string
	resume   bool
	fresh    bool // --new-league
	newSeed  bool // none was given
	format   string
	strict   bool
	quiet    bool
	logLevel string

	urls     []string // of players that run elsewhere
	many     bool     // --players was given
	meet     rendezvous
	wait     time.Duration
	patience time.Duration
	ca       string
}

func newSimulate(s streams, data *dataFolder) *cobra.Command {
	o := &simulateOptions{}
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Play a whole league in this process",
		Long: `Play a whole league in one process: manager, referees and players. The same seed
gives the same output, whatever the transport and the concurrency. Players get ids
in order and strategies in turn: ` + external.Names() + `.

exec:./bot runs a program of yours, once for each of its players, which reads a
question a line and answers with {"choice": "even"}. A question it does not answer
costs that match. Arguments go in single quotes: --strategies "exec:./bot 'a b'".

With --data the league is kept in a folder, as a real one is. One that was
interrupted goes on with --resume, by the game, seed, players, strategies and faults
that it began with; programs must be named again.

--faults makes things go wrong, by the seed, on the transports memory and wire, and
in no time: what is lost has missed its deadline at once.

  drop=0.02               of all messages: the request or the answer is lost
  delay=0.1               of all messages: they take up to twice the time they may
  duplicate=0.05          of all messages: they arrive twice
  garbage=0.01            of all messages: the answer cannot be read
  crash=P03@R2-R4         nobody listens at P03 from round 2; in round 4 it is back
  hang=P05                P05 never answers
  deny=P06@R2             P06 refuses every invitation, from round 2 on
  referee-crash=REF01@R3  REF01 dies of the first match it gets in round 3, or later

Those of agents may be given several times; without @ they hold from the first
round on. Warnings of what goes wrong need --log-level warn.

--player seats an agent that runs elsewhere, and may be given for each of several:
they are among --players, and take the first seats. Each is registered in its place;
one that registers by itself, as evenodd player does, finds its manager at --listen
and has --wait for it. Below the table stands why each match was lost technically,
and what in the answers was not as the protocol has it. Such a league takes real
time, and a seed does not make it the same again. An agent that is dead costs half a
minute a match, and one that never chooses two minutes, until it is suspended after
three; --patience 2s makes it less. Warnings need --log-level warn here, too.`,
		Example: "  evenodd simulate --players 4 --strategies random,contrarian --seed 7\n" +
			"  evenodd simulate --players 8 --seed 7 --faults drop=0.2,crash=P03@R2-R4 --strict\n" +
			"  evenodd simulate --player localhost:8101 --player localhost:8102 --players 4",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.newSeed = !c.Flags().Lookup("seed").Changed
			o.many, o.meet.given = c.Flags().Lookup("players").Changed, c.Flags().Lookup("listen").Changed
			if (o.Faults != "" || len(o.urls) > 0) && !c.Flags().Lookup("log-level").Changed {
				o.logLevel = "error" // warnings would tell of what was asked for
			}
			return runSimulate(c.Context(), s, data.loader, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.LeagueID, "league-id", defaultLeague, "identifier of the league")
	gameFlag(f, &o.GameType)
	dataFlag(f, &o.data, "")
	f.BoolVar(&o.resume, "resume", false, "go on with the league in the data folder")
	f.BoolVar(&o.fresh, "new-league", false, "begin a new league; the one in the data folder goes to its archive")
	f.IntVar(&o.Players, "players", usualPlayers, "number of players, 2 to 10,000")
	f.IntVar(&o.Referees, "referees", 2, "number of referees")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of everything that chance decides (default: a new one)")
	f.StringSliceVar(&o.Strategies, "strategies", []string{"random"}, "strategies, taken in turn by the players")
	botFlags(f, &o.Tools)
	f.IntVar(&o.Legs, "legs", 1, "how often each pair meets")
	f.StringVar(&o.Transport, "transport", simulation.Memory, "memory, wire or http")
	f.IntVar(&o.Concurrency, "concurrency", 16, "matches at once")
	f.StringVar(&o.Faults, "faults", "", "what goes wrong: `list` such as drop=0.02,delay=0.1,crash=P03@R2")
	f.StringSliceVar(&o.urls, "player", nil, "`URL` of a player that runs elsewhere, such as http://localhost:8101/mcp; may be repeated")
	f.StringVar(&o.meet.at, "listen", meetingPoint, "`host:port` where players that run elsewhere find the manager")
	f.DurationVar(&o.wait, "wait", 10*time.Second, "how long players that run elsewhere may take to listen, and to register by themselves")
	f.DurationVar(&o.patience, "patience", 0, "the most that an answer may take of a player that runs elsewhere (default: as the league's rules say)")
	tlsCAFlag(f, &o.ca)
	f.BoolVar(&o.strict, "strict", false, "exit code 3 when there are technical losses")
	f.StringVar(&o.format, "format", "table", "output: table, json or csv")
	f.BoolVar(&o.quiet, "quiet", false, "nothing on standard error but errors")
	f.StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn, error or disabled")
	return c
}

func runSimulate(ctx context.Context, s streams, files *config.Loader, o *simulateOptions) error {
	write, known := map[string]func(streams, *simulation.Result) error{
		"table": printSimulation, "json": writeJSON, "csv": writeCSV,
	}[o.format]
	if !known {
		return usage("--format %q: one of table, json, csv", o.format)
	}
	level := o.logLevel
	if o.quiet {
		level = "error"
	}
	file := openSystemLog(o.data, s.err)
	defer func() { _ = file.Close() }() // a log that cannot be written has said so
	log, err := newLogger(s.err, level, func() string { return "" }, file)
	if err != nil {
		return err
	}
	o.Log = log
	switch { // Options takes 0 for the default
	case o.Legs == 0:
		return usage("--legs 0: 1 to 100")
	case o.Concurrency == 0:
		return usage("--concurrency 0: 1 to 10,000")
	}
	o.Tools.LLM.Key = llmKey()
	if err := o.invite(); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return &usageError{err}
	}
	rules, _, err := leagueOptions(files, o.LeagueID, o.GameType, o.Players, o.Referees, o.Legs)
	if err != nil {
		return err
	}
	o.GameType, o.Games, o.Rules = rules.GameType, rules.Games, rules
	o.Rules.StopWithin = stopPatience
	if o.External != nil {
		leave, err := o.reach(ctx, s)
		if err != nil {
			return err
		}
		defer leave()
	}
	keep, err := o.openKeep(s)
	if err != nil {
		return err
	}
	defer closeKeep(s, keep)
	o.Files = keep
	if o.newSeed && !o.resume {
		o.Seed = rand.Uint64N(1 << 53) //nolint:gosec // a seed is no secret; every JSON reader keeps 53 bits
		if !o.quiet {
			_, _ = fmt.Fprintf(s.err, "Seed: %d\n", o.Seed)
		}
	}
	result, err := o.play(ctx, s)
	switch {
	case ctx.Err() != nil && o.External != nil:
		return &interruptedError{"Such a league cannot go on, because players that run elsewhere take part in it; play another."}
	case ctx.Err() != nil && keep != nil:
		return &interruptedError{fmt.Sprintf("%d of %d matches were recorded. Go on with: evenodd simulate --data %s --league-id %s --resume",
			keep.State.Recorded, keep.State.TotalMatches(), o.data, o.LeagueID)}
	case ctx.Err() != nil:
		return &interruptedError{fmt.Sprintf("Run it again with --seed %d for the same league.", o.Seed)}
	case err != nil:
		return err
	}
	if err := write(s, result); err != nil {
		return err
	}
	if o.strict {
		return technicalLosses(tableOf(result))
	}
	return nil
}

// play runs the league, and shows how far it is and how long it took.
func (o *simulateOptions) play(ctx context.Context, s streams) (*simulation.Result, error) {
	if os.Getenv("GOGC") == "" {
		// A league makes much short-lived garbage and keeps little: fewer
		// collections for some more memory.
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	if !o.quiet && isTerminal(s.err) {
		bar := progressbar.NewOptions(1, progressbar.OptionSetWriter(s.err),
			progressbar.OptionSetDescription("matches"), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		o.Progress = func(recorded, matches int) {
			bar.ChangeMax(matches)
			_ = bar.Set(recorded) // only a picture
		}
	}
	start := time.Now()
	result, err := simulation.Run(ctx, o.Options)
	if err == nil && ctx.Err() == nil && !o.quiet {
		took := time.Since(start)
		_, _ = fmt.Fprintf(s.err, "%d matches in %s, %.0f matches/s\n", len(result.Results),
			took.Round(time.Millisecond), float64(len(result.Results))/took.Seconds())
	}
	return result, err
}

// A lossesError says that players lost technically where nobody should: exit
// code 3.
type lossesError struct {
	total   int
	players []string // each with how often
}

func (e *lossesError) Error() string {
	losses := "technical losses"
	if e.total == 1 {
		losses = "technical loss"
	}
	return fmt.Sprintf("%d %s: %s", e.total, losses, strings.Join(e.players, ", "))
}

// technicalLosses is an error when there were any.
func technicalLosses(standings []league.Standing) error {
	e := &lossesError{}
	rows := slices.Clone(standings)
	slices.SortFunc(rows, func(a, b league.Standing) int { return protocol.CompareIDs(a.PlayerID, b.PlayerID) })
	for _, row := range rows {
		if n := row.TechnicalLosses; n > 0 {
			e.total += n
			e.players = append(e.players, fmt.Sprintf("%s %d", row.PlayerID, n))
		}
	}
	if e.total == 0 {
		return nil
	}
	return e
}

// openKeep opens the data folder, in which a league is where --resume says so,
// and none where it does not.
func (o *simulateOptions) openKeep(s streams) (*league.Files, error) {
	switch {
	case o.resume && o.data == "":
		return nil, usage("--resume goes on with the league in a folder: name it with --data")
	case o.resume && o.fresh:
		return nil, usage("--resume goes on with a league, and --new-league begins another: not both")
	case o.resume:
		if _, err := os.Stat(store.Folder(o.data).Journal(o.LeagueID)); errors.Is(err, fs.ErrNotExist) {
			return nil, usage("there is no league %s in %s to go on with", o.LeagueID, o.data)
		}
	}
	keep, err := openKeep(s, o.data, o.LeagueID, o.fresh)
	if keep == nil || err != nil {
		return nil, err
	}
	switch is := keep.State.Created != nil; {
	case is && !o.resume:
		err = usage("there is a league %s in %s already: --resume goes on with it, --new-league begins another", o.LeagueID, o.data)
	case !is && o.resume:
		err = usage("there is no league %s in %s to go on with", o.LeagueID, o.data)
	}
	if err != nil {
		closeKeep(s, keep)
		return nil, err
	}
	return keep, nil
}

func printSimulation(s streams, r *simulation.Result) error {
	strategies := map[string]string{}
	for _, row := range r.Standings {
		strategies[row.PlayerID] = row.Strategy
	}
	if err := printStandings(s, tableOf(r), strategies); err != nil {
		return err
	}
	return printOutside(s.out, r)
}

// tableOf is the table without the strategies.
func tableOf(r *simulation.Result) []league.Standing {
	rows := make([]league.Standing, len(r.Standings))
	for i, row := range r.Standings {
		rows[i] = row.Standing
	}
	return rows
}

// The contract of --format json.
type (
	simulationJSON struct {
		SchemaVersion string            `json:"schema_version"`
		LeagueID      string            `json:"league_id"`
		GameType      string            `json:"game_type"`
		Seed          uint64            `json:"seed"`
		Faults        string            `json:"faults,omitzero"`
		Players       int               `json:"players"`
		Rounds        int               `json:"rounds"`
		Matches       int               `json:"matches"`
		Champion      protocol.Champion `json:"champion"`
		Standings     []standingJSON    `json:"standings"`
		Results       []resultJSON      `json:"results"`
		Losses        []lossJSON        `json:"losses,omitzero"`   // technical, in a league with players from outside
		Breaches      []breachJSON      `json:"breaches,omitzero"` // of the protocol, in such a league
	}
	standingJSON struct {
		Rank            int    `json:"rank"`
		PlayerID        string `json:"player_id"`
		DisplayName     string `json:"display_name"`
		Strategy        string `json:"strategy"`
		Played          int    `json:"played"`
		Wins            int    `json:"wins"`
		Draws           int    `json:"draws"`
		Losses          int    `json:"losses"`
		TechnicalLosses int    `json:"technical_losses"`
		Points          int    `json:"points"`
		Endpoint        string `json:"endpoint,omitzero"` // of a player from outside
	}
	resultJSON struct {
		MatchID        string                      `json:"match_id"`
		RoundID        int                         `json:"round_id"`
		PlayerAID      string                      `json:"player_A_id"`
		PlayerBID      string                      `json:"player_B_id"`
		Status         string                      `json:"status"`
		WinnerPlayerID *string                     `json:"winner_player_id"`
		DrawnNumber    *int                        `json:"drawn_number"`
		Choices        protocol.PerPlayer[*string] `json:"choices"`
		Reason         string                      `json:"reason"`
		Faults         protocol.PerPlayer[string]  `json:"faults,omitzero"`
	}
)

func writeJSON(s streams, r *simulation.Result) error {
	document := simulationJSON{
		SchemaVersion: "1.0.0", LeagueID: r.LeagueID, GameType: r.GameType, Seed: r.Seed,
		Faults: r.Faults, Players: r.Players, Rounds: r.Rounds, Matches: len(r.Results), Champion: r.Champion,
	}
	for _, row := range r.Standings {
		document.Standings = append(document.Standings, standingJSON{
			row.Rank, row.PlayerID, row.DisplayName, row.Strategy, row.Played,
			row.Wins, row.Draws, row.Losses, row.TechnicalLosses, row.Points, row.Endpoint,
		})
	}
	for _, m := range r.Results {
		one := resultJSON{
			MatchID: m.MatchID, RoundID: m.RoundID, PlayerAID: m.PlayerA, PlayerBID: m.PlayerB,
			Status: m.Status, WinnerPlayerID: orNull(m.Winner), Reason: m.Reason, Faults: m.Faults,
			Choices: protocol.Both(m.PlayerA, orNull(m.ChoiceA), m.PlayerB, orNull(m.ChoiceB)),
		}
		if m.Number > 0 {
			one.DrawnNumber = &m.Number
		}
		document.Results = append(document.Results, one)
	}
	document.Losses, document.Breaches = outsideJSON(r)
	return printJSON(s.out, document)
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func writeCSV(s streams, r *simulation.Result) error {
	w := csv.NewWriter(s.out)
	rows := make([][]string, 0, len(r.Results)+1)
	rows = append(rows, []string{
		"match_id", "round_id", "player_A_id", "player_B_id", "status", "winner_player_id",
		"drawn_number", "choice_A", "choice_B", "reason",
	})
	for _, m := range r.Results {
		number := ""
		if m.Number > 0 {
			number = strconv.Itoa(m.Number)
		}
		rows = append(rows, []string{
			m.MatchID, strconv.Itoa(m.RoundID), m.PlayerA, m.PlayerB, m.Status, m.Winner,
			number, m.ChoiceA, m.ChoiceB, m.Reason,
		})
	}
	return w.WriteAll(rows)
}
