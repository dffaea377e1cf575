package cmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"evenodd/config/userfile"
	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/league/view/report"
	"evenodd/league/view/stats"
	"evenodd/league/words"
)

// formatHTML is an output format of reports.
const formatHTML = "html"

type reportOptions struct {
	leagueID string
	agent    string
	format   string
	list     string
	output   string
	sheets   bool
	rules    gameReader
}

// The lists of a report as CSV.
var (
	reportLists = []string{"matches", "standings", "faults", "ratings", "decisions"}
	sheetLists  = []string{"matches", "faults", "opponents", "latency"}
)

// newReport makes 'evenodd report', which writes what is recorded of a league.
func newReport(s streams) *cobra.Command {
	o := &reportOptions{}
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Write the report of a league, or the sheet of one agent",
		Long: `Write the report of a league from its data folder: standings, cross table, points after each round,
statistics, all matches, faults with their remedies, the transcripts of matches with faults or disputes, and the
decisions of organisers. The league may be running.

With --format html the report is one file that needs no network. It is named after the league unless -o names it. The
other formats go to standard output unless -o names a file.

With --agent, write the sheet of one agent: its results, its faults with causes and remedies, its latency, its warnings
and its history. With --sheets, write short sheets of all agents in one HTML file, each one page of A4 when printed. A
report has no tokens and no endpoints.`,
		Example: examples(
			"Write the report as an HTML file", "evenodd report ./my-league",
			"Explain the faults of one agent", "evenodd report ./my-league --agent P03 --format text",
			"Print a sheet for each agent", "evenodd report ./my-league --sheets",
			"Write a table for a spreadsheet", "evenodd report ./my-league --format csv --list standings",
		),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runReport(c.Context(), s, o, args[0]) },
	}
	f := c.Flags()
	leagueFlag(f, &o.leagueID, "the league", "")
	o.rules.flags(f, "for the words of its moves")
	f.StringVar(&o.agent, "agent", "", "write the sheet of this `agent`: its id or its name")
	completeAgent(c, "agent", "")
	f.BoolVar(&o.sheets, "sheets", false, "write the sheets of all agents as one HTML file, one page of A4 each")
	choiceFlag(f, &o.format, "format", formatHTML, "", formatHTML, formatText, formatJSON, formatCSV)
	lists := append(slices.Clone(reportLists), "opponents", "latency")
	f.Var(&choice{value: &o.list, words: lists}, "list",
		"the list of a CSV: matches, standings, faults, ratings or decisions; with --agent matches, faults, opponents or latency (default \"matches\")")
	f.StringVarP(&o.output, "output", "o", "",
		"the `file` to write, - for standard output (default: LEAGUE.html, LEAGUE-AGENT.html or LEAGUE-sheets.html for "+
			"HTML, else standard output)")
	return c
}

// check checks the flags.
func (o *reportOptions) check() error {
	if o.sheets && (o.agent != "" || o.format != formatHTML) {
		return usage("--sheets writes the sheets of all agents as HTML: leave out --agent and --format")
	}
	if o.list != "" && o.format != formatCSV {
		return usage("--list needs --format csv: the other formats have all lists")
	}
	lists := reportLists
	if o.agent != "" {
		lists = sheetLists
	}
	if o.list = cmp.Or(o.list, lists[0]); !slices.Contains(lists, o.list) {
		return usage("--list %q: %s", o.list, mustBe(o.list, lists))
	}
	return nil
}

func runReport(ctx context.Context, s streams, o *reportOptions, dir string) error {
	if err := o.check(); err != nil {
		return err
	}
	folder := store.In(dir)
	var err error
	if o.leagueID, err = s.chooseLeague(folder, o.leagueID, false); err != nil {
		return err
	}
	own, err := o.rules.open(ctx)
	if err != nil {
		return err
	}
	defer own.close()
	_, stop := s.showProgress("reading the league")
	r, err := report.Read(ctx, folder, report.Options{LeagueID: o.leagueID, Agent: o.agent, Games: own.games(),
		Zone: time.Local})
	stop()
	if err != nil {
		return err
	}
	var file bytes.Buffer
	if err := o.write(&file, r, dir); err != nil {
		return err
	}
	if o.format == formatHTML {
		part := r.AgentID
		if o.sheets {
			part = "sheets"
		}
		o.output = cmp.Or(o.output, strings.TrimSuffix(o.leagueID+"-"+part, "-")+".html")
	}
	if o.output == "" || o.output == "-" {
		_, err := s.out.Write(file.Bytes())
		return err
	}
	if err := userfile.Write(o.output, file.Bytes(), 0o644); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return printLine(s.err, "%s: %s", o.output, r.Title())
}

// write writes the report, or the sheet of the agent.
func (o *reportOptions) write(w io.Writer, r *report.Report, dir string) error {
	var document interface{ HTML(w io.Writer) error } = r
	var sheet *report.Sheet
	if r.AgentID != "" {
		var err error
		if sheet, err = r.Sheet(r.AgentID); err != nil {
			return err
		}
		document = sheet
	}
	switch o.format {
	case formatJSON:
		return printJSON(w, document)
	case formatText:
		return printLeagueReport(w, r, sheet, dir)
	case formatHTML:
		if o.sheets {
			return r.Sheets(w)
		}
		return document.HTML(w)
	}
	return printCSV(w, withNames(listCSV(r, sheet, o.list), r.NameOf))
}

// printLeagueReport prints a report, or the sheet of an agent unless it is nil, for a terminal.
func printLeagueReport(w io.Writer, r *report.Report, s *report.Sheet, dir string) error {
	t := printout{screen: columnsOf(w)}
	if s != nil {
		addSheet(&t, s)
	} else {
		addReport(&t, r)
		if n := len(r.Transcripts); n > 0 {
			t.line("%s with faults, disputes or decisions: evenodd replay %s --data %s",
				words.Counted(n, "conversation"), r.Transcripts[0].MatchID, dir)
		}
		t.line(
			"Each match, the cross table and the points after each round: --format html, json or csv. One agent: --agent NAME")
	}
	return t.print(w)
}

// addReport adds a report without its matches.
func addReport(t *printout, r *report.Report) {
	t.line("%s (%s, %s)", r.Title(), r.Game(), r.Format())
	if len(r.Standings) > 0 {
		titles, cells := league.Cells(league.Columns(r.Standings), r.Standings)
		t.table(titles, cells)
	}
	for _, sentence := range r.EvidenceInWords() {
		t.line("%s", sentence)
	}
	if r.League.Champions != "" {
		t.line("%s", r.League.Champions)
	}
	if r.Statistics != nil {
		t.line("%s", r.Statistics.Told)
	}
	if len(r.Models) > 0 {
		t.heading("Language models")
	}
	for i := range r.Models {
		t.line("  %s (%s): %s", r.Ref(r.Models[i].PlayerID), r.Models[i].Name, r.Models[i].Words())
	}
	if len(r.Faults) > 0 || len(r.Evidence) == 0 { // else an agent may have failed without a word
		t.heading("Faults by agent")
		addFaults(t, r.Faults, r.Ref, false)
	}
	if len(r.Decisions) > 0 {
		t.heading("Decisions of organisers")
	}
	for _, one := range r.Decisions {
		t.line("  %s", localTimes(one.At+"  "+one.Shown))
	}
	t.line("")
	t.line("%s", r.Seal.Words())
}

// addSheet adds the sheet of an agent.
func addSheet(t *printout, s *report.Sheet) {
	t.line("%s, %s of %s: %s", s.Ref(s.Agent.AgentID), s.Agent.Role, s.League.Name(),
		s.League.Words())
	t.line("State: %s", s.StateWords())
	if s.Standing != nil {
		t.line("%s. %s", s.StandingLine(), s.RatingWords())
	} else {
		t.line("Matches conducted: %d, declined: %d", s.Agent.Matches, s.Agent.Declined)
	}
	for _, one := range s.Agent.Warnings {
		t.line("Accepted, with a warning: %s, %s", one.Problem, words.Times(one.Count))
	}
	t.heading("Faults by agent")
	addFaults(t, s.Faults, s.Ref, true)
	t.heading("Matches")
	addMatches(t, s)
	if len(s.Opponents) > 0 {
		t.heading("Opponents")
		t.table([]string{"Opponent", "Name", "W", "D", "L", "Points"}, lists.Map(s.Opponents, func(h record.HeadToHead) []any {
			return []any{h.OpponentID, s.Ref(h.OpponentID).Name, h.Wins, h.Draws, h.Losses, h.Points}
		}))
	}
	if len(s.Agent.Latency) > 0 {
		t.heading("Times of the answers")
		t.table([]string{"Answer to", "Answers", "p50 ms", "p90 ms", "p99 ms", "Longest ms", "Late", "Limit"},
			lists.Map(s.Agent.Latency, func(l record.Latency) []any {
				return []any{l.Method, l.Answers, l.Number(l.P50), l.Number(l.P90), l.Number(l.P99), l.Number(l.Longest), l.Late, fmt.Sprintf("%g s", l.Deadline)}
			}))
	}
	t.heading("History")
	for _, h := range s.History {
		t.line("  %s", localTimes(h.At+"  "+h.What))
	}
	for _, one := range s.Decisions {
		t.line("  %s", localTimes(one.At+"  "+one.Shown))
	}
}

// addMatches adds the matches of an agent.
func addMatches(t *printout, s *report.Sheet) {
	rows := lists.Map(s.Matches, func(m record.Match) []any {
		remarks := m.Remarks()
		for _, f := range m.Fallbacks {
			remarks = append(remarks, f.Name+": "+words.Counted(f.Value, "fallback"))
		}
		remarks = append(remarks, s.Mistakes(m.MatchID)...)
		return []any{m.MatchID, s.Ref(m.PlayerAID), s.Ref(m.PlayerBID), m.Word(), s.Ref(m.Winner()), m.Reason,
			strings.Join(remarks, "; ")}
	})
	t.table([]string{"Match", "Player A", "Player B", "Result", "Winner", "Reason", "Remark"}, rows)
}

// addFaults adds faults with their remedies, and each try if they are wanted.
func addFaults(t *printout, groups []report.FaultGroup, named func(id string) league.Ref, tries bool) {
	if len(groups) == 0 {
		t.line("None.")
	}
	for i := range groups {
		g := &groups[i]
		if i == 0 || g.AgentID != groups[i-1].AgentID {
			t.line("%s", named(g.AgentID))
		}
		t.line("  %s", g.Sentence())
		t.line("    %s", g.Problem)
		if g.Remedy != "" {
			t.line("    To mend it%s: %s", g.Reference(), g.Remedy)
		}
		if !tries {
			t.line("    In %s", strings.Join(g.MatchIDs(), ", "))
			continue
		}
		for _, same := range g.Repeats() {
			one, answer := same.First, ""
			if one.Answer != "" {
				answer = "; it answered " + one.Answer
			}
			where := same.Where()
			if one.At != "" {
				where += ", " + localTimes(one.At)
			}
			t.line("    %s: %s%s", where, one.Problem, answer)
		}
	}
}

// listCSV are the rows of a list of a report, or of the sheet of an agent unless it is nil. Their columns are a
// contract.
func listCSV(r *report.Report, s *report.Sheet, list string) [][]string {
	matches, faults := r.Matches, r.Faults
	if s != nil {
		matches, faults = s.Matches, s.Faults
	}
	switch list {
	case "standings":
		return standingsCSV(r.Standings)
	case "faults":
		return faultsCSV(faults)
	case "ratings":
		return ratingsCSV(r.Statistics)
	case "decisions":
		return decisionsCSV(r.Decisions)
	case "opponents":
		const columns = "opponent_id wins draws losses technical_losses points match_ids"
		return csvRows(columns, slices.Values(s.Opponents), func(h record.HeadToHead) []any {
			return []any{
				h.OpponentID, h.Wins, h.Draws, h.Losses, h.TechnicalLosses, h.Points, strings.Join(h.MatchIDs, " "),
			}
		})
	case "latency":
		const columns = "method answers p50_ms p90_ms p99_ms longest_ms deadline_sec late late_from_ms"
		return csvRows(columns, slices.Values(s.Agent.Latency), func(l record.Latency) []any {
			return []any{l.Method, l.Answers, l.P50, l.P90, l.P99, l.Longest, l.Deadline, l.Late, l.LateFrom}
		})
	}
	return matchesCSV(matches)
}

func faultsCSV(groups []report.FaultGroup) [][]string {
	const columns = "agent_id kind error_code error_name method count technical_losses " +
		"problem requirement remedy match_ids"
	return csvRows(columns, slices.Values(groups), func(g report.FaultGroup) []any {
		return []any{
			g.AgentID, g.Kind, g.Code, g.Name, g.Method, g.Count, g.Lost,
			g.Problem, g.Requirement, g.Remedy, strings.Join(g.MatchIDs(), " "),
		}
	})
}

func ratingsCSV(s *stats.Analysis) [][]string {
	const columns = "player_id display_name strategy matches rating low high rank best_rank worst_rank legs_to_next"
	var ratings []stats.Player
	if s != nil { // the league has started
		ratings = s.Ratings
	}
	return csvRows(columns, slices.Values(ratings), func(r stats.Player) []any {
		return []any{
			r.PlayerID, r.DisplayName, r.Strategy, r.Matches, r.Rating, r.Low, r.High, r.Rank, r.BestRank, r.WorstRank,
			r.LegsToNext,
		}
	})
}
