package cmd

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/league/decide"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/store"
)

// The states of a match in a schedule that has no result.
const (
	matchScheduled = "SCHEDULED"
	matchRunning   = "RUNNING"
)

// The rows of schedule and export. The members are a contract.
type (
	tableRow struct {
		store.StandingRow

		Fallbacks int `json:"fallbacks,omitzero"` // moves that the player's model or host did not choose
	}
	scheduleRow struct {
		MatchID   string `json:"match_id"`
		RoundID   int    `json:"round_id"`
		PlayerAID string `json:"player_A_id"`
		PlayerBID string `json:"player_B_id"`
		RefereeID string `json:"referee_id,omitzero"`
		Attempt   int    `json:"attempt,omitzero"`
		Status    string `json:"status"` // WIN, DRAW, TECHNICAL_LOSS, RUNNING or SCHEDULED

		WinnerPlayerID *string                     `json:"winner_player_id"`
		DrawnNumber    *int                        `json:"drawn_number"`
		Choices        protocol.PerPlayer[*string] `json:"choices,omitzero"`
		Score          protocol.PerPlayer[int]     `json:"score,omitzero"`
		Reason         string                      `json:"reason,omitzero"`
		ReportedAt     string                      `json:"reported_at,omitzero"`

		Forfeited []string          `json:"forfeited_by,omitzero"`
		Disputed  []string          `json:"disputed_by,omitzero"` // referees that reported another result later
		Ruled     *decisionInForce  `json:"ruled,omitzero"`
		Rematch   *decisionInForce  `json:"rematch_ordered,omitzero"`
		Annulled  []annulledOutcome `json:"annulled,omitzero"`
	}
	annulledOutcome struct {
		RefereeID      string          `json:"referee_id,omitzero"`
		Attempt        int             `json:"attempt,omitzero"`
		Status         string          `json:"status"`
		WinnerPlayerID *string         `json:"winner_player_id"`
		Reason         string          `json:"reason,omitzero"`
		By             decisionInForce `json:"annulled_by"`
	}
)

// newLeagueStandings makes 'evenodd league standings'.
func newLeagueStandings(o organiser) *cobra.Command {
	return &cobra.Command{
		Use:     "standings",
		Short:   "Show the table",
		Long:    "Show the current table with all players, also those that are withdrawn.",
		Example: "  evenodd league standings\n  evenodd league standings --format json",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.checkFormat(formatText, formatJSON); err != nil {
				return err
			}
			r, from, err := o.readLeague(c.Context())
			if err != nil {
				return err
			}
			defer from.close()
			return show(o.out, o.format, struct {
				SchemaVersion string     `json:"schema_version"`
				LeagueID      string     `json:"league_id"`
				Round         int        `json:"round"`
				Recorded      int        `json:"recorded"`
				Standings     []tableRow `json:"standings"`
			}{outputSchema, o.leagueID, r.Round, r.Recorded, r.table()}, func(w io.Writer) error { return printTableOf(w, r.rows()) })
		},
	}
}

// rows are the rows of the table with the fallbacks of each player.
func (r *leagueRecord) rows() []simulation.Standing {
	return finalTable(r.Standings(), decide.Results(r.State))
}

// table is the table in the form of the output.
func (r *leagueRecord) table() []tableRow {
	rows := []tableRow{}
	for _, row := range r.rows() {
		rows = append(rows, tableRow{row.Standing, row.Fallbacks})
	}
	return rows
}

// newLeagueSchedule makes 'evenodd league schedule'.
func newLeagueSchedule(o organiser) *cobra.Command {
	round := ""
	c := &cobra.Command{
		Use:     "schedule",
		Short:   "Show the matches, played and planned",
		Long:    "Show the matches of all rounds that are known, with referees, results and annulled results.",
		Example: "  evenodd league schedule\n  evenodd league schedule --round 2 --format json",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.checkFormat(formatText, formatJSON); err != nil {
				return err
			}
			only, err := strconv.Atoi(round)
			if round == "" || round == "all" {
				only, err = 0, nil
			}
			if err != nil || only < 0 || round == "0" {
				return usage("--round %q: must be a number from 1, or all", round)
			}
			r, from, err := o.readLeague(c.Context())
			if err != nil {
				return err
			}
			defer from.close()
			rows, err := r.schedule(only)
			if err != nil {
				return err
			}
			return show(o.out, o.format, struct {
				SchemaVersion string        `json:"schema_version"`
				LeagueID      string        `json:"league_id"`
				Rounds        int           `json:"rounds"`
				KnownRounds   int           `json:"known_rounds"`
				Matches       []scheduleRow `json:"matches"`
			}{outputSchema, o.leagueID, r.TotalRounds(), r.KnownRounds(), rows}, func(w io.Writer) error { return r.printSchedule(w, rows) })
		},
	}
	c.Flags().StringVar(&round, "round", "", "only round `N` (default: all)")
	return c
}

// schedule lists the matches of a round, those of all known rounds if it is 0.
func (r *leagueRecord) schedule(only int) ([]scheduleRow, error) {
	if r.Started == nil && only > 0 {
		return nil, fmt.Errorf("league %s has not begun: it has no schedule yet", r.Created.LeagueID)
	}
	known := r.KnownRounds()
	if only > known {
		return nil, fmt.Errorf("round %d is not known: the league has %d rounds, of which %d are known", only, r.TotalRounds(), known)
	}
	rows := []scheduleRow{}
	for round := 1; round <= known; round++ {
		if only > 0 && round != only {
			continue
		}
		for i, pair := range r.Pairings(round) {
			id := protocol.MatchID{Round: round, Number: i + 1}
			row := scheduleRow{
				MatchID: id.String(), RoundID: round, Status: matchScheduled,
				PlayerAID: r.Started.Players[pair.A], PlayerBID: r.Started.Players[pair.B],
			}
			if round <= r.Round {
				r.describe(&row, id)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// describe completes the row of a match of an announced round.
func (r *leagueRecord) describe(row *scheduleRow, id protocol.MatchID) {
	m := r.Match(id)
	row.RefereeID = r.Referee(id.Round, id.Number)
	row.Forfeited, row.Disputed, row.Ruled, row.Rematch = m.Forfeited, m.Disputed, inForce(m.Ruled), inForce(m.RematchOrdered)
	for i := range m.Annulled {
		a := &m.Annulled[i]
		row.Annulled = append(row.Annulled, annulledOutcome{
			a.Report.RefereeID, a.Report.Number, a.Report.Status, a.Report.WinnerPlayerID, a.Report.Reason, *inForce(&a.By),
		})
	}
	report := m.Report
	if report == nil {
		row.Status = matchRunning
		return
	}
	row.Attempt, row.Status, row.WinnerPlayerID, row.DrawnNumber = report.Number, report.Status, report.WinnerPlayerID, report.DrawnNumber
	row.Choices, row.Score, row.Reason, row.ReportedAt = report.Choices, report.Score, report.Reason, m.ReportedAt
}

// remark tells what is unusual about a match.
func (s *scheduleRow) remark() string {
	var remarks []string
	if s.Ruled != nil {
		remarks = append(remarks, "ruled by "+s.Ruled.By)
	}
	if s.Rematch != nil {
		remarks = append(remarks, "rematch ordered by "+s.Rematch.By)
	}
	if len(s.Forfeited) > 0 {
		remarks = append(remarks, "forfeited by "+strings.Join(s.Forfeited, ", "))
	}
	if len(s.Disputed) > 0 {
		remarks = append(remarks, "disputed by "+strings.Join(s.Disputed, ", "))
	}
	if n := len(s.Annulled); n > 0 {
		remarks = append(remarks, number(n, "annulled result"))
	}
	return strings.Join(remarks, "; ")
}

func (r *leagueRecord) printSchedule(w io.Writer, rows []scheduleRow) error {
	if r.Started == nil {
		return printLine(w, "The league has not begun: it has no schedule yet.")
	}
	header := []string{"Round", "Match", "Player A", "Player B", "Referee", "Status", "Winner"}
	remarks := slices.ContainsFunc(rows, func(m scheduleRow) bool { return m.remark() != "" })
	if remarks {
		header = append(header, "Remark")
	}
	cells := make([][]any, len(rows))
	for i := range rows {
		m := &rows[i]
		cells[i] = []any{m.RoundID, m.MatchID, r.named(m.PlayerAID), r.named(m.PlayerBID), m.RefereeID, m.Status, textOr(m.WinnerPlayerID, "")}
		if remarks {
			cells[i] = append(cells[i], m.remark())
		}
	}
	err := printTable(w, header, cells)
	if known := r.KnownRounds(); err == nil && known < r.TotalRounds() {
		err = printLine(w, "Round %d and later rounds depend on results: their matches are not known yet.", known+1)
	}
	return err
}

// named is the id of an agent with its name.
func (r *leagueRecord) named(id string) string {
	return id + " " + r.Agents[id].DisplayName
}
