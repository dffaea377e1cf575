package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"evenodd/config"
)

// newInit makes 'evenodd init': the files of the configuration layer.
func newInit(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write the configuration files of a data folder",
		Long: `Write the configuration files of a data folder (default ` + defaultData + `) with the values that
are built in: what holds for all agents, the presets of agents, the rules of the
league, the games, and what referees and players are by default. Files that are
there stay as they are. Without any file the same values serve.`,
		Example: "  evenodd init",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("init takes one folder: %q", args[1])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			dir := defaultData
			if len(args) == 1 {
				dir = args[0]
			}
			if dir == "" {
				return usage("init needs the name of a folder")
			}
			return runInit(s, dir)
		},
	}
}

func runInit(s streams, dir string) error {
	files, problem := config.Init(dir, known(), time.Now())
	for _, f := range files {
		line := "created " + f.Path
		if !f.Created {
			line = "kept " + f.Path + " (exists)"
		}
		if _, err := fmt.Fprintln(s.out, line); err != nil {
			return err
		}
	}
	return problem
}
