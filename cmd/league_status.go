package cmd

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// The output of league status --format json. The members are a contract.
type (
	leagueStatus struct {
		SchemaVersion string             `json:"schema_version"`
		LeagueID      string             `json:"league_id"`
		DisplayName   string             `json:"display_name,omitzero"`
		GameType      string             `json:"game_type"`
		Tournament    string             `json:"tournament,omitzero"` // swiss or knockout
		State         string             `json:"state"`               // of the manager
		Paused        *decisionInForce   `json:"paused,omitzero"`
		Planned       *plannedStart      `json:"start_planned,omitzero"` // by the last decision, else by the manager's options
		Round         int                `json:"round"`
		Rounds        int                `json:"rounds"`
		Matches       int                `json:"matches"`
		Recorded      int                `json:"recorded"`
		Players       int                `json:"players"`
		Referees      int                `json:"referees"`
		Expected      *journal.Roster    `json:"expected,omitzero"` // the agents that the league waits for, before the start
		Missing       []missingAgent     `json:"missing,omitzero"`  // agents of --roster that have not registered
		Awaited       []agentStatus      `json:"awaited"`           // have registered and not answered yet
		Running       []runningMatch     `json:"running"`           // matches of the open round without a result
		Agents        []agentStatus      `json:"agents"`            // that take no part now, or fail
		Rematches     []orderedRematch   `json:"rematches"`
		Decisions     []decisionOutput   `json:"decisions"` // the last ones
		Champion      *protocol.Champion `json:"champion,omitzero"`
		Events        int                `json:"events"`
		At            string             `json:"at"` // time of the last event

		champion string // as text; "" before the end
	}
	plannedStart struct {
		StartAt string `json:"start_at"`
		By      string `json:"by,omitzero"` // "" for the options of the manager
		Reason  string `json:"reason,omitzero"`
	}
	decisionInForce struct {
		By     string `json:"by"`
		Reason string `json:"reason,omitzero"`
		Since  string `json:"since"`
		Event  int    `json:"event"`
	}
	missingAgent struct {
		DisplayName string `json:"display_name"`
		Role        string `json:"role"`
	}
	agentStatus struct {
		AgentID      string `json:"agent_id"`
		DisplayName  string `json:"display_name"`
		State        string `json:"state"` // as in agents.json, or WITHDRAWN
		Reason       string `json:"reason,omitzero"`
		Failures     int    `json:"failures,omitzero"`
		RegisteredAt string `json:"registered_at"`
	}
	runningMatch struct {
		MatchID   string `json:"match_id"`
		PlayerAID string `json:"player_A_id"`
		PlayerBID string `json:"player_B_id"`
		RefereeID string `json:"referee_id,omitzero"`
		Attempt   int    `json:"attempt,omitzero"` // 0: not assigned yet
		Since     string `json:"since,omitzero"`
	}
	orderedRematch struct {
		MatchID string `json:"match_id"`
		State   string `json:"state"` // ordered or begun
		decisionInForce
	}
	decisionOutput struct {
		Event int    `json:"event"`
		At    string `json:"at"`
		Type  string `json:"type"` // of the event
		By    string `json:"by"`
		About string `json:"about"`

		Matter string `json:"matter,omitzero"` // an agent or a match
		Reason string `json:"reason,omitzero"`
	}
)

// shownDecisions is the number of decisions in a status.
const shownDecisions = 5

// stateWithdrawn is the state of an agent that an organiser has withdrawn.
const stateWithdrawn = "WITHDRAWN"

func inForce(m *journal.Made) *decisionInForce {
	if m == nil {
		return nil
	}
	return &decisionInForce{By: m.By, Reason: m.Reason, Since: m.At, Event: m.Event}
}

// status describes the league now.
func (r *leagueRecord) status() *leagueStatus {
	view := decide.View{State: r.State, LeagueID: r.Created.LeagueID, Phase: decide.Phase(r.State, false)}
	now := view.Status()
	s := &leagueStatus{
		SchemaVersion: outputSchema, LeagueID: r.Created.LeagueID, DisplayName: r.Created.DisplayName, GameType: r.Created.GameType,
		Tournament: now.Tournament, State: now.State, Paused: inForce(r.Paused),
		Round: now.Round, Rounds: now.Rounds, Matches: now.Matches, Recorded: now.Recorded, Players: now.Players, Referees: now.Referees,
		Awaited: []agentStatus{}, Running: r.running(), Agents: []agentStatus{}, Rematches: []orderedRematch{},
		Decisions: r.decided(shownDecisions), Events: r.Events, At: r.at,
	}
	if r.Started == nil {
		s.Missing = r.missing()
	}
	if c := r.Configuration; c != nil && r.Started == nil {
		s.Expected = cmp.Or(c.Roster, &journal.Roster{Players: c.Participants.Players, Referees: c.Participants.Referees})
		if c.StartAt != "" {
			s.Planned = &plannedStart{StartAt: c.StartAt}
		}
	}
	if p := r.StartPlanned; p != nil {
		s.Planned = &plannedStart{p.StartAt, p.By, p.Reason}
	}
	for _, a := range r.sortedAgents() {
		switch one := r.agent(a); {
		case r.Started == nil && !a.Answered:
			s.Awaited = append(s.Awaited, one)
		case a.Inactive() || a.Failures > 0:
			s.Agents = append(s.Agents, one)
		}
	}
	for _, id := range r.Rematches {
		m := r.Match(id)
		if m.RematchOrdered != nil {
			s.Rematches = append(s.Rematches, orderedRematch{id.String(), "ordered", *inForce(m.RematchOrdered)})
		} else {
			s.Rematches = append(s.Rematches, orderedRematch{id.String(), "begun", *inForce(&m.Annulled[len(m.Annulled)-1].By)})
		}
	}
	if r.Completed != nil {
		champion := r.Champion()
		s.Champion, s.champion = &champion, r.championLine()
	}
	return s
}

// missing lists the agents of the roster that have not registered.
func (r *leagueRecord) missing() (list []missingAgent) {
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

// championLine names the champion of a completed league.
func (r *leagueRecord) championLine() string {
	return championLine(plainRows(r.rows()), r.Champion())
}

// sortedAgents are the agents in order of ids, players first.
func (r *leagueRecord) sortedAgents() []*journal.Agent {
	return slices.SortedFunc(maps.Values(r.Agents), func(a, b *journal.Agent) int {
		if a.Player != b.Player {
			if a.Player {
				return -1
			}
			return 1
		}
		return protocol.CompareIDs(a.AgentID, b.AgentID)
	})
}

// agent describes an agent.
func (r *leagueRecord) agent(a *journal.Agent) agentStatus {
	one := agentStatus{AgentID: a.AgentID, DisplayName: a.DisplayName, Failures: a.Failures, RegisteredAt: a.RegisteredAt}
	one.State, one.Reason = r.Lifecycle(a)
	made := cmp.Or(a.Withdrawn, a.Held)
	switch {
	case a.Withdrawn != nil:
		one.State = stateWithdrawn
		fallthrough
	case a.Held != nil:
		one.Reason = made.String() + reasonAfter(made.Reason)
		if a.Annulled {
			one.Reason += "; its results are annulled"
		}
	}
	return one
}

// reasonAfter is a reason behind a colon, unless it is empty.
func reasonAfter(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// running lists the matches that are played now or come next in the open round, and the
// rematches that have begun.
func (r *leagueRecord) running() []runningMatch {
	list := []runningMatch{}
	add := func(id protocol.MatchID) {
		m, idA, idB, _ := r.Find(id)
		if m.Report != nil {
			return
		}
		one := runningMatch{MatchID: id.String(), PlayerAID: idA, PlayerBID: idB, RefereeID: r.Referee(id.Round, id.Number)}
		if attempts := m.Current(); len(attempts) > 0 {
			last := attempts[len(attempts)-1]
			one.RefereeID, one.Attempt, one.Since = last.Referee, last.Number, r.begun[id]
		}
		list = append(list, one)
	}
	if r.Open() {
		for i := range r.Pairings(r.Round) {
			add(protocol.MatchID{Round: r.Round, Number: i + 1})
		}
	}
	for _, id := range r.Rematches {
		if r.Match(id).Reopened() && (id.Round != r.Round || !r.Open()) {
			add(id)
		}
	}
	return list
}

// decided lists the last decisions, all of them if most is 0.
func (r *leagueRecord) decided(most int) []decisionOutput {
	made := r.decisions
	if most > 0 && len(made) > most {
		made = made[len(made)-most:]
	}
	list := make([]decisionOutput, len(made))
	for i, d := range made {
		why := d.event.Decided()
		list[i] = decisionOutput{
			Event: d.number, At: d.at, Type: journal.Kind(d.event), By: why.By, Reason: why.Reason,
			Matter: d.event.Matter(), About: d.event.About(),
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
	var text page
	state := phases[s.State]
	if s.Paused != nil {
		state = "paused"
	}
	text.line("League %s: %s", s.LeagueID, state)
	if p := s.Paused; p != nil {
		text.line("Paused by %s since %s%s. 'evenodd league resume' continues it.", p.By, shortTime(p.Since), reasonAfter(p.Reason))
	}
	if p := s.Planned; p != nil && s.State == decide.StateWaitingForRegistrations {
		by := ""
		if p.By != "" {
			by = ", by " + p.By + reasonAfter(p.Reason)
		}
		text.line("Planned start: %s%s", p.StartAt, by)
	}
	text.line("Players: %s. Referees: %s.", s.of(s.Players, true), s.of(s.Referees, false))
	if s.Rounds > 0 {
		most := atMost(s.Tournament, s.State)
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

// of is a number of players or referees, and how many the league waits for if it does.
func (s *leagueStatus) of(registered int, players bool) string {
	expected := 0
	switch {
	case s.Expected == nil:
	case players:
		expected = s.Expected.Players
	default:
		expected = s.Expected.Referees
	}
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
	missing := titledTable{"On the roster, not registered:", []string{"Name", "Role"}, nil}
	for _, a := range s.Missing {
		missing.rows = append(missing.rows, []any{a.DisplayName, a.Role})
	}
	awaited := titledTable{"Registered, no answer to a ping yet:", []string{"Agent", "Name", "Since"}, nil}
	for _, a := range s.Awaited {
		awaited.rows = append(awaited.rows, []any{a.AgentID, a.DisplayName, shortTime(a.RegisteredAt)})
	}
	running := titledTable{"Running matches:", []string{"Match", "Player A", "Player B", "Referee", "Attempt", "Since"}, nil}
	for _, m := range s.Running {
		attempt := ""
		if m.Attempt > 0 {
			attempt = strconv.Itoa(m.Attempt)
		}
		running.rows = append(running.rows, []any{m.MatchID, m.PlayerAID, m.PlayerBID, m.RefereeID, attempt, shortTime(m.Since)})
	}
	agents := titledTable{"Agents that take no part, or fail:", []string{"Agent", "Name", "State", "Failures", "Reason"}, nil}
	for _, a := range s.Agents {
		agents.rows = append(agents.rows, []any{a.AgentID, a.DisplayName, strings.ToLower(a.State), a.Failures, a.Reason})
	}
	rematches := titledTable{"Rematches:", []string{"Match", "State", "By", "Since", "Reason"}, nil}
	for _, m := range s.Rematches {
		rematches.rows = append(rematches.rows, []any{m.MatchID, m.State, m.By, shortTime(m.Since), m.Reason})
	}
	decisions := titledTable{"Last decisions:", []string{"Event", "Time", "Decision"}, nil}
	for _, d := range s.Decisions {
		decisions.rows = append(decisions.rows, []any{d.Event, shortTime(d.At), d.About})
	}
	return []titledTable{missing, awaited, running, agents, rematches, decisions}
}

// shortTime is the time of an event without milliseconds.
func shortTime(at string) string {
	whole, _, found := strings.Cut(at, ".")
	if !found {
		return at
	}
	return whole + "Z"
}
