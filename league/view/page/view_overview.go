package page

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// An overview is the view of the first page.
type overview struct {
	League    string
	Round     int // live or the round that the page shows
	Progress  *progress
	Timeline  *timeline
	Bracket   *bracket // nil for a format without one
	Standings *standings
	Running   *running
	Results   *results
	Chart     *chart
	Decisions []decision
	Earlier   int   // decisions that are left out
	Join      *join // before the start of a league with a manager; else nil
}

// overviewOf is the overview of a league, now or after a completed round.
func overviewOf(l *record.League, round int) *overview {
	m := at(l, round)
	v := &overview{
		League: leagueName(l), Round: m.round, Progress: m.progress(), Timeline: m.timeline("/"), Standings: m.standings(),
		Bracket: m.bracket(leadingPlaces),
		Running: m.running(), Results: m.results(), Chart: m.chart(), Decisions: m.decisions(len(m.Decisions)),
	}
	v.Earlier = max(len(v.Decisions)-decisionsShown, 0)
	v.Decisions = v.Decisions[:len(v.Decisions)-v.Earlier]
	if v.Progress.State == "over" {
		v.Progress.End = m.ending(v.Standings.Rows)
	}
	return v
}

// overview is the view of the first page, for a request or, if that is nil, for all readers.
func (b *Board) overview(r *http.Request, round int) (v *overview) {
	var obstacles map[string]string // read before, because a page takes no lock of the manager while it has one
	if b.obstacles != nil && !b.begun() {
		obstacles = b.obstacles()
	}
	b.View(func(l *record.League) {
		if v = overviewOf(l, round); v.Standings.Crowd != nil {
			v.Standings.Crowd.explain(obstacles)
		}
		if r != nil {
			v.Join = b.join(l, r)
		}
	})
	return v
}

// begun tells whether the league has begun.
func (b *Board) begun() (begun bool) {
	b.View(func(l *record.League) { begun = l.Started != nil })
	return begun
}

// title names the champion of a league that is over, as page.js does when the end arrives.
func (v *overview) title() string {
	if v.Progress.End != nil {
		return v.Progress.End.Title()
	}
	return "Overview"
}

// A timeline is the view of the scrubber: one position for the time before round 1, one for
// each completed round, and the last one for now or the end.
type timeline struct {
	Page  string // its path
	Value int
	Max   int
	Label string
	Over  bool
	Total int
	Live  bool
	Empty bool // no round is complete: there is nothing to choose
}

// timeline is the scrubber of a page at the moment.
func (m *moment) timeline(page string) *timeline {
	t := &timeline{Page: page, Max: m.CompletedRounds() + 1, Over: m.Completed != nil, Total: m.TotalRounds(),
		Live: m.round == live, Empty: m.CompletedRounds() == 0}
	if t.Over {
		t.Max = m.CompletedRounds()
	}
	t.Value = m.round
	switch {
	case !t.Live && m.round == 0:
		t.Label = "Start"
	case !t.Live:
		t.Label = fmt.Sprintf("Round %d of %d", m.round, t.Total)
	case t.Over:
		t.Label, t.Value = "End", t.Max
	default:
		t.Label, t.Value = "Live", t.Max
	}
	return t
}

// The progress is the view of what the league does now.
type progress struct {
	State    string // a word: waiting, running, paused, over or replay
	Text     string // the state in a few words
	Announce string // what a screen reader tells when it changes

	record.Progress // its State is for programs; Paused is nil unless that is the state

	Game, Format string
	Technical    int    // technical losses
	Champion     string // all players that share the first rank, in a line
	End          *ending
	Halted       string // the time of the last event, if nobody runs the league
	EndsAt, Left string // see moment.expected
	Bound        bool   // Matches is the largest possible number: a league with a bracket ends earlier
	Awaited      *conditions
	Rematches    []string // match ids
	Leader       *journal.Leader
}

// conditions are what the league waits for before its start.
type conditions struct {
	WantedPlayers, WantedReferees int // 0: any number
	Start                         *record.PlannedStart
	Until                         string // the end of the registration; "" for none, and at the planned start
}

// progress is what the league does at the moment.
func (m *moment) progress() *progress {
	p := &progress{Progress: m.Progress(), Game: shown(m.Games.Name(m.Created.GameType))}
	p.Format, p.Round, p.Paused = record.FormatInWords(m.Created), m.last(), nil
	if m.round != live {
		p.Recorded = 0
	}
	for round := 1; round <= m.last(); round++ {
		sum := m.Rounds[round-1].Summary
		if m.Rounds[round-1].CompletedAt == "" {
			sum = m.Summary(round)
		}
		p.Technical += sum.TechnicalLosses
		if m.round != live {
			p.Recorded += sum.TotalMatches
		}
	}
	if m.round == live && m.Completed == nil {
		p.Leader = m.Leader
	}
	p.Rematches = lists.Map(m.Rematches, league.MatchID.String)
	m.describe(p)
	p.EndsAt, p.Left = m.expected(p)
	p.Bound = m.Created.Tournament.HasBracket() && m.Completed == nil
	return p
}

// describe sets the state and what belongs to it.
func (m *moment) describe(p *progress) {
	of := strconv.Itoa(p.Rounds)
	if m.AtMost() {
		of = "at most " + of
	}
	switch {
	case m.round == 0:
		p.State, p.Text = "replay", "Before round 1"
	case m.round > 0:
		p.State, p.Text = "replay", fmt.Sprintf("After round %d of %s", m.round, of)
	case m.Completed != nil:
		p.State, p.Text, p.Champion = "over", "Finished", shown(m.ChampionLine())
		p.Announce = p.Champion + "."
	case m.Stopped:
		p.State, p.Text, p.Halted = "stopped", "No manager runs", m.At
		p.Announce = "No manager runs the league."
	case m.Started == nil:
		p.State, p.Text, p.Awaited = "waiting", "Waiting for the start", m.awaited()
		p.Announce = words.Counted(p.Players, "player") + " registered."
	case m.Paused != nil:
		p.State, p.Text, p.Paused = "paused", "Paused", m.Paused
		p.Announce = "The league is paused."
	case m.Open():
		p.State, p.Text = "running", fmt.Sprintf("Round %d of %s", m.Round, of)
		p.Announce = m.lastRound()
	default:
		p.State, p.Text = "running", fmt.Sprintf("Between rounds: %d of %s played", m.Round, of)
		p.Announce = m.lastRound()
	}
}

// lastRound announces the end of the last completed round.
func (m *moment) lastRound() string {
	round := m.CompletedRounds()
	if round == 0 {
		return "The league has started."
	}
	rows := m.StandingsAfter(round)
	return fmt.Sprintf("Round %d ended. %s leads with %s.", round, m.agent(rows[0].PlayerID).Name,
		words.Counted(rows[0].Points, "point"))
}

// awaited is what a league waits for that has not started.
func (m *moment) awaited() *conditions {
	c := m.Configuration
	a := &conditions{WantedPlayers: c.Players, WantedReferees: c.Referees, Start: m.PlannedStart(), Until: c.RegistrationUntil}
	if c.Roster != nil && a.WantedPlayers == 0 {
		a.WantedPlayers = c.Roster.Players
	}
	return a
}

// Facts are the facts about the league in one line.
func (p *progress) Facts() string {
	if p.Awaited != nil {
		return p.Game + " · " + p.Format
	}
	facts := []string{p.Game, p.Format, words.Counted(p.Players, "player"), words.Counted(p.Referees, "referee")}
	if p.End != nil {
		facts = append(facts, words.Counted(p.Recorded, "match"))
	}
	return strings.Join(facts, " · ")
}
