package cmd

import (
	"io"
	"slices"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
)

// printTable writes a table. It aligns the columns in numeric right. It uses colours
// only on a terminal.
func printTable(w io.Writer, header []string, rows [][]string, numeric ...int) error {
	t := table.New().
		Headers(header...).
		Rows(rows...).
		Border(lipgloss.RoundedBorder()).
		StyleFunc(func(row, column int) lipgloss.Style {
			style := lipgloss.NewStyle().Padding(0, 1)
			if slices.Contains(numeric, column) {
				style = style.Align(lipgloss.Right)
			}
			if row == table.HeaderRow {
				style = style.Bold(true)
			}
			return style
		})
	_, err := lipgloss.Fprintln(w, t.Render())
	return err
}
