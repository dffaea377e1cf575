package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	table "evenodd/league"
	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/view/record"
)

// finalTable returns the table without the strategies, which a manager does not know.
func finalTable(standings []league.Standing, results []league.MatchRecord) (rows []simulation.Standing) {
	rows = protocol.Each(standings, func(row league.Standing) simulation.Standing {
		return simulation.Standing{Standing: row}
	})
	simulation.CountFallbacks(rows, results)
	return rows
}

// printStandings prints the final table, which has at least one row, and the champion.
func printStandings(s streams, standings []simulation.Standing, evidence []string, champion protocol.Champion) error {
	if err := printTableOf(s.out, standings, evidence); err != nil {
		return err
	}
	return printLine(s.out, "%s", record.ChampionLine(plainRows(standings), champion))
}

// printTableOf prints a table, and below it the sentences of decide.Evidence. It omits the columns of
// strategies, fallbacks and remarks if no row has one.
func printTableOf(w io.Writer, standings []simulation.Standing, evidence []string) error {
	strategies := slices.ContainsFunc(standings, func(r simulation.Standing) bool { return r.Strategy != "" })
	remarks := slices.ContainsFunc(standings, func(r simulation.Standing) bool { return remark(&r.StandingRow) != "" })
	further, fallbacks := furtherColumns(plainRows(standings)), anyFallback(standings)
	header := []string{"Rank", "Player", "Name"}
	if strategies {
		header = append(header, "Strategy")
	}
	header = append(header, "Played", "W", "D", "L", "Technical", "Points")
	if fallbacks {
		header = append(header, "Fallbacks")
	}
	if header = append(header, further.header()...); remarks {
		header = append(header, "Remark")
	}
	rows := make([][]any, len(standings))
	for i := range standings {
		r := &standings[i]
		row := []any{r.ShownRank(), r.PlayerID, r.DisplayName}
		if strategies {
			row = append(row, r.Strategy)
		}
		row = append(row, r.Played, r.Wins, r.Draws, r.Losses, r.TechnicalLosses, r.Points)
		if fallbacks {
			row = append(row, r.Fallbacks)
		}
		if row = append(row, further.cells(&r.StandingRow)...); remarks {
			row = append(row, remark(&r.StandingRow))
		}
		rows[i] = row
	}
	err := printTable(w, header, rows)
	for _, sentence := range evidence {
		err = errors.Join(err, printLine(w, "%s", sentence))
	}
	return err
}

// plainRows are the rows without what only this program knows of them.
func plainRows(standings []simulation.Standing) []protocol.StandingRow {
	return protocol.Each(standings, func(s simulation.Standing) protocol.StandingRow { return s.StandingRow })
}

// remark tells what is unusual about a player; "" for nothing.
func remark(r *protocol.StandingRow) string {
	switch {
	case r.Annulled:
		return "withdrawn, results annulled"
	case r.Withdrawn:
		return "withdrawn"
	}
	return ""
}

// championOf names the champion as LEAGUE_COMPLETED does.
func championOf(c protocol.Champion) string {
	if c.PlayerID == "" {
		return "The manager named no champion."
	}
	return fmt.Sprintf("Champion: %s (%s)", c.DisplayName, c.PlayerID) + record.Because(c)
}

// Columns are the columns of a table after those of every league: those of a Swiss system,
// and those of the tie-breaks that decided.
type columns struct {
	swiss     bool
	tiebreaks []string
}

// furtherColumns are those of a table with these rows.
func furtherColumns(rows []protocol.StandingRow) (c columns) {
	c.swiss = len(rows) > 0 && rows[0].Byes != nil
	for _, name := range table.Tiebreakers() {
		if slices.ContainsFunc(rows, func(r protocol.StandingRow) bool { _, ok := r.TiebreakValues[name]; return ok }) {
			c.tiebreaks = append(c.tiebreaks, name)
		}
	}
	return c
}

func (c *columns) header() (names []string) {
	if c.swiss {
		names = []string{"Byes", "Buchholz", "Sonneborn–Berger"}
	}
	for _, name := range c.tiebreaks {
		label := table.TiebreakLabel(name)
		names = append(names, strings.ToUpper(label[:1])+label[1:])
	}
	return names
}

// cells are the cells of a row. That of a tie-break is empty if it decided nothing between
// the player and others.
func (c *columns) cells(r *protocol.StandingRow) (cells []any) {
	if c.swiss {
		cells = []any{protocol.ValueOf(r.Byes), protocol.ValueOf(r.Buchholz), protocol.ValueOf(r.SonnebornBerger)}
	}
	for _, name := range c.tiebreaks {
		cell := figure("")
		if value, ok := r.TiebreakValues[name]; ok {
			cell = figure(exactly(value))
			if name == table.TiebreakWinRate {
				cell = figure(fmt.Sprintf("%.3f", value))
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

// exactly formats a number with as many digits as it needs.
func exactly(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// writeStandingsCSV writes a table. Its columns are a contract of docs/formats.md.
func writeStandingsCSV(s streams, standings []simulation.Standing) error {
	return printCSV(s.out, slices.Values(standingsCSV(standings)))
}

// standingsCSV are the rows of a table as CSV, after a header. Decided_by is the tie-break
// between the row and the row above, and decided_value the row's value of it. The column
// of fallbacks exists only if there are any.
func standingsCSV(standings []simulation.Standing) [][]string {
	rows := [][]string{{
		"rank", "tied", "player_id", "display_name", "strategy", "played", "wins", "draws", "losses",
		"technical_losses", "points", "byes", "buchholz", "sonneborn_berger", "decided_by", "decided_value",
	}}
	fallbacks := anyFallback(standings)
	if fallbacks {
		rows[0] = append(rows[0], "fallbacks")
	}
	for i := range standings {
		r := &standings[i]
		by := r.DecidedBy
		if by == "" && i > 0 && r.ShownRank() != standings[i-1].ShownRank() {
			by = table.TiebreakPoints
		}
		rows = append(rows, []string{
			strconv.Itoa(r.ShownRank()), strconv.FormatBool(r.Tied), r.PlayerID, r.DisplayName, r.Strategy,
			strconv.Itoa(r.Played), strconv.Itoa(r.Wins), strconv.Itoa(r.Draws), strconv.Itoa(r.Losses),
			strconv.Itoa(r.TechnicalLosses), strconv.Itoa(r.Points),
			textOr(r.Byes, ""), textOr(r.Buchholz, ""), textOr(r.SonnebornBerger, ""), by, valueOf(&r.StandingRow, by),
		})
		if fallbacks {
			rows[i+1] = append(rows[i+1], strconv.Itoa(r.Fallbacks))
		}
	}
	return rows
}

// valueOf is the value of a tie-break in a row; "" if it is unknown, as that of a bracket.
func valueOf(r *protocol.StandingRow, tiebreak string) string {
	value, ok := r.TiebreakValues[tiebreak]
	switch {
	case ok:
		return exactly(value)
	case tiebreak == table.TiebreakPoints:
		return strconv.Itoa(r.Points)
	case tiebreak == table.TiebreakWins:
		return strconv.Itoa(r.Wins)
	case tiebreak == table.TiebreakDraws:
		return strconv.Itoa(r.Draws)
	case tiebreak == table.TiebreakBuchholz:
		return textOr(r.Buchholz, "")
	case tiebreak == table.TiebreakSonnebornBerger:
		return textOr(r.SonnebornBerger, "")
	}
	return ""
}
