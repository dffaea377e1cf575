package report

import (
	"fmt"
	"io"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/view/page"
	"evenodd/league/view/record"
)

// Limits of the HTML: a league of 200 players stays a file that a browser opens at once. The
// document as JSON has everything.
const (
	maxDraws    = 2000 // matches of a league whose draws are shown
	maxUnfolded = 8    // agents whose faults are all unfolded
	maxOpen     = 60   // matches of a league whose rounds are all unfolded
)

// views are the views of the pages.
func (r *Report) views() *page.Views {
	return page.NewViews(r.state, r.health, r.Statistics, r.Standings)
}

// HTML writes the report as one file that needs no network.
func (r *Report) HTML(w io.Writer) error {
	views := r.views()
	view := struct {
		*Report

		Views  *page.Views
		Rounds []*matchList
		Blamed []agentFaults
	}{r, views, r.rounds(views), blame(r.Faults)}
	return page.Export(w, r.state.Zone, "report.html", r.Headline(), &view)
}

// HTML writes the sheet as one file that needs no network.
func (s *Sheet) HTML(w io.Writer) error {
	views := s.report.views()
	view := struct {
		*Sheet

		Views *page.Views
		Shown agentFaults // the faults
		List  *matchList
	}{s, views, agentFaults{AgentID: s.Agent.AgentID, Groups: s.Faults}, newMatchList(views, s.report, s.Transcripts)}
	for i := range s.Matches {
		view.List.add(&s.Matches[i])
	}
	title := fmt.Sprintf("%s (%s) in %s", s.Ref(s.Agent.AgentID).Name, s.Agent.AgentID, s.League.Name())
	return page.Export(w, s.report.state.Zone, "sheet.html", title, &view)
}

// What a sheet of one A4 page has room for.
const (
	sheetMatches  = 24
	sheetFaults   = 3
	sheetWarnings = 2
)

// A pageSheet is a sheet that fits one page.
type pageSheet struct {
	*Sheet

	Shown []record.Match // the last ones
	First []FaultGroup
	More  bool // than the page has
}

// Sheets writes the sheets of all agents as one file, one page each.
func (r *Report) Sheets(w io.Writer) error {
	view := struct {
		*Report

		Views  *page.Views
		Sheets []pageSheet
	}{r, r.views(), nil}
	for i := range r.Agents {
		s, err := r.Sheet(r.Agents[i].AgentID)
		if err != nil {
			return err
		}
		s.Matches = lists.Filter(s.Matches, func(m record.Match) bool { return m.HasResult() })
		warnings := len(s.Agent.Warnings)
		s.Agent.Warnings = s.Agent.Warnings[:min(len(s.Agent.Warnings), sheetWarnings)]
		view.Sheets = append(view.Sheets, pageSheet{
			s, s.Matches[max(len(s.Matches)-sheetMatches, 0):], s.Faults[:min(len(s.Faults), sheetFaults)],
			len(s.Matches) > sheetMatches || len(s.Faults) > sheetFaults || warnings > sheetWarnings,
		})
	}
	return page.Export(w, r.state.Zone, "sheets.html", "Sheets of "+r.League.Name(), &view)
}

// A matchList is a list of matches, each with its conversations.
type matchList struct {
	Views    *page.Views
	Games    map[string]*record.Conversation
	Matches  []*record.Match
	RoundID  int
	Recorded int
	Lost     int // technical losses
	Open     bool
	Draws    bool

	transcripts []Transcript
}

func newMatchList(views *page.Views, r *Report, transcripts []Transcript) *matchList {
	return &matchList{Views: views, Games: r.games, Draws: true, transcripts: transcripts}
}

func (l *matchList) add(m *record.Match) {
	l.Matches = append(l.Matches, m)
	if m.HasResult() {
		l.Recorded++
	}
	if m.Status == league.StatusTechnicalLoss {
		l.Lost++
	}
}

// Talks are the conversations of a match.
func (l *matchList) Talks(m *record.Match) []Transcript {
	return lists.Filter(l.transcripts, func(t Transcript) bool { return t.MatchID == m.MatchID })
}

// rounds are the matches by round.
func (r *Report) rounds(views *page.Views) (list []*matchList) {
	all := newMatchList(views, r, r.Transcripts)
	all.Open, all.Draws = len(r.Matches) <= maxOpen, len(r.Matches) <= maxDraws
	for i := range r.Matches {
		m := &r.Matches[i]
		if all.RoundID != m.RoundID {
			all.RoundID = m.RoundID
			round := *all
			list = append(list, &round)
		}
		list[len(list)-1].add(m)
	}
	return list
}

// A agentFaults is an agent with its faults.
type agentFaults struct {
	AgentID string
	Groups  []FaultGroup
	Count   int
	Lost    int
	Open    bool
}

func blame(groups []FaultGroup) (list []agentFaults) {
	for _, g := range groups {
		if len(list) == 0 || list[len(list)-1].AgentID != g.AgentID {
			list = append(list, agentFaults{AgentID: g.AgentID})
		}
		last := &list[len(list)-1]
		last.Groups, last.Count, last.Lost = append(last.Groups, g), last.Count+g.Count, last.Lost+g.Lost
	}
	for i := range list {
		list[i].Open = len(list) <= maxUnfolded
	}
	return list
}
