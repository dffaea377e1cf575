package cmd

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan makes 'evenodd man', which writes the manual pages of all commands.
func newMan(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Write a manual page for each command into a folder: evenodd.1, evenodd-simulate.1 and so on. The same program
writes the same bytes each time. It makes the folder if it is missing.`,
		Example: examples(
			"Write the pages and read one", "evenodd man ./man && man -l ./man/evenodd-simulate.1",
			"Install them for all users", "sudo evenodd man /usr/local/share/man/man1",
		),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			err := os.MkdirAll(args[0], 0o755)
			if err == nil {
				err = doc.GenManTree(c.Root(), manualHeader(), args[0])
			}
			if err != nil {
				return fmt.Errorf("cannot write the manual pages: %w", err)
			}
			return printLine(s.err, "%s: the manual pages of all commands", args[0])
		},
	}
}

// manualHeader is the header of all pages. Their date is that of the commit, so that the same program
// writes the same bytes.
func manualHeader() *doc.GenManHeader {
	info, _ := debug.ReadBuildInfo()
	date, err := time.Parse(time.RFC3339, buildOf("", info).Date)
	if err != nil { // the build knows no commit
		date = time.Unix(0, 0).UTC()
	}
	return &doc.GenManHeader{Section: "1", Source: "evenodd", Manual: "User Commands", Date: &date}
}
