package cmd

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/view/record"
	"evenodd/league/words"
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

// printJSON writes a document with indentation, in pieces: one of a large league does not fit into memory.
func printJSON(w io.Writer, document any) error {
	to := &escapedJSON{w: w}
	err := json.MarshalWrite(to, document, jsontext.WithIndent("  "), json.Deterministic(true))
	if err == nil {
		to.text = append(to.text, '\n')
		to.flush()
	}
	return cmp.Or(to.err, err)
}

// An escapedJSON writes words.EscapeJSON of what is written to it.
type escapedJSON struct {
	w    io.Writer
	text []byte // not yet written
	err  error  // the first one of w
}

// pieceSize is the size in bytes from which a piece of a document is written.
const pieceSize = 64 << 10

// Write implements io.Writer. A piece ends with a line, so that no character and no string is in two of them.
func (e *escapedJSON) Write(text []byte) (int, error) {
	e.text = append(e.text, text...)
	if len(e.text) >= pieceSize {
		e.flush()
	}
	return len(text), e.err
}

// flush writes the lines that are complete.
func (e *escapedJSON) flush() {
	end := bytes.LastIndexByte(e.text, '\n') + 1
	if e.err == nil && end > 0 {
		_, e.err = e.w.Write(words.EscapeJSON(e.text[:end]))
	}
	e.text = append(e.text[:0], e.text[end:]...)
}

// rows are a list of a document that may be too long for memory: each element is made when it is encoded.
type rows[E any] iter.Seq[E]

// MarshalJSONTo implements json.MarshalerTo.
func (r rows[E]) MarshalJSONTo(to *jsontext.Encoder) error {
	if err := to.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	if r != nil {
		var row E
		for row = range r {
			if err := json.MarshalEncode(to, &row); err != nil {
				return err
			}
		}
	}
	return to.WriteToken(jsontext.EndArray)
}

// printCSV writes rows, each on one line, for people who open them in a spreadsheet.
func printCSV(out io.Writer, rows [][]string) error {
	return writeCSV(out, rows, func(cell string) string { return noFormula(words.Escape(cell)) })
}

// noFormula puts an apostrophe before a cell that a spreadsheet would take for a formula, and before a part of it that
// would be one where a semicolon separates cells. A formula can read other cells and send them away.
func noFormula(cell string) string {
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return formulas().ReplaceAllString(cell, "$1'$2")
}

// formulas are the beginnings of formulas at the beginnings of cells, also in the wide characters of East Asia.
var formulas = words.Pattern(`(^ *|; *)([-=+@＝＋－＠])`)

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

// heading adds the title of a part, below an empty line.
func (p *printout) heading(title string) {
	p.line("")
	p.line("%s:", title)
}

// table adds a table.
func (p *printout) table(header []string, rows [][]any) { _ = printTable(p, header, rows) } // never fails

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

// draw writes text of this program alone to a terminal, with control characters.
func draw(w io.Writer, text string) { _, _ = io.WriteString(w, text) } // an error only spoils the picture

// note writes a line to standard error.
func (s streams) note(format string, args ...any) { _ = printLine(s.err, format, args...) } // nobody is left to tell

// styled is printLine with a text of this program in front, which may have a style.
func styled(w io.Writer, front, format string, args ...any) error {
	_, err := io.WriteString(w, front+words.Escape(fmt.Sprintf(format, args...))+"\n")
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

// printTable writes a table of strings and numbers. Columns of numbers are aligned right. It uses
// colours only on a terminal. On a terminal that is too narrow, long cells take several lines.
func printTable(w io.Writer, header []string, rows [][]any) error {
	t := table.New().Border(lipgloss.RoundedBorder()).Headers(header...)
	for _, row := range rows {
		t.Row(lists.Map(row, func(cell any) string {
			if n, ok := cell.(float64); ok {
				return fmt.Sprintf("%.1f", n)
			}
			return words.Escape(cellText(cell))
		})...)
	}
	t.StyleFunc(func(row, column int) lipgloss.Style {
		style := lipgloss.NewStyle().Padding(0, 1)
		if len(rows) > 0 {
			switch rows[0][column].(type) {
			case int, float64, league.Figure:
				style = style.Align(lipgloss.Right)
			}
		}
		return style.Bold(row == table.HeaderRow)
	})
	text := t.Render()
	if screen := columnsOf(w); screen > 0 && lipgloss.Width(text) > screen {
		text = t.Width(screen).Render()
	}
	_, err := lipgloss.Fprintln(w, text)
	return err
}

// wrapLines breaks lines at the width of a terminal, between words where possible, and indents the
// lines that follow.
func wrapLines(text string, screen int) string {
	if screen <= 0 {
		return text
	}
	const indent = "          "
	var wrapped strings.Builder
	for line := range strings.Lines(text) {
		if lipgloss.Width(line) > screen {
			line = strings.ReplaceAll(strings.TrimRight(lipgloss.Wrap(line, max(screen-len(indent), 1), ""), "\n"), "\n",
				"\n"+indent) + "\n"
		}
		wrapped.WriteString(line)
	}
	return wrapped.String()
}

// columnsOf is the width of a terminal; 0 for any other output, which has no limit.
func columnsOf(w io.Writer) int {
	switch w := w.(type) {
	case interface{ columns() int }:
		return w.columns()
	case *os.File:
		if width, _, err := term.GetSize(int(w.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// usualRows is the number of rows of a terminal that does not tell it.
const usualRows = 25

// heightOf is the number of rows of a terminal.
func heightOf(w io.Writer) int {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if _, rows, err := term.GetSize(int(f.Fd())); err == nil && rows > 0 {
			return rows
		}
	}
	return usualRows
}

// printStandings prints the final table, which has at least one row, and the champion.
func printStandings(s streams, standings []league.Standing, evidence []string, champion league.Champion) error {
	return cmp.Or(printTableOf(s.out, standings, evidence),
		printLine(s.out, "%s", record.ChampionLine(standings, champion)))
}

// printTableOf prints a table, and below it the sentences of decide.EvidenceInWords.
func printTableOf(w io.Writer, standings []league.Standing, evidence []string) error {
	titles, cells := league.Cells(league.Columns(standings), standings)
	err := printTable(w, titles, cells)
	for _, sentence := range evidence {
		err = errors.Join(err, printLine(w, "%s", sentence))
	}
	return err
}

// championOf names the champion as LEAGUE_COMPLETED does.
func championOf(c league.Champion) string {
	if c.PlayerID == "" {
		return "The manager named no champion."
	}
	return fmt.Sprintf("Champion: %s (%s)", c.DisplayName, c.PlayerID) + record.Because(c)
}

// standingsCSV are the rows of a table as CSV, after a header, with the columns of league.Fields and
// further ones.
func standingsCSV(standings []league.Standing, further ...league.Column) [][]string {
	columns := slices.Concat(league.Fields(standings), further)
	rows := [][]string{lists.Map(columns, func(c league.Column) string { return c.Name })}
	for i := range standings {
		rows = append(rows, lists.Map(columns, func(c league.Column) string { return c.Value(&standings[i]) }))
	}
	return rows
}

// lossesAndFallbacks returns the error of --strict if there are technical losses or fallbacks.
func lossesAndFallbacks(standings []league.Standing) error {
	losses, fallbacks := 0, 0
	for i := range standings {
		losses += standings[i].TechnicalLosses
		fallbacks += standings[i].Fallbacks
	}
	var problems []string
	if losses > 0 {
		problems = append(problems, words.Counted(losses, "technical loss"))
	}
	if fallbacks > 0 {
		problems = append(problems, words.Counted(fallbacks, "choice")+" of a fallback in place of a model or a host")
	}
	if len(problems) == 0 {
		return nil
	}
	return exit(exitLosses, "%s", strings.Join(problems, "; "))
}
