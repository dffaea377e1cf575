package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	table "evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

//go:embed assets
var assets embed.FS

// Limits of the HTML: a league of 200 players stays a file that a browser opens at once. The
// document as JSON has everything.
const (
	maxCross    = 40    // players in the cross table
	maxLines    = 10    // players in the chart
	maxDraws    = 2000  // matches whose draws are shown
	maxRounds   = 200   // rounds in the chart
	maxRows     = 25000 // matches
	maxUnfolded = 8     // agents whose faults are all unfolded
	maxOpen     = 60    // matches of a league whose rounds are all unfolded
)

// A page is what the templates of a report and of a sheet share.
type page struct {
	Heading string
	CSS     template.CSS
	JS      template.JS
	CSP     string
}

// newPage reads the style and the script, and permits them by their hashes alone.
func newPage(heading string) (page, error) {
	css, err := assets.ReadFile("assets/report.css")
	if err != nil {
		return page{}, err
	}
	js, err := assets.ReadFile("assets/report.js")
	if err != nil {
		return page{}, err
	}
	hash := func(text []byte) string {
		sum := sha256.Sum256(text)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return page{
		Heading: heading, CSS: template.CSS(css), JS: template.JS(js), //nolint:gosec // both are files of this package
		CSP: "default-src 'none'; style-src " + hash(css) + "; script-src " + hash(js) + "; img-src data:; base-uri 'none'; form-action 'none'",
	}, nil
}

// render executes a template of the assets.
func render(w io.Writer, name string, names map[string]string, data any) error {
	t, err := template.New(name).Funcs(template.FuncMap{
		"text":  protocol.Escape,
		"name":  func(id string) string { return protocol.Escape(names[id]) },
		"time":  clock,
		"share": func(value, of float64) string { return fmt.Sprintf("%.1f", 100*value/max(of, 1e-9)) },
		"ms":    record.Milliseconds,
		"value": func(v *string) string {
			if v == nil {
				return ""
			}
			return protocol.Escape(*v)
		},
		"list":  func(values ...any) []any { return values },
		"label": table.TiebreakLabel,
		"join":  strings.Join,
	}).ParseFS(assets, "assets/*.html")
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, name, data)
}

// clock formats the time of an event for people.
func clock(at string) string {
	day, clock, ok := strings.Cut(at, "T")
	if !ok {
		return protocol.Escape(at)
	}
	clock, _, _ = strings.Cut(strings.TrimSuffix(clock, "Z"), ".")
	return protocol.Escape(day + " " + clock)
}

// A reportPage is what the template of a report shows.
type reportPage struct {
	page
	*Report

	Columns   columns
	Cross     *crossView
	Chart     *chart
	Strength  *strength
	Rounds    []roundView
	Draws     bool
	Blamed    []blamed
	Missing   int      // matches that the HTML omits
	Questions []string // the methods whose latency the table of agents shows
}

// HTML writes the report as one file that needs no network.
func (r *Report) HTML(w io.Writer) error {
	base, err := newPage(r.Title())
	if err != nil {
		return err
	}
	return render(w, "report.html", r.Names(), &reportPage{
		page: base, Report: r, Columns: r.columns(), Cross: newCrossView(r), Chart: newChart(r), Strength: newStrength(r.Statistics), Rounds: r.rounds(),
		Draws: r.hasDraws() && len(r.Matches) <= maxDraws, Blamed: blame(r.Faults), Missing: max(len(r.Matches)-maxRows, 0), Questions: r.questions(),
	})
}

// Columns are the columns of the standings that only some leagues have.
type columns struct {
	Strategies, Technical, Fallbacks, Swiss, Remarks bool
	Tiebreaks                                        []string
}

func (r *Report) columns() (c columns) {
	for i := range r.Standings {
		row := &r.Standings[i]
		c.Strategies = c.Strategies || row.Strategy != ""
		c.Technical = c.Technical || row.TechnicalLosses > 0
		c.Fallbacks = c.Fallbacks || row.Fallbacks > 0
		c.Swiss = c.Swiss || row.Byes != nil
		c.Remarks = c.Remarks || row.Withdrawn || row.Annulled
		for name := range row.TiebreakValues {
			if !slices.Contains(c.Tiebreaks, name) {
				c.Tiebreaks = append(c.Tiebreaks, name)
			}
		}
	}
	slices.Sort(c.Tiebreaks)
	return c
}

// Tiebreak is the value of a tie-break in the row; "" if it decided nothing.
func (r *Row) Tiebreak(name string) string {
	value, ok := r.TiebreakValues[name]
	if !ok {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", value), "0"), ".")
}

// A roundView is a round with its matches.
type roundView struct {
	RoundID  int
	Matches  []*Match
	Recorded int
	Lost     int // technical losses
	Open     bool
}

func (r *Report) rounds() (list []roundView) {
	for i := range r.Matches[:min(len(r.Matches), maxRows)] {
		m := &r.Matches[i]
		if len(list) == 0 || list[len(list)-1].RoundID != m.RoundID {
			list = append(list, roundView{RoundID: m.RoundID, Open: len(r.Matches) <= maxOpen})
		}
		round := &list[len(list)-1]
		round.Matches = append(round.Matches, m)
		switch m.Status {
		case record.StatusScheduled, record.StatusRunning:
			continue
		case protocol.StatusTechnicalLoss:
			round.Lost++
		}
		round.Recorded++
	}
	return list
}

func (r *Report) hasDraws() bool {
	return slices.ContainsFunc(r.Matches, func(m Match) bool { return m.Draw != nil })
}

// questions are the methods of questions that players answered.
func (r *Report) questions() (methods []string) {
	for _, method := range []string{protocol.Invite.Name, protocol.ChooseParity.Name, protocol.MakeMove.Name} {
		if slices.ContainsFunc(r.Agents, func(a Agent) bool { return a.LatencyOf(method) != nil }) {
			methods = append(methods, method)
		}
	}
	return methods
}

// LatencyOf is the latency of an agent's answers to a method; nil for none.
func (a *Agent) LatencyOf(method string) *record.Latency {
	for i := range a.Latency {
		if a.Latency[i].Method == method {
			return &a.Latency[i]
		}
	}
	return nil
}

// Wins tells whether a player has won the match.
func (m *Match) Wins(id string) bool { return m.WinnerPlayerID != nil && *m.WinnerPlayerID == id }

// Choice is what a player chose; "" for nothing.
func (m *Match) Choice(id string) string {
	choice, _ := m.Choices.Get(id)
	if choice == nil {
		return ""
	}
	return protocol.Escape(*choice)
}

// Remarks tell what is unusual about the match.
func (m *Match) Remarks() (remarks []string) {
	add := func(format string, args ...any) {
		remarks = append(remarks, protocol.Escape(fmt.Sprintf(format, args...)))
	}
	if m.Ruled != nil {
		add("ruled by %s%s", m.Ruled.By, record.ReasonAfter(m.Ruled.Reason))
	}
	if m.Rematch != nil {
		add("rematch ordered by %s%s", m.Rematch.By, record.ReasonAfter(m.Rematch.Reason))
	}
	if len(m.Disputed) > 0 {
		add("disputed by %s", strings.Join(m.Disputed, ", "))
	}
	if m.Grade == journal.GradeStated {
		add("rests on the word of its referee")
	}
	for _, a := range m.Annulled {
		add("annulled by %s: %s", a.By.By, a.Reason)
	}
	for _, mark := range m.KeyMarks {
		add("%s", mark)
	}
	if m.Attempt > 1 {
		add("attempt %d", m.Attempt)
	}
	for _, f := range m.Fallbacks {
		add("%s: %s", f.Name, protocol.Counted(f.Value, "fallback"))
	}
	return remarks
}

// Result is the outcome of the match in a word.
func (m *Match) Result() string {
	switch m.Status {
	case record.StatusScheduled:
		return "planned"
	case record.StatusRunning:
		return "no result yet"
	case protocol.StatusDraw:
		return "draw"
	case protocol.StatusTechnicalLoss:
		return "technical loss"
	}
	return "win"
}

// A blamed is an agent with its faults.
type blamed struct {
	AgentID string
	Groups  []FaultGroup
	Count   int
	Lost    int
	Open    bool
}

func blame(groups []FaultGroup) (list []blamed) {
	for _, g := range groups {
		if len(list) == 0 || list[len(list)-1].AgentID != g.AgentID {
			list = append(list, blamed{AgentID: g.AgentID})
		}
		last := &list[len(list)-1]
		last.Groups, last.Count, last.Lost = append(last.Groups, g), last.Count+g.Count, last.Lost+g.Lost
	}
	unfolded := 0
	for i := range list {
		list[i].Open = len(list) <= maxUnfolded || list[i].Lost > 0 && unfolded < maxUnfolded
		if list[i].Lost > 0 {
			unfolded++
		}
	}
	return list
}

// A sheetPage is what the template of a sheet shows.
type sheetPage struct {
	page
	*Sheet

	Shown blamed // the faults
	Rows  []*sheetRow
}

// A sheetRow is a match with its outcome for the agent.
type sheetRow struct {
	*Match

	Outcome string
}

// Class is the class of the outcome: red for a loss.
func (r *sheetRow) Class() string {
	if r.Outcome == "lost" {
		return protocol.StatusTechnicalLoss
	}
	return r.Status
}

// HTML writes the sheet as one file that needs no network.
func (s *Sheet) HTML(w io.Writer) error {
	base, err := newPage(fmt.Sprintf("%s (%s) in %s", s.Agent.DisplayName, s.Agent.AgentID, s.League.LeagueID))
	if err != nil {
		return err
	}
	p := &sheetPage{page: base, Sheet: s, Shown: blamed{AgentID: s.Agent.AgentID, Groups: s.Faults}}
	for i := range s.Matches {
		p.Rows = append(p.Rows, &sheetRow{&s.Matches[i], s.Outcome(&s.Matches[i])})
	}
	return render(w, "sheet.html", s.names, p)
}
