package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// printStandings prints the final table, which has at least one row, and the champion.
func printStandings(s streams, standings []league.Standing, evidence []string, champion league.Champion) error {
	if err := printTableOf(s.out, standings, evidence); err != nil {
		return err
	}
	return printLine(s.out, "%s", record.ChampionLine(standings, champion))
}

// printTableOf prints a table, and below it the sentences of decide.Evidence.
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
	rows := [][]string{protocol.Each(columns, func(c league.Column) string { return c.Name })}
	for i := range standings {
		rows = append(rows, protocol.Each(columns, func(c league.Column) string { return c.Value(&standings[i]) }))
	}
	return rows
}
