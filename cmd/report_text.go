package cmd

import (
	"io"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/view/report"
)

// A terminalReport writes a report for a terminal.
type terminalReport struct{ printout }

var _ report.Writer = (*terminalReport)(nil)

// Heading implements report.Writer.
func (t *terminalReport) Heading(level int, format string, args ...any) {
	if level == 2 {
		t.line("")
		format += ":"
	}
	t.line(format, args...)
}

// Line implements report.Writer.
func (t *terminalReport) Line(format string, args ...any) { t.line(format, args...) }

// Item implements report.Writer.
func (t *terminalReport) Item(depth int, format string, args ...any) {
	t.line(strings.Repeat("  ", depth+1)+format, args...)
}

// Table implements report.Writer.
func (t *terminalReport) Table(header []string, rows [][]any) { _ = printTable(t, header, rows) } // never fails

// printLeagueReport prints a report, or the sheet of an agent unless it is nil, for a terminal.
func printLeagueReport(w io.Writer, r *report.Report, s *report.Sheet, dir string) error {
	t := terminalReport{printout{screen: columnsOf(w)}}
	if s != nil {
		s.Write(&t)
	} else {
		r.Write(&t, false)
		if n := len(r.Transcripts); n > 0 {
			t.line("%s with faults, disputes or decisions: evenodd replay %s --data %s",
				protocol.Counted(n, "conversation"), r.Transcripts[0].MatchID, dir)
		}
		t.line(
			"Each match, the cross table and the points after each round: --format html, json or csv. One agent: --agent ID")
	}
	return t.print(w)
}
