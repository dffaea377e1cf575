package cmd

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// Output formats of several commands.
const (
	formatText  = "text"
	formatTable = "table"
	formatJSON  = "json"
)

// outputSchema is the schema version of the JSON that commands print.
const outputSchema = "1.0.0"

// A head begins the documents about a league.
type head struct {
	SchemaVersion string `json:"schema_version"`
	LeagueID      string `json:"league_id"`
}

func headOf(leagueID string) head { return head{outputSchema, leagueID} }

// printJSON writes a document with indentation.
func printJSON(w io.Writer, document any) error {
	text, err := json.Marshal(document, jsontext.WithIndent("  "), json.Deterministic(true))
	if err == nil {
		_, err = w.Write(append(protocol.EscapeJSON(text), '\n'))
	}
	return err
}

// printCSV writes rows, each on one line, for people who open them in a spreadsheet.
func printCSV(out io.Writer, rows [][]string) error {
	return writeCSV(out, rows, func(cell string) string { return noFormula(protocol.Escape(cell)) })
}

// noFormula puts an apostrophe before a cell that a spreadsheet would take for a formula. A
// formula can read other cells and send them away.
func noFormula(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}

// writeCSV writes rows, whose cells it changes by a function.
func writeCSV(out io.Writer, rows [][]string, change func(cell string) string) error {
	w := csv.NewWriter(out)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = change(cell)
		}
		_ = w.Write(row) // Error returns the first error
	}
	w.Flush()
	return w.Error()
}

// show writes a document as JSON if the format says so, else as printText does.
func show(w io.Writer, format string, document any, printText func(io.Writer) error) error {
	if format == formatJSON {
		return printJSON(w, document)
	}
	return printText(w)
}

// A printout collects the lines that a command prints. Its tables fit into screen columns; 0 is no
// limit.
type printout struct {
	strings.Builder
	screen int
}

func (p *printout) columns() int { return p.screen }

// line adds a line, like printLine.
func (p *printout) line(format string, args ...any) { _ = printLine(p, format, args...) } // never fails

// print writes the lines.
func (p *printout) print(w io.Writer) error {
	_, err := io.WriteString(w, p.String())
	return err
}

// printLine writes one line. Its arguments may contain text of other agents and of files: it
// escapes whatever could break the line, control a terminal or hide from the reader. All text of
// this package is printed by this function, printError, printTable, printJSON, printCSV or the
// logger, which escape it in the same way.
func printLine(w io.Writer, format string, args ...any) error {
	return styled(w, "", format, args...)
}

// note writes a line to standard error.
func (s streams) note(format string, args ...any) { _ = printLine(s.err, format, args...) } // nobody is left to tell

// styled is printLine with a text of this program in front, which may have a style.
func styled(w io.Writer, front, format string, args ...any) error {
	_, err := io.WriteString(w, front+protocol.Escape(fmt.Sprintf(format, args...))+"\n")
	return err
}

// printError writes an error, and a line for each part of a joined error.
func printError(w io.Writer, problem error) {
	front := "evenodd: "
	for _, line := range errorLines(problem) {
		_ = styled(w, front, "%s", line) // nobody is left to tell
		front = "  "
	}
}

// errorLines returns the parts of a joined error, also of one that is wrapped; the text of any
// other error.
func errorLines(problem error) []string {
	for err := problem; err != nil; err = errors.Unwrap(err) {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		var lines []string
		for _, part := range joined.Unwrap() {
			lines = append(lines, errorLines(part)...)
		}
		if before, ends := strings.CutSuffix(problem.Error(), strings.Join(lines, "\n")); ends {
			lines[0] = before + lines[0]
			return lines
		}
		break
	}
	return []string{problem.Error()}
}

// cellText is a cell of a table as text: a string, a number, or a pointer to one; "" for nil.
func cellText(cell any) string {
	v := reflect.Indirect(reflect.ValueOf(cell))
	if !v.IsValid() {
		return ""
	}
	return fmt.Sprint(v)
}
