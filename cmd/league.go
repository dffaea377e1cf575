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

// A leagueCommand is a command of the group 'evenodd league' with the flags that all of them share.
type leagueCommand struct {
	streams

	data     string
	leagueID string
	manager  string
	ca       string
	by       string
	format   string

	secretFile string

	remote     bool // the user has named the manager
	namesData  bool // --data is on the command line
	namesAgent bool // --id is on the command line

	// the flags of some subjects
	id, playerID, round, roster string
	follow                      bool
}

// newLeague makes 'evenodd league', the commands for the organiser of a league and, in part, for its agents, and
// returns their settings. Resolve sets the settings from the environment and from files.
func newLeague(s streams, data *dataFolder, resolve func(command string, f *pflag.FlagSet) error) (*cobra.Command,
	*pflag.FlagSet) {
	o := &leagueCommand{streams: s}
	c := &cobra.Command{
		Use:        "league",
		SuggestFor: []string{"query"}, // its former name for agents
		Short:      "Observe and control a league",
		Long: `Observe and control a league. The commands need the manager's data folder (--data), or on another machine the
manager's URL (--manager) and the admin token, which 'evenodd league token' prints, in EVENODD_ADMIN_TOKEN.

An agent may see status, standings, schedule, next-match and stats. Its token comes from EVENODD_TOKEN, or from the
folder --data of the agent, of which --id chooses one. A token in a folder is sent only to the manager that issued it.
With --format json an agent gets the data of the manager's response.

The commands that only read need no running manager if they have the data folder. Each decision is an event in the
league's journal, with its time, author (--by, not verified) and reason, and stays in force when the manager restarts.`,
		Example: examples(
			"Watch the league on this machine", "evenodd league status --watch",
			"Show the table to the player of this data folder", "evenodd league standings --id P01",
			"Pause it", "evenodd league pause --by 'A. Smith' --reason lunch",
			"Ask a manager on another machine", "EVENODD_ADMIN_TOKEN=… evenodd league status --manager https://host:8000/mcp",
		),
	}
	settings := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.PersistentPreRunE = func(called *cobra.Command, _ []string) error {
		if err := called.Root().PersistentPreRunE(called, nil); err != nil { // cobra calls only one function
			return err
		}
		o.namesData, o.namesAgent = called.Flags().Changed("data"), called.Flags().Changed("id")
		err := resolve(c.Name(), settings)
		o.remote = data.given["manager"]
		return err
	}
	f := c.PersistentFlags()
	f.StringVar(&o.data, "data", defaultData, "data `folder` of the manager, or of an agent")
	f.StringVar(&o.leagueID, "league-id", "", "the league (default: that of the manager, or in the data folder the running one; to "+
		"read, else that with the newest entry)")
	f.StringVar(&o.manager, "manager", "", "`address` of the manager, or of a page of its league (default: from the data "+
		"folder, or http://localhost:8000/mcp); HTTPS unless it is on this machine")
	tlsCAFlag(f, &o.ca)
	secretFileFlag(f, &o.secretFile)
	f.StringVar(&o.by, "by", "", "your `name`, for the record (default: your login name)")
	formatFlag(f, &o.format)
	settings.AddFlagSet(f)
	settings.StringVar(&o.id, "id", "", "ask as this agent, by its id or its name, with its token in the data folder")
	settings.StringVar(&o.playerID, "player-id", "", "the `agent` to tell about, by its id or its name (default: the one "+
		"that asks)")
	settings.StringVar(&o.round, "round", "", "only round `N` (default: all)")
	for _, about := range &subjects {
		c.AddCommand(newSubject(o, data, settings, about))
	}
	c.AddCommand(newLeagueExport(o), newLeagueLogs(o), newLeagueList(o), newLeagueCodes(o), newLeagueToken(o))
	for _, row := range protocol.Commands {
		c.AddCommand(newDecision(o, row))
	}
	return c, settings
}

// folder returns the data folder, which has leagues.
func (o *leagueCommand) folder() (store.Folder, error) {
	if o.data == "" {
		return store.Folder{}, errors.New("set --data to the manager's data folder, or --manager to its URL")
	}
	dir := store.In(o.data)
	if _, err := audit.Leagues(dir); err != nil {
		return store.Folder{}, fmt.Errorf("%w, or set --manager to the manager's URL", err)
	}
	return dir, nil
}

// chosen returns the data folder, and completes the id of the league to read.
func (o *leagueCommand) chosen() (store.Folder, error) {
	dir, err := o.folder()
	if err == nil {
		o.leagueID, err = o.chooseLeague(dir, o.leagueID, false)
	}
	return dir, err
}
