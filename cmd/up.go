package cmd

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/cmd/supervise"
	"evenodd/config"
	"evenodd/player/strategy/external"
)

type upOptions struct {
	entrants string // path of the file
	referees int
	data     string
	host     string
	ports    ports
	settings string // path of the settings file; "" for none
	game     string // that the manager gets, too, like the next
	leagueID string
	force    bool
	tools    external.Tools // of the players

	passed map[string][]string // flags that processes of a role get as they were given
}

// managerFlags and playerFlags are the flags of evenodd up that all managers and players
// have.
func managerFlags() []string {
	return strings.Fields("base-path game league-id legs new-league pace rounds seeding strict tournament")
}

func playerFlags() []string { return strings.Fields("bot-timeout exec-env exec-sandbox fallback") }

func newUp(s streams, data *dataFolder) *cobra.Command {
	o := &upOptions{ports: ports{8000, 8000}, passed: map[string][]string{}}
	c := &cobra.Command{
		Use:   "up --entrants FILE",
		Short: "Run a whole league as processes, from a file of players",
		Long: `Start a manager, referees and the players of a file as processes on this
machine, and print the final table when the league is over. Interrupt the
command to stop all processes; run it again to resume the league. A process that
dies is started again (docs/running-a-league.md).

docs/entrants.md describes the file. It runs programs: use only files that you
trust. An agent with a url runs elsewhere: let it register with the manager at
the URL that this command prints; --host is then the address of this machine.`,
		Example: examples(
			"Run the players of a file", "evenodd up --entrants class.yaml",
			"Start again with a new league", "evenodd up --entrants class.yaml --new-league",
			"Pause 10 seconds before each round", "evenodd up --entrants class.yaml --pace 10s",
		),
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f := c.Flag("config"); f != nil {
				o.settings = f.Value.String()
			}
			o.game, o.leagueID = c.Flag("game").Value.String(), c.Flag("league-id").Value.String()
			for role, names := range map[string][]string{"manager": managerFlags(), "player": playerFlags()} {
				o.passed[role] = givenFlags(c.Flags(), names)
			}
			return runUp(c.Context(), s, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.entrants, "entrants", "", "`file` with the players")
	f.IntVar(&o.referees, "referees", 2, "referees to start")
	dataFlag(f, &o.data, defaultData)
	f.StringVar(&o.host, "host", "localhost", "`address` on which all processes listen")
	f.Var(&o.ports, "port", "port of the manager: a number, a range (the first free one), or 0 (any free one)")
	for _, name := range managerFlags() {
		f.AddFlag(newManager(s, data).Flags().Lookup(name))
	}
	forceFlag(f, &o.force)
	var players pflag.FlagSet
	botFlags(&players, &o.tools, new(string))
	for _, name := range playerFlags() {
		f.AddFlag(players.Lookup(name))
	}
	return c
}

// givenFlags returns those of the flags that have a value from the user, as arguments.
func givenFlags(f *pflag.FlagSet, names []string) (args []string) {
	for _, name := range names {
		flag := f.Lookup(name)
		if !flag.Changed {
			continue
		}
		value := flag.Value.String()
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		args = append(args, "--"+name+"="+value)
	}
	return args
}

// complete checks the options and makes their paths absolute, because processes start in
// other folders.
func (o *upOptions) complete() ([]config.Entrant, error) {
	ip := net.ParseIP(o.host)
	switch {
	case o.entrants == "":
		return nil, usage("evenodd up needs --entrants, a file with the players")
	case o.referees < 1:
		return nil, usage("--referees %d: a league needs at least one", o.referees)
	case o.data == "":
		return nil, usage("--data must name a folder: a process that dies resumes from it")
	case o.host == "" || ip != nil && ip.IsUnspecified():
		return nil, usage("--host %q: must be one address, which the processes and all other agents can reach, such as "+
			"localhost or that of this machine", o.host)
	}
	entrants, err := loadEntrants(o.entrants, external.Tools{Hosted: true}, o.game)
	if err != nil {
		return nil, err
	}
	if len(entrants) < 2 {
		return nil, usage("%s: a league needs at least 2 players", o.entrants)
	}
	if o.settings == "" {
		o.settings = os.Getenv("EVENODD_CONFIG")
	}
	for _, path := range []*string{&o.data, &o.settings} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, err
		}
	}
	return entrants, nil
}

// superviseSelf makes a process that evenodd up started end when that ends: its standard
// input is a pipe from it. If the process does not end in order, it ends at once some time
// later.
func superviseSelf(ctx context.Context) context.Context {
	ctx = supervise.UntilEnd(ctx, os.Stdin)
	context.AfterFunc(ctx, func() { time.AfterFunc(upPatience, func() { os.Exit(exitInterrupted) }) })
	return ctx
}

// Times of evenodd up.
const (
	upPatience = stopPatience + 2*shutdownPatience // for a process that is told to stop
	upFarewell = 5 * time.Second                   // for agents to end when the league is over
)

// upPolicy says when a process that has died is started again.
func upPolicy() supervise.Policy {
	return supervise.Policy{First: 500 * time.Millisecond, Longest: 10 * time.Second, Most: 5, Window: time.Minute}
}

func runUp(ctx context.Context, s streams, o *upOptions) error {
	entrants, err := o.complete()
	if err != nil {
		return err
	}
	if err := o.try(ctx, entrants); err != nil {
		return err
	}
	g, err := newUpGroup(s, o, entrants)
	if err != nil {
		return err
	}
	table, err := g.run(ctx)
	if _, failed := s.out.Write([]byte(table)); failed != nil {
		return fmt.Errorf("cannot print the final table: %w", failed)
	}
	return err
}
