package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/cmd/supervise"
	"evenodd/config"
	"evenodd/league"
	"evenodd/league/store"
	"evenodd/player/strategy/external"
)

type upOptions struct {
	managerOptions // of the league

	entrants string // path of the file; "" for none
	force    bool
	tools    external.Tools // of the players
	program  string         // of the game, as --game names it; "" for a game of this program

	shows bool // a terminal shows the league
	asks  bool // Enter starts it

	shares []int               // matches at once of each referee; nil or 0 for the usual number
	passed map[string][]string // flags that processes of a role get as they were given
}

func newUp(s streams, data *dataFolder) *cobra.Command {
	o := &upOptions{}
	var league, bots, players, agents pflag.FlagSet
	c := &cobra.Command{
		Use:   "up",
		Short: "Open a league: manager, referees, page, and players of a file",
		Long: `Start a manager, referees and the players of a file on this machine, and print the final table when the
league is over. Without --entrants, and with --players, --roster or a time, agents may join from elsewhere.
Flags of 'evenodd manager' mean the same here. On a terminal it shows the league, Enter starts it, and its page stays
until Ctrl-C.

Interrupt the command to stop all agents; run it again to resume the league. The agents run in a process of their own;
an agent that fails, and a process that dies, begins again.

docs/leagues.md describes this and the file. The file runs programs: use only files that you trust. An agent with a url
runs elsewhere: let it register with the manager at the URL that this command prints.`,
		Example: examples(
			"Open a league for other computers", "evenodd up --host 0.0.0.0",
			"Open it for the agents of a roster", "evenodd up --host 0.0.0.0 --roster class.csv",
			"Run the players of a file, and pause before each round", "evenodd up --entrants class.yaml --pace 10s",
			"Start again with a new league", "evenodd up --entrants class.yaml --new-league",
		),
		RunE: func(c *cobra.Command, _ []string) error {
			o.version, o.admission.given = c.Root().Version, data.given
			if o.data != "" {
				var err error
				if o.data, err = filepath.Abs(o.data); err != nil {
					return err
				}
			}
			if s.child {
				return runUpChild(c.Context(), s, data, o)
			}
			shared := givenFlags(&agents)
			// this command makes the values of these flags of a manager from its own
			own := strings.Fields("data exit-when-done host no-http players port referees roster tls-ca")
			o.passed = map[string][]string{"manager": givenFlags(&league, own...), "referee": shared,
				"player": append(givenFlags(&players), shared...)}
			return runUp(c.Context(), s, data, o)
		},
	}
	o.commonFlags(&league)
	replaceFlag(&league, "referees", "2", fmt.Sprintf("referees to start, 1 to %d", mostReferees))
	replaceFlag(&league, "players", "0", "players that start the league when they have registered, 2 to 10,000 (default: "+
		"those of --entrants; without a file 4, or on a terminal when you press Enter)")
	league.Lookup("no-http").Usage = "with --nats: referees and players open no port"
	for _, name := range strings.Fields("log-level nats nats-creds nats-ca no-http") {
		agents.AddFlag(league.Lookup(name))
	}
	botFlags(&bots, &o.tools, new(string))
	for _, name := range strings.Fields("bot-timeout exec-cpu exec-env exec-memory exec-sandbox fallback") {
		players.AddFlag(bots.Lookup(name))
	}
	f := c.Flags()
	f.StringVar(&o.entrants, "entrants", "", "`file` with players to start")
	forceFlag(f, &o.force)
	f.AddFlagSet(&players)
	f.AddFlagSet(&league)
	return c
}

// replaceFlag gives a flag another default and text.
func replaceFlag(f *pflag.FlagSet, name, usual, about string) {
	flag := f.Lookup(name)
	flag.DefValue, flag.Usage = usual, about
	_ = flag.Value.Set(usual) // it is a number
}

// givenFlags returns the flags that have a value from the user or from a file, as arguments.
func givenFlags(f *pflag.FlagSet, except ...string) (args []string) {
	f.VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed || slices.Contains(except, flag.Name) {
			return
		}
		value := flag.Value.String()
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			value = config.JoinList(list.GetSlice())
		}
		args = append(args, "--"+flag.Name+"="+value)
	})
	return args
}

// prepare checks the options, and reads the entrants.
func (o *upOptions) prepare() (entrants []config.Entrant, err error) {
	switch {
	case o.Referees < 1 || o.Referees > mostReferees:
		return nil, usage("--referees %d: must be from 1 to %d", o.Referees, mostReferees)
	case o.data == "":
		return nil, usage("--data must name a folder: an agent that fails resumes from it")
	}
	if o.entrants != "" {
		if entrants, err = loadEntrants(o.entrants, external.Tools{Hosted: true}, o.GameType); err != nil {
			return nil, err
		}
	}
	switch n := len(entrants); {
	case n < 2 && !o.open(n):
		return nil, usage("%s: a league needs at least 2 players; with --players or --roster others may join", o.entrants)
	case o.admission.given["players"] && o.Players > 0 && o.Players < n:
		return nil, usage("--players %d: %s has %d", o.Players, o.entrants, n)
	}
	return entrants, nil
}

// open tells whether other agents than those of the file may register.
func (o *upOptions) open(entrants int) bool {
	return entrants == 0 || o.admission.any() || o.admission.given["players"] && o.Players != entrants
}

// whoMayJoin says who can register from elsewhere; "" if nobody may.
func (o *upOptions) whoMayJoin(entrants int) string {
	switch {
	case !o.open(entrants):
		return ""
	case loopback(o.address.host) && !o.nats.on():
		return "Only this computer can join; --host 0.0.0.0 opens it."
	case o.admission.roster == "":
		return "Anybody who reaches this computer may join, and take any name; with --roster, only the names of a list."
	}
	return ""
}

// start returns the flags by which the manager knows when the league starts.
func (o *upOptions) start(entrants int) []string {
	switch given := o.admission.given["players"]; {
	case given:
		entrants = o.Players
	case o.admission.any() || entrants == 0 && !o.asks:
		return nil // as the manager decides
	}
	return []string{"--players=" + strconv.Itoa(entrants)}
}

// mostReferees is the largest number of referees, because all are in one process.
const mostReferees = 100

// Times of evenodd up.
const (
	upPatience = stopPatience + 2*shutdownPatience // for the child that is told to stop
	upFarewell = 5 * time.Second                   // for agents to end when the league is over
)

// upPolicy says when an agent that has failed, or a child that has died, is started again.
func upPolicy() supervise.Policy {
	return supervise.Policy{First: 500 * time.Millisecond, Longest: 10 * time.Second, Most: 5, Window: time.Minute}
}

// openGame starts the program of the game, if one is named, to check it and the players. The caller must close the game
// before the agents open it again.
func (o *upOptions) openGame(ctx context.Context, files *config.Loader) (*userGame, error) {
	given := o.GameType
	own, err := openGame(ctx, nil, &o.GameType, &o.tools.Programs, zerolog.Nop())
	if err != nil {
		return nil, err
	}
	if o.userGame = own; own != nil {
		o.program = given
	}
	own.addTo(files)
	o.tools.Games = own.games()
	return own, nil
}

func runUp(ctx context.Context, s streams, data *dataFolder, o *upOptions) error {
	own, err := o.openGame(ctx, data.loader)
	if err != nil {
		return err
	}
	defer own.close()
	entrants, err := o.prepare()
	if err != nil {
		return err
	}
	o.shows = isTerminal(s.out) && isTerminal(s.err)
	o.asks = o.shows && o.open(len(entrants)) && isTerminal(os.Stdin)
	if text := o.whoMayJoin(len(entrants)); text != "" {
		s.note("%s", text)
	}
	if err := o.try(ctx, data.loader, entrants); err != nil {
		return err
	}
	if computing(o.own(entrants)) {
		o.shares = data.shares(o.Referees, runtime.GOMAXPROCS(0))
	}
	p := &upParent{upOptions: o, streams: s, opened: make(chan struct{})}
	if o.shows {
		if p.screen = pin(s.err); p.screen != nil {
			p.err = p.screen
		}
	}
	p.plan = upPlan{LeagueID: o.LeagueID, Shows: o.shows, Brief: isTerminal(s.err)}
	var roster []byte
	if p.plan.Agents, roster, err = o.plan(entrants); err != nil {
		return err
	}
	own.close()
	table, err := p.run(ctx, roster)
	for _, m := range store.In(o.data).Models(o.LeagueID) {
		s.note("%s (%s): %s", league.Ref{ID: m.PlayerID, Name: m.DisplayName}, m.Name, m.Words())
	}
	if _, failed := s.out.Write([]byte(table)); failed != nil {
		return fmt.Errorf("cannot print the final table: %w", failed)
	}
	return err
}

// stays tells whether the page remains when the league is over.
func (o *upOptions) stays() bool { return o.shows && o.page && !o.exitWhenDone }
