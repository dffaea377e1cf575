package cmd

import (
	"io"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"evenodd/league/audit"
	"evenodd/league/store"
)

type auditOptions struct {
	leagueID string
	format   string
}

// newAudit makes 'evenodd audit', which recomputes leagues from their files.
func newAudit(s streams) *cobra.Command {
	o := &auditOptions{}
	c := &cobra.Command{
		Use:   "audit DIR",
		Short: "Recompute leagues from their files alone",
		Long: `Recompute the leagues of a data folder from their files, and compare the files with
each other: the hash chain of the journal, the schedule, one result for each match, the
choices in the transcripts, commitments and nonces, drawn numbers, verdicts, points,
standings and rounds, and the histories of players.

Each finding names its file and line; with findings the exit code is 4. Notes are
unusual but not wrong. The command only reads the folder; the league may be running.`,
		Example: "  evenodd audit ./data-of-my-league",
		Args:    takes(1, nil, "audit takes one folder: the --data folder of a manager, which contains data/leagues"),
		RunE:    func(_ *cobra.Command, args []string) error { return runAudit(s, o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.leagueID, "league-id", "", "audit only this league (default: all)")
	f.StringVar(&o.format, "format", formatText, "text or json")
	return c
}

func runAudit(s streams, o *auditOptions, dir string) error {
	if err := oneOf("format", o.format, formatText, formatJSON); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // most of the memory is garbage soon
	report, err := audit.Run(store.Folder(dir), audit.Options{LeagueID: o.leagueID, Games: games()})
	if err != nil {
		return err
	}
	err = show(s.out, o.format, report, func(w io.Writer) error { return printAudit(w, report) })
	if n := report.Findings(); err == nil && n > 0 {
		err = exit(exitFound, "%s", number(n, "finding"))
	}
	return err
}

// printAudit writes one line for each finding and each note, and a summary of each
// league.
func printAudit(w io.Writer, r *audit.Report) error {
	var text page
	for i := range r.Leagues {
		l := &r.Leagues[i]
		for _, f := range slices.Concat(l.Findings, l.Notes) {
			text.line("%s", f.String())
		}
		text.line("%s", l.Summary())
	}
	return text.print(w)
}
