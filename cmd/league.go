package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/league/inspect/audit"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// organiser is a command of the group 'evenodd league' with the flags that all of them share.
type organiser struct {
	streams

	data     string
	leagueID string
	manager  string
	ca       string
	by       string
	format   string

	secretFile string

	remote bool // the user has named the manager
}

// newLeague makes 'evenodd league', the commands for the organiser of a league. Resolve sets the
// flags from the environment and from files.
func newLeague(s streams, data *dataFolder, resolve func(command string, f *pflag.FlagSet) error) *cobra.Command {
	o := &organiser{streams: s}
	c := &cobra.Command{
		Use:   "league",
		Short: "Observe and control a league as its organiser",
		Long: `Observe and control a league. The commands need the manager's data folder (--data), or on another machine the
manager's URL (--manager) and the admin token, which 'evenodd league token' prints, in EVENODD_ADMIN_TOKEN.

The commands that only read need no running manager if they have the data folder. Each decision is an event in the
league's journal, with its time, author (--by, not verified) and reason, and stays in force when the manager restarts.`,
		Example: examples(
			"Watch the league on this machine", "evenodd league status --watch",
			"Pause it", "evenodd league pause --by 'A. Smith' --reason lunch",
			"Ask a manager on another machine", "EVENODD_ADMIN_TOKEN=… evenodd league status --manager https://host:8000/mcp",
		),
	}
	c.PersistentPreRunE = func(called *cobra.Command, _ []string) error {
		if err := called.Root().PersistentPreRunE(called, nil); err != nil { // cobra calls only one function
			return err
		}
		err := resolve(c.Name(), c.PersistentFlags())
		o.remote = data.given["manager"]
		return err
	}
	f := c.PersistentFlags()
	f.StringVar(&o.data, "data", defaultData, "data `folder` of the manager")
	f.StringVar(&o.leagueID, "league-id", "", "the league (default: that of the manager, or in the data folder the running one; to "+
		"read, else that with the newest entry)")
	f.StringVar(&o.manager, "manager", "", "`URL` of the manager (default: from the data folder, or "+
		"http://localhost:8000/mcp); HTTPS unless it is on this machine")
	tlsCAFlag(f, &o.ca)
	secretFileFlag(f, &o.secretFile)
	f.StringVar(&o.by, "by", "", "your `name`, for the record (default: your login name)")
	formatFlag(f, &o.format)
	c.AddCommand(newLeagueStatus(o), newLeagueStandings(o), newLeagueSchedule(o), newLeagueExport(o),
		newLeagueLogs(o), newLeagueList(o), newLeagueCodes(o), newLeagueToken(o))
	for _, row := range protocol.Commands {
		c.AddCommand(newDecision(o, row))
	}
	return c
}

// folder returns the data folder, which has leagues.
func (o *organiser) folder() (store.Folder, error) {
	if o.data == "" {
		return "", errors.New("set --data to the manager's data folder, or --manager to its URL")
	}
	dir := store.Folder(o.data)
	if _, err := audit.Leagues(dir); err != nil {
		return "", fmt.Errorf("%w, or set --manager to the manager's URL", err)
	}
	return dir, nil
}

// chosen returns the data folder, and completes the id of the league to read.
func (o *organiser) chosen() (store.Folder, error) {
	dir, err := o.folder()
	if err == nil {
		o.leagueID, err = o.chooseLeague(dir, o.leagueID, false)
	}
	return dir, err
}
