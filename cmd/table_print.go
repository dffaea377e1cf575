package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"golang.org/x/term"

	"evenodd/league"
	"evenodd/league/protocol"
)

// printTable writes a table of strings and numbers. Columns of numbers are aligned right. It uses
// colours only on a terminal. On a terminal that is too narrow, long cells take several lines.
func printTable(w io.Writer, header []string, rows [][]any) error {
	t := table.New().Border(lipgloss.RoundedBorder()).Headers(header...)
	for _, row := range rows {
		t.Row(protocol.Each(row, func(cell any) string {
			if n, ok := cell.(float64); ok {
				return fmt.Sprintf("%.1f", n)
			}
			return protocol.Escape(cellText(cell))
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
