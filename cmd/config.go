package cmd

import (
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/config"
)

// newConfig makes 'evenodd config', which shows settings with their sources.
func newConfig(s streams, file *string, flags map[string]*pflag.FlagSet) *cobra.Command {
	format, data := formatTable, ""
	commands := slices.Sorted(maps.Keys(flags))
	c := &cobra.Command{
		Use:   "config [COMMAND]",
		Short: "Show the current settings and their sources",
		Long: `Show every setting of one command or of all, with its value and its source: the environment, the
file --config, a file of the data folder, or the built-in default.`,
		Example: examples(
			"Show the settings of all commands", "evenodd config",
			"Show where a setting comes from", "EVENODD_PLAYERS=8 evenodd config simulate",
			"For scripts", "evenodd config player --format json",
		),
		ValidArgs: commands,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = commands
			}
			if c.Flags().Changed("data") {
				for _, name := range args {
					_ = flags[name].Set("data", data) // any text is a folder
				}
			}
			return showConfig(s, *file, format, args, flags)
		},
	}
	choiceFlag(c.Flags(), &format, "format", formatTable, "output", formatTable, formatJSON)
	c.Flags().StringVar(&data, "data", data, "data `folder` of the commands (default: the default of each)")
	return c
}

func showConfig(s streams, file, format string, commands []string, flags map[string]*pflag.FlagSet) error {
	settings, err := config.Load(file, func() map[string]*pflag.FlagSet { return flags })
	if err != nil {
		return asUsage(err)
	}
	type section struct {
		Command  string           `json:"command"`
		Settings []config.Setting `json:"settings"`
	}
	shown := struct {
		SchemaVersion string    `json:"schema_version"`
		Commands      []section `json:"commands"`
	}{SchemaVersion: outputSchema}
	for _, name := range commands {
		in, err := (&dataFolder{clock: s.time().Now}).resolve(settings, name, flags[name])
		if err != nil {
			return asUsage(err)
		}
		shown.Commands = append(shown.Commands, section{name, in})
	}
	return show(s.out, format, shown, func(w io.Writer) error {
		var rows [][]any
		for _, c := range shown.Commands {
			for _, one := range c.Settings {
				rows = append(rows, []any{c.Command, one.Name, one.Value, one.Source})
			}
		}
		return printTable(w, []string{"Command", "Setting", "Value", "From"}, rows)
	})
}
