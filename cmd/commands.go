package cmd

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/config"
)

// commands are the commands of the program, each made when it is needed.
type commands struct {
	streams
	file     *string // the flag --config
	data     *dataFolder
	makers   []maker
	made     map[string]*cobra.Command
	ofLeague *pflag.FlagSet // the settings of evenodd league
}

// A maker makes a command.
type maker struct {
	name         string
	make         func() *cobra.Command
	configurable bool // its flags are settings
}

func newCommands(s streams, file *string) *commands {
	all := &commands{streams: s, file: file, data: &dataFolder{clock: s.time().Now}, made: map[string]*cobra.Command{}}
	plain := func(create func(streams) *cobra.Command) func() *cobra.Command {
		return func() *cobra.Command { return create(s) }
	}
	configurable := func(create func(streams, *dataFolder) *cobra.Command) func() *cobra.Command {
		return func() *cobra.Command { return all.withSettings(create(s, all.data)) }
	}
	all.makers = []maker{
		{"manager", configurable(newManager), true},
		{"referee", configurable(newReferee), true},
		{"player", configurable(newPlayer), true},
		{"simulate", configurable(newSimulate), true},
		{"mcp", configurable(newMCP), true},
		{"up", configurable(newUp), true},
		{"play", configurable(newPlay), true},
		{"league", all.newLeague, true},
		{"config", func() *cobra.Command { return newConfig(s, file, all.settings()) }, false},
		{"init", plain(newInit), false},
		{"audit", plain(newAudit), false},
		{"replay", plain(newReplay), false},
		{"report", plain(newReport), false},
		{"ratings", plain(newRatings), false},
		{"serve", plain(newServe), false},
		{"check", plain(newCheck), false},
		{"schema", plain(newSchema), false},
		{"version", plain(newVersion), false},
		{"man", plain(newMan), false},
		{"new", plain(newNew), false},
		{"health", plain(newHealth), false},
	}
	return all
}

// called returns the command that a command line calls, or all: the help and the manual tell of all, and cobra suggests
// one for a misspelt name.
func (all *commands) called(args []string) []*cobra.Command {
	if len(args) == 1 && args[0] == "--version" {
		return nil
	}
	if len(args) > 0 && args[0] != "man" {
		for _, m := range all.makers {
			if m.name == args[0] {
				return []*cobra.Command{all.command(m)}
			}
		}
	}
	var made []*cobra.Command
	for _, m := range all.makers {
		made = append(made, all.command(m))
	}
	return made
}

// command makes a command, at most once.
func (all *commands) command(m maker) *cobra.Command {
	if all.made[m.name] == nil {
		all.made[m.name] = m.make()
	}
	return all.made[m.name]
}

// settings are the flags of the commands that have settings, by the name of the command.
func (all *commands) settings() map[string]*pflag.FlagSet {
	flags := map[string]*pflag.FlagSet{}
	for _, m := range all.makers {
		if m.configurable {
			flags[m.name] = all.command(m).Flags()
		}
	}
	flags["league"] = all.ofLeague
	return flags
}

// withSettings makes a command read its flags from the environment, the settings file and the data folder too.
func (all *commands) withSettings(c *cobra.Command) *cobra.Command {
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if err := all.resolve(c.Name(), c.Flags()); err != nil {
			return err
		}
		all.data.loader.OnUnknown(func(member string) { all.note(unknownSetting, member) })
		return nil
	}
	return c
}

func (all *commands) newLeague() (c *cobra.Command) {
	c, all.ofLeague = newLeague(all.streams, all.data, all.resolve)
	return c
}

// resolve sets the flags of a command that the command line does not have.
func (all *commands) resolve(command string, flags *pflag.FlagSet) error {
	for _, name := range config.UnknownVariables(os.Environ(), all.settings, secretVariables()...) {
		all.note(unknownSetting, name)
	}
	settings, err := config.Load(*all.file, all.settings)
	if err == nil {
		_, err = all.data.resolve(settings, command, flags)
	}
	return asUsage(err)
}
