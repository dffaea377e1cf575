package cmd

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/text/unicode/norm"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// formatCSV is an output format of exports.
const formatCSV = "csv"

// exportLists are the lists of an export as CSV.
var exportLists = [...]string{"matches", "standings", "decisions", "agents", listGrades}

// listGrades is the list of an export that needs a roster.
const listGrades = "grades"

// newLeagueExport makes 'evenodd league export'.
func newLeagueExport(o *leagueCommand) *cobra.Command {
	list, format, roster, season := "", "", "", false
	c := &cobra.Command{
		Use:   "export",
		Short: "Print the whole league as JSON or CSV",
		Long: `Print the league for other programs: with --format json the status, the table, all matches, decisions and
agents in one document; with --format csv, or with
--list, one list: matches, standings, decisions, agents or grades.

The grades are a row for each player of --roster, also for those that never came: rank, points, matches, technical
losses, matches that a ruling decided, and moves by chance (the fallback of a model or host).

--season prints a CSV over all leagues of the data folder: a row for each player of --roster, without one for each that
took part, with points, matches, rating with its 95% interval, and a column with the points of each league, which is
empty where the player took no part.`,
		Example: examples(
			"Export everything", "evenodd league export --format json > league.json",
			"Export the table for a spreadsheet", "evenodd league export --format csv --list standings > table.csv",
			"Export the results of a class", "evenodd league export --list grades --roster class.csv > grades.csv",
			"Export the points of a term", "evenodd league export --season --roster class.csv > term.csv",
		),
		RunE: func(c *cobra.Command, _ []string) error {
			o.format = cmp.Or(format, formatJSON)
			switch {
			case season && (list != "" || format == formatJSON || o.remote):
				return usage("--season prints one CSV from a data folder: leave out --list, --format json and --manager")
			case season:
				return o.exportSeason(c.Context(), roster)
			case list != "" && format == formatJSON:
				return usage("--list needs --format csv: a document in JSON has all lists")
			case (list == listGrades) != (roster != ""):
				return usage("--list grades and --roster need each other: the grades have a row for each name of the roster")
			case list != "":
				o.format = formatCSV
			}
			listed, err := readRoster(roster)
			if err != nil {
				return err
			}
			return o.withLeague(c.Context(), nil, func(r *leagueRecord, _ record.Source) error {
				return o.export(r, cmp.Or(list, exportLists[0]), listed)
			})
		},
	}
	choiceFlag(c.Flags(), &format, "format", "", "the form (default \"json\", with --list \"csv\")", formatJSON, formatCSV)
	c.Flags().StringVar(&roster, "roster", "", "the manager's roster `file`, for the grades or a season; its codes are "+
		"not printed")
	c.Flags().BoolVar(&season, "season", false, "print a CSV over all leagues of the data folder, with a column for each")
	choiceFlag(c.Flags(), &list, "list", "", "the list of a CSV (default \"matches\")", exportLists[:]...)
	return c
}

func (o *leagueCommand) export(r *leagueRecord, list string, roster []config.RosterEntry) error {
	if o.format == formatCSV {
		matches, _ := r.Schedule(0) // fails only for an unknown round
		rows := map[string]func() [][]string{
			"matches":   func() [][]string { return matchesCSV(matches) },
			"standings": func() [][]string { return standingsCSV(r.Standings(), league.RemarkColumn()) },
			"decisions": func() [][]string { return decisionsCSV(r.DecisionsMade(0)) },
			"agents":    func() [][]string { return agentsCSV(r.agents()) },
			listGrades:  func() [][]string { return r.gradesCSV(roster, matches) },
		}[list]()
		return printCSV(o.out, withNames(rows, r.NameOf))
	}
	s := r.status()
	return printJSON(o.out, struct {
		head

		DisplayName string `json:"display_name"`

		GameType   string                `json:"game_type"`
		Tournament string                `json:"tournament,omitzero"`
		State      string                `json:"state"`
		Paused     *journal.Made         `json:"paused,omitzero"`
		Champion   *league.Champion      `json:"champion,omitzero"`
		Rounds     int                   `json:"rounds"`
		Round      int                   `json:"round"`
		Events     int                   `json:"events"`
		Agents     []exportedAgent       `json:"agents"`
		Standings  []league.Standing     `json:"standings"`
		Matches    rows[record.Match]    `json:"matches"`
		Decisions  []record.DecisionMade `json:"decisions"`
	}{headOf(s.LeagueID), s.DisplayName, s.GameType, s.Tournament, s.State, s.Paused,
		s.Champion, s.Rounds, s.Round, s.Events, r.agents(), r.Standings(), rows[record.Match](r.Scheduled()),
		r.DecisionsMade(0)})
}

// An exportedAgent is an agent of an export.
type exportedAgent struct {
	record.AgentStatus
	Role     string `json:"role"`
	Endpoint string `json:"endpoint"`
}

// agents are all agents.
func (r *leagueRecord) agents() []exportedAgent {
	return lists.Map(r.SortedAgents(), func(a *journal.Agent) exportedAgent {
		return exportedAgent{r.Agent(a), a.Role, a.Endpoint}
	})
}

// csvRows are the names of the columns, and a row for each element of a list.
func csvRows[E any](columns string, list iter.Seq[E], row func(E) []any) [][]string {
	rows := [][]string{strings.Fields(columns)}
	for one := range list {
		rows = append(rows, lists.Map(row(one), cellText))
	}
	return rows
}

// withNames adds behind each column of the ids of agents one of their names.
func withNames(rows [][]string, nameOf func(id string) string) [][]string {
	ids := strings.Fields("about agent_id opponent_id player_A_id player_B_id referee_id winner_player_id")
	if slices.Contains(rows[0], "display_name") {
		return rows
	}
	for i, column := range slices.Backward(slices.Clone(rows[0])) {
		if !slices.Contains(ids, column) {
			continue
		}
		for j, row := range rows {
			name := strings.TrimSuffix(column, "_id") + "_name"
			if j > 0 {
				name = nameOf(row[i])
			}
			rows[j] = slices.Insert(row, i+1, name)
		}
	}
	return rows
}

// gradesCSV has a row for each player of a roster.
func (r *leagueRecord) gradesCSV(roster []config.RosterEntry, matches []record.Match) [][]string {
	ruled, standings := map[string]int{}, map[string]league.Standing{}
	for i := range matches {
		if m := &matches[i]; m.Ruled != nil {
			ruled[m.PlayerAID]++
			ruled[m.PlayerBID]++
		}
	}
	for _, s := range r.Standings() {
		if r.Started == nil {
			s.Rank = 0
		}
		standings[norm.NFC.String(s.DisplayName)] = s
	}
	const columns = "name player_id rank points played won drawn lost technical_losses decided_by_ruling chosen_by_chance"
	players := lists.Filter(roster, func(e config.RosterEntry) bool { return e.Role == protocol.RolePlayer })
	return csvRows(columns, slices.Values(players), func(e config.RosterEntry) []any {
		s := standings[e.Name]
		return []any{e.Name, s.PlayerID, protocol.NonZero(s.Rank), s.Points, s.Played, s.Wins, s.Draws, s.Losses,
			s.TechnicalLosses, ruled[s.PlayerID], s.Fallbacks}
	})
}

func agentsCSV(agents []exportedAgent) [][]string {
	const columns = "agent_id role display_name state reason failures registered_at endpoint"
	return csvRows(columns, slices.Values(agents), func(a exportedAgent) []any {
		return []any{a.AgentID, a.Role, a.DisplayName, a.State, a.Reason, a.Failures, a.RegisteredAt, a.Endpoint}
	})
}

func matchesCSV(matches []record.Match) [][]string {
	const columns = "match_id round_id player_A_id player_B_id status winner_player_id " +
		"drawn_number choice_A choice_B reason referee_id attempt reported_at remark grade"
	return csvRows(columns, slices.Values(matches), func(m record.Match) []any {
		choices := m.LastMoves()
		return []any{
			m.MatchID, m.RoundID, m.PlayerAID, m.PlayerBID, m.Status, m.WinnerPlayerID, m.DrawnNumber, choices[0], choices[1],
			m.Reason, m.RefereeID, protocol.NonZero(m.Attempt), m.ReportedAt, matchRemark(&m), m.Grade,
		}
	})
}

func decisionsCSV(decisions []record.DecisionMade) [][]string {
	return csvRows("event at type about by reason description", slices.Values(decisions), func(d record.DecisionMade) []any {
		return []any{d.Event, d.At, d.Type, d.Matter, d.By, d.Reason, strings.TrimSpace(d.About)}
	})
}
