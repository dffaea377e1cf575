package cmd

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"evenodd/config"
)

// newInit makes 'evenodd init', which writes the files of the configuration layer.
func newInit(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write the configuration files of a data folder",
		Long: `Write the configuration files of a data folder (default ` + defaultData + `) with the
built-in values: settings of all agents, presets of agents, rules of the league,
games, and defaults of referees and players. Existing files stay unchanged. The
program uses the same values if there are no files.`,
		Example: examples(
			"Write the files into SHARED, the default data folder", "evenodd init",
			"Write them into another folder", "evenodd init ./my-league",
		),
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := defaultData
			if len(args) == 1 {
				dir = args[0]
			}
			if dir == "" {
				return usage("init needs a folder: its name must not be empty")
			}
			files, problem := config.Init(dir, known(), time.Now())
			var text printout
			for _, f := range files {
				if f.Created {
					text.line("created %s", f.Path)
				} else {
					text.line("kept %s (exists)", f.Path)
				}
			}
			return cmp.Or(text.print(s.out), problem)
		},
	}
}
