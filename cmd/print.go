package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	return usage("--%s %q: must be %s or %s", flag, value, strings.Join(names[:last], ", "), names[last])
}

// printJSON writes a document. Members of a map are in order of their names.
func printJSON(w io.Writer, document any) error {
	if err := json.MarshalWrite(w, document, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// show writes a document as JSON if the format says so, else as printText does.
func show(w io.Writer, format string, document any, printText func(io.Writer) error) error {
	if format == formatJSON {
		return printJSON(w, document)
	}
	return printText(w)
}

// A page collects the lines that a command prints.
type page struct{ strings.Builder }

// line adds a line. Its arguments may contain text of other agents.
func (p *page) line(format string, args ...any) {
	_, _ = p.WriteString(oneLine(fmt.Sprintf(format, args...)) + "\n") // never fails
}

// print writes the lines.
func (p *page) print(w io.Writer) error {
	_, err := io.WriteString(w, p.String())
	return err
}

// oneLine replaces characters that break a line or control a terminal.
func oneLine(s string) string { return strings.Map(harmless, s) }

// harmless returns U+FFFD for a control character, else the character.
func harmless(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
		return '\uFFFD'
	}
	return r
}

// number formats a count with its noun: 1 finding, 2 findings, 2 losses.
func number(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// printTable writes a table of strings and numbers, each on one line. Columns of numbers
// are aligned right. It uses colours only on a terminal.
func printTable(w io.Writer, header []string, rows [][]any) error {
	t := table.New().Headers(header...).Border(lipgloss.RoundedBorder())
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = oneLine(fmt.Sprint(cell))
			if n, ok := cell.(float64); ok {
				cells[i] = fmt.Sprintf("%.1f", n)
			}
		}
		t.Row(cells...)
	}
	t.StyleFunc(func(row, column int) lipgloss.Style {
		style := lipgloss.NewStyle().Padding(0, 1)
		if len(rows) > 0 {
			switch rows[0][column].(type) {
			case int, float64:
				style = style.Align(lipgloss.Right)
			}
		}
		if row == table.HeaderRow {
			style = style.Bold(true)
		}
		return style
	})
	_, err := lipgloss.Fprintln(w, t.Render())
	return err
}

// textOr returns a value that may be null, as text.
func textOr[T any](value *T, otherwise string) string {
	if value == nil {
		return otherwise
	}
	return fmt.Sprint(*value)
}
