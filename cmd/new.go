package cmd

import (
	"github.com/spf13/cobra"
)

// newNew makes 'evenodd new', the commands that write source code to start from.
func newNew(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "new",
		Short:   "Write the source code of a new agent",
		Long:    `Write a small complete project to start from.`,
		Example: "  evenodd new player --lang python my-agent",
		Args:    onlyCommands,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SetOut(s.out)
	c.AddCommand(newGame(s))
	return c
}
