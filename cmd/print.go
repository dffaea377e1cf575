package cmd

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// oneOf returns an error unless the value of a flag is one of names.
func oneOf(flag, value string, names ...string) error {
	if slices.Contains(names, value) {
		return nil
	}
	last := len(names) - 1
	return usage("--%s %q: must be %s or %s%s", flag, value, strings.Join(names[:last], ", "), names[last], protocol.DidYouMean(value, names))
}

// printJSON writes a document. Members of a map are in order of their names.
func printJSON(w io.Writer, document any) error {
	escaped := &jsonWriter{to: w}
	err := json.MarshalWrite(escaped, document, jsontext.WithIndent("  "), json.Deterministic(true))
	if err == nil {
		_, err = escaped.Write([]byte{'\n'})
	}
	return err
}

// A jsonWriter escapes JSON that it gets in pieces.
type jsonWriter struct {
	to   io.Writer
	rest []byte // the bytes of an incomplete character
}

func (w *jsonWriter) Write(piece []byte) (int, error) {
	text := slices.Concat(w.rest, piece)
	whole := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole -= n
			}
			break
		}
	}
	_, err := w.to.Write(protocol.EscapeJSON(text[:whole]))
	w.rest = slices.Clone(text[whole:])
	return len(piece), err
}

// printCSV writes rows, each on one line, for people who open them in a spreadsheet.
func printCSV(out io.Writer, rows iter.Seq[[]string]) error {
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
func writeCSV(out io.Writer, rows iter.Seq[[]string], change func(cell string) string) error {
	w := csv.NewWriter(out)
	for row := range rows {
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

// A page collects the lines that a command prints. Its tables fit into screen columns; 0 is no
// limit.
type page struct {
	strings.Builder
	screen int
}

func (p *page) columns() int { return p.screen }

// line adds a line, like printLine.
func (p *page) line(format string, args ...any) { _ = printLine(p, format, args...) } // never fails

// print writes the lines.
func (p *page) print(w io.Writer) error {
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

// textOr returns a value that may be null, as text.
func textOr[T any](value *T, otherwise string) string {
	if value == nil {
		return otherwise
	}
	return fmt.Sprint(*value)
}
