package report

import (
	"embed"
	"fmt"
	"io"
	"io/fs"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/view/page"
	"evenodd/league/view/record"
)

//go:embed assets
var assets embed.FS

// Limits of the HTML: a league of 200 players stays a file that a browser opens at once. The
// document as JSON has everything.
const (
	maxDraws    = 2000 // matches of a league whose draws are shown
	maxUnfolded = 8    // agents whose faults are all unfolded
	maxOpen     = 60   // matches of a league whose rounds are all unfolded
)

// export writes a file with a template of the assets.
func export(w io.Writer, name, title string, view any) error {
	folder, err := fs.Sub(assets, "assets")
	if err != nil {
		return err
	}
	return page.Export(w, folder, name, title, view)
}

// views are the views of the pages.
func (r *Report) views() *page.Views {
	strategies := map[string]string{}
	for i := range r.Standings {
		strategies[r.Standings[i].PlayerID] = r.Standings[i].Strategy
	}
	return page.NewViews(r.state, r.health, r.Statistics, strategies)
}

// HTML writes the report as one file that needs no network.
func (r *Report) HTML(w io.Writer) error {
	views := r.views()
	view := struct {
		*Report

		Views  *page.Views
		Rounds []*matchList
		Blamed []blamed
	}{r, views, r.rounds(views), blame(r.Faults)}
	return export(w, "report.html", r.Title(), &view)
}

// HTML writes the sheet as one file that needs no network.
func (s *Sheet) HTML(w io.Writer) error {
	views := s.report.views()
	view := struct {
		*Sheet

		Views *page.Views
		Shown blamed // the faults
		List  *matchList
	}{s, views, blamed{AgentID: s.Agent.AgentID, Groups: s.Faults}, newMatchList(views, s.Transcripts)}
	for i := range s.Matches {
		view.List.add(&s.Matches[i])
	}
	return export(w, "sheet.html", fmt.Sprintf("%s (%s) in %s", s.Agent.DisplayName, s.Agent.AgentID,
		s.League.LeagueID), &view)
}

// A matchList is a list of matches, each with its conversations.
type matchList struct {
	Views    *page.Views
	Matches  []*Match
	RoundID  int
	Recorded int
	Lost     int // technical losses
	Open     bool
	Draws    bool

	talks map[string][]Transcript
}

func newMatchList(views *page.Views, transcripts []Transcript) *matchList {
	l := &matchList{Views: views, Draws: true, talks: map[string][]Transcript{}}
	for _, t := range transcripts {
		l.talks[t.MatchID] = append(l.talks[t.MatchID], t)
	}
	return l
}

func (l *matchList) add(m *Match) {
	l.Matches = append(l.Matches, m)
	switch m.Status {
	case record.StatusScheduled, record.StatusRunning:
		return
	case league.StatusTechnicalLoss:
		l.Lost++
	}
	l.Recorded++
}

// Talks are the conversations of a match.
func (l *matchList) Talks(m *Match) []Transcript { return l.talks[m.MatchID] }

// rounds are the matches by round.
func (r *Report) rounds(views *page.Views) (list []*matchList) {
	all := newMatchList(views, r.Transcripts)
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

// Result is the outcome of the match in a word.
func (m *Match) Result() string {
	switch m.Status {
	case record.StatusScheduled:
		return "planned"
	case record.StatusRunning:
		return "no result yet"
	case league.StatusDraw:
		return "draw"
	case league.StatusTechnicalLoss:
		return "technical loss"
	}
	return "win"
}

// Winner is the id of the winner; "" for none.
func (m *Match) Winner() string { return protocol.ValueOf(m.WinnerPlayerID) }

// Remarks tell what is unusual about the match.
func (m *Match) Remarks() []string {
	remarks := m.Match.Remarks()
	for _, f := range m.Fallbacks {
		remarks = append(remarks, f.Name+": "+protocol.Counted(f.Value, "fallback"))
	}
	return remarks
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
	for i := range list {
		list[i].Open = len(list) <= maxUnfolded
	}
	return list
}
