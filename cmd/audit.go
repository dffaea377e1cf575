package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"evenodd/league/audit"
	"evenodd/league/store"
)

// A foundError reports the findings of an audit: exit code 4.
type foundError struct{ findings int }

func (e *foundError) Error() string {
	if e.findings == 1 {
		return "1 finding"
	}
	return fmt.Sprintf("%d findings", e.findings)
}

type auditOptions struct {
	leagueID string
	format   string
}

// Output formats.
const (
	formatText = "text"
	formatJSON = "json"
)

func checkTextOrJSON(format string) error {
	if format != formatText && format != formatJSON {
		return usage("--format %q: must be text or json", format)
	}
	return nil
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
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("audit takes one folder: the --data folder of a manager, which contains data/leagues")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runAudit(s, o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.leagueID, "league-id", "", "audit only this league (default: all)")
	f.StringVar(&o.format, "format", formatText, "text or json")
	return c
}

func runAudit(s streams, o *auditOptions, dir string) error {
	if err := checkTextOrJSON(o.format); err != nil {
		return err
	}
	report, err := audit.Run(store.Folder(dir), audit.Options{LeagueID: o.leagueID, Games: games()})
	if err != nil {
		return err
	}
	if o.format == formatJSON {
		err = printJSON(s.out, report)
	} else {
		err = printAudit(s.out, report)
	}
	if n := report.Findings(); err == nil && n > 0 {
		err = &foundError{n}
	}
	return err
}

func printJSON(w io.Writer, document any) error {
	if err := json.MarshalWrite(w, document, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// printAudit writes one line for each finding and each note, and a summary of each
// league.
func printAudit(w io.Writer, r *audit.Report) error {
	var text strings.Builder
	for i := range r.Leagues {
		l := &r.Leagues[i]
		for _, f := range slices.Concat(l.Findings, l.Notes) {
			fmt.Fprintln(&text, oneLine(f.String()))
		}
		fmt.Fprintln(&text, l.Summary())
	}
	_, err := io.WriteString(w, text.String())
	return err
}
