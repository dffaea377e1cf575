package cmd

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// The output of league status --format json. The members are a contract.
type (
	leagueStatus struct {
		SchemaVersion string `json:"schema_version"`
		record.Progress

		// by the last decision, else by the manager's options
		Planned *record.PlannedStart `json:"start_planned,omitzero"`
		// the agents that the league waits for, before the start
		Expected  *journal.Roster       `json:"expected,omitzero"`
		Missing   []missingAgent        `json:"missing,omitzero"` // agents of --roster that have not registered
		Awaited   []record.AgentStatus  `json:"awaited"`          // have registered and not answered yet
		Running   []record.RunningMatch `json:"running"`          // matches of the open round without a result
		Agents    []record.AgentStatus  `json:"agents"`           // that take no part now, or fail
		Rematches []orderedRematch      `json:"rematches"`
		Decisions []record.DecisionMade `json:"decisions"` // the last ones
		Champion  *league.Champion      `json:"champion,omitzero"`
		NoManager bool                  `json:"no_manager,omitzero"` // nobody runs the league, which is not over
		Events    int                   `json:"events"`
		At        string                `json:"at"` // time of the last event

		champion string // as text; "" before the end
		record   *leagueRecord
	}
	missingAgent struct {
		DisplayName string `json:"display_name"`
		Role        string `json:"role"`
	}
	orderedRematch struct {
		MatchID string `json:"match_id"`
		State   string `json:"state"` // ordered or begun
		journal.Made
	}
)

// shownDecisions is the number of decisions in a status.
const shownDecisions = 5

// status describes the league now.
func (r *leagueRecord) status() *leagueStatus {
	s := &leagueStatus{
		SchemaVersion: outputSchema, Progress: r.Progress(),
		Awaited: []record.AgentStatus{}, Running: r.Running(), Agents: []record.AgentStatus{}, Rematches: []orderedRematch{},
		Decisions: r.DecisionsMade(shownDecisions), Events: r.Events, At: r.At, Planned: r.PlannedStart(),
		record: r,
	}
	s.Missing = r.missing()
	if c := r.Configuration; r.Started == nil {
		s.Expected = &journal.Roster{Players: c.Players, Referees: c.Referees}
		if c.Roster != nil { // without referees it restricts players only
			s.Expected = &journal.Roster{Players: c.Roster.Players, Referees: cmp.Or(c.Roster.Referees, s.Expected.Referees)}
		}
	}
	for _, a := range r.SortedAgents() {
		switch one := r.Agent(a); {
		case r.Started == nil && !a.Answered:
			one.Reason = cmp.Or(r.obstacles[a.AgentID], one.Reason)
			s.Awaited = append(s.Awaited, one)
		case a.Inactive() || a.Failures > 0 || a.LastChoice() || a.KeyChanged > 0:
			s.Agents = append(s.Agents, one)
		}
	}
	for _, id := range r.Rematches {
		m := r.Match(id)
		rematch := orderedRematch{id.String(), "ordered", protocol.ValueOf(m.RematchOrdered)}
		if m.RematchOrdered == nil {
			rematch.State, rematch.Made = "begun", m.Annulled[len(m.Annulled)-1].By
		}
		s.Rematches = append(s.Rematches, rematch)
	}
	s.NoManager = r.Stopped && r.Completed == nil
	if r.Completed != nil {
		champion := r.Champion()
		s.Champion, s.champion = &champion, r.ChampionLine()
	}
	return s
}

// attention has a row for each agent: its name, its id, its state, and what needs attention. In a large league only
// agents that need attention have one.
func (r *leagueRecord) attention() [][]any {
	const most = 50
	rows := protocol.Each(r.missing(), func(a missingAgent) []any {
		return []any{a.DisplayName, "", "absent " + a.Role, "has not registered"}
	})
	table := map[string]league.Standing{}
	for _, row := range r.Standings() {
		table[row.PlayerID] = row
	}
	for _, a := range r.SortedAgents() {
		row, needs := table[a.AgentID], protocol.Select([]string{r.obstacles[a.AgentID]}, func(s string) bool { return s != "" })
		add := func(n int, what, how string) {
			if n > 0 {
				needs = append(needs, protocol.Counted(n, what)+how)
			}
		}
		add(row.TechnicalLosses, "technical loss", "")
		add(a.Failures, "failure", " in a row")
		add(row.Fallbacks, "move", " by chance")
		if len(needs) > 0 || len(r.Agents) <= most || !a.Answered || a.Inactive() || a.LastChoice() || a.KeyChanged > 0 {
			rows = append(rows, []any{a.DisplayName, a.AgentID, r.StateInWords(a), strings.Join(needs, ", ")})
		}
	}
	return rows
}

// missing lists the agents of the roster that have not registered, before the start.
func (r *leagueRecord) missing() (list []missingAgent) {
	if r.Started != nil {
		return nil
	}
	registered := map[missingAgent]bool{}
	for _, a := range r.Agents {
		registered[missingAgent{norm.NFC.String(a.DisplayName), a.Role}] = true
	}
	for _, e := range r.roster {
		if !registered[missingAgent{norm.NFC.String(e.Name), e.Role}] {
			list = append(list, missingAgent{e.Name, e.Role})
		}
	}
	return list
}

// phases are the states of a manager as people read them.
var phases = map[string]string{
	decide.StateWaitingForRegistrations: "waiting for registrations",
	decide.StateCreatingSchedule:        "creating the schedule",
	decide.StateRunningLeague:           "running",
	decide.StateLeagueCompleted:         "completed",
}

// print writes the status as text.
func (s *leagueStatus) print(w io.Writer) error {
	text := printout{screen: columnsOf(w)}
	state := stateOf(&s.Progress, !s.NoManager)
	if s.NoManager {
		hint := "'evenodd manager' or 'evenodd up'"
		if s.record.Created.Simulation != nil {
			hint = "'evenodd simulate --resume'"
		}
		state += fmt.Sprintf(" (last entry %s): start it with the command that began the league, such as %s", clockTime(s.At), hint)
	}
	text.line("League %s: %s", s.LeagueID, state)
	if p := s.Paused; p != nil {
		text.line("Paused by %s since %s%s. 'evenodd league resume' continues it.", p.By, shortTime(p.At),
			record.ReasonAfter(p.Reason))
	}
	if p := s.Planned; p != nil && s.State == decide.StateWaitingForRegistrations {
		by := ""
		if p.By != "" {
			by = ", by " + p.By + record.ReasonAfter(p.Reason)
		}
		text.line("Planned start: %s%s", p.StartAt, by)
	}
	expected := protocol.ValueOf(s.Expected)
	text.line("Players: %s. Referees: %s.", outOf(s.Players, expected.Players), outOf(s.Referees, expected.Referees))
	if s.Rounds > 0 {
		most := atMost(s.AtMost)
		text.line("Round %d of %s%d. Results: %d of %s%d matches.", s.Round, most, s.Rounds, s.Recorded, most, s.Matches)
	}
	for _, t := range s.tables() {
		if len(t.rows) == 0 {
			continue
		}
		text.line("%s", t.title)
		if err := printTable(&text, t.header, t.rows); err != nil {
			return err
		}
	}
	if s.champion != "" {
		text.line("%s", s.champion)
	}
	return text.print(w)
}

// outOf is a number of agents, and how many the league waits for if it does.
func outOf(registered, expected int) string {
	if expected == 0 {
		return strconv.Itoa(registered)
	}
	return fmt.Sprintf("%d of %d", registered, expected)
}

// A titledTable is a table with its title.
type titledTable struct {
	title  string
	header []string
	rows   [][]any
}

func (s *leagueStatus) tables() []titledTable {
	return []titledTable{
		{"Agents:", []string{"Name", "Agent", "State", "Attention"}, s.record.attention()},
		{"Running matches:", []string{"Match", "Player A", "Player B", "Referee", "Attempt", "Since"},
			protocol.Each(s.Running, func(m record.RunningMatch) []any {
				attempt := protocol.NonZero(m.Attempt)
				return []any{m.MatchID, s.record.named(m.PlayerAID), s.record.named(m.PlayerBID), s.record.named(m.RefereeID), attempt, shortTime(m.Since)}
			})},
		{"Rematches:", []string{"Match", "State", "By", "Since", "Reason"},
			protocol.Each(s.Rematches, func(m orderedRematch) []any {
				return []any{m.MatchID, m.State, m.By, shortTime(m.At), m.Reason}
			})},
		{"Last decisions:", []string{"Event", "Time", "Decision"},
			protocol.Each(s.Decisions, func(d record.DecisionMade) []any {
				return []any{d.Event, shortTime(d.At), d.About}
			})},
	}
}

// shortTime is the time of an event without milliseconds.
func shortTime(at string) string {
	whole, _, found := strings.Cut(at, ".")
	if !found {
		return at
	}
	return whole + "Z"
}
