package cmd

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"golang.org/x/term"

	"evenodd/league/protocol"
)

// A figure is the text of a number that printTable aligns right; it may be empty.
type figure string

// printTable writes a table of strings and numbers. Columns of numbers are aligned right. It uses
// colours only on a terminal. A terminal that is too narrow shows the most important columns, and
// the names of the others below the table; long cells take several lines.
func printTable(w io.Writer, header []string, rows [][]any) error {
	cells := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			text := protocol.Escape(fmt.Sprint(cell))
			if n, ok := cell.(float64); ok {
				text = fmt.Sprintf("%.1f", n)
			}
			cells[i] = append(cells[i], text)
		}
	}
	screen := columnsOf(w)
	columns, omitted := fittingColumns(header, cells, screen)
	t := table.New().Border(lipgloss.RoundedBorder())
	shown := func(row []string) []string {
		return protocol.Each(columns, func(c tableColumn) string { return row[c.index] })
	}
	t.Headers(shown(header)...)
	for _, row := range cells {
		t.Row(shown(row)...)
	}
	t.StyleFunc(func(row, column int) lipgloss.Style {
		style := lipgloss.NewStyle().Padding(0, 1).Width(columns[column].width + cellPadding)
		if len(rows) > 0 {
			switch rows[0][columns[column].index].(type) {
			case int, float64, figure:
				style = style.Align(lipgloss.Right)
			}
		}
		if row == table.HeaderRow {
			style = style.Bold(true)
		}
		return style
	})
	if _, err := lipgloss.Fprintln(w, t.Render()); err != nil || len(omitted) == 0 {
		return err
	}
	return printLine(w, "No room for: %s. A wider terminal shows all columns, and so does a pipe: | less -S", strings.Join(omitted, ", "))
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
			line = strings.ReplaceAll(strings.TrimRight(lipgloss.Wrap(line, max(screen-len(indent), 1), ""), "\n"), "\n", "\n"+indent) + "\n"
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

// A tableColumn is a column that is shown, with the width of its cells.
type tableColumn struct{ index, width int }

const (
	cellPadding = 2  // columns of the screen beside a cell
	wideCell    = 12 // wider cells are wrapped before a column is omitted
	narrowCell  = 6  // least width of wrapped cells
	firstShown  = 3  // the first columns of a table, which tell what a row is about
)

// fittingColumns returns the columns of a table that fit into the columns of a screen, and the
// names of the others. It first wraps wide cells, then omits columns, then wraps the others.
func fittingColumns(header []string, rows [][]string, screen int) (fitting []tableColumn, omitted []string) {
	for i, name := range header {
		column := tableColumn{i, lipgloss.Width(name)}
		for _, row := range rows {
			column.width = max(column.width, lipgloss.Width(row[i]))
		}
		fitting = append(fitting, column)
	}
	if screen <= 0 {
		return fitting, nil
	}
	excess := func(widest int) int {
		total := 1
		for _, c := range fitting {
			total += min(c.width, widest) + cellPadding + 1
		}
		return total - screen
	}
	for _, index := range omissionOrder(header) {
		if excess(wideCell) <= 0 {
			break
		}
		fitting = slices.DeleteFunc(fitting, func(c tableColumn) bool { return c.index == index })
		omitted = append(omitted, header[index])
	}
	widest := screen
	for excess(widest) > 0 && widest > narrowCell {
		widest--
	}
	for i := range fitting {
		fitting[i].width = min(fitting[i].width, widest)
	}
	return fitting, omitted
}

// omissionOrder returns the columns that a narrow screen may omit, the first one first: those that
// say little about a result, then the last ones. The first columns and those of the result stay.
func omissionOrder(header []string) (order []int) {
	for _, name := range []string{"Fallbacks", "Technical", "Strategy", "Played", "Referee", "Round"} {
		if i := slices.Index(header, name); i >= 0 {
			order = append(order, i)
		}
	}
	kept := []string{"Player B", "Points", "Rank", "Winner", "Result", "Reason"}
	for i, name := range slices.Backward(header) {
		if i >= firstShown && !slices.Contains(kept, name) && !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	return order
}
