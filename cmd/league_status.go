package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/text/unicode/norm"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
	"evenodd/league/words"
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
		Leader    *journal.Leader       `json:"manager,omitzero"`    // since the last takeover
		NoManager bool                  `json:"no_manager,omitzero"` // nobody runs the league, which is not over
		Events    int                   `json:"events"`
		At        string                `json:"at"` // time of the last event

		record *leagueRecord
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
		Missing: r.missing(), Leader: r.Leader, record: r,
	}
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
		case a.Inactive() || a.Failures > 0 || decide.LastChoice(r.State, a) || a.KeyChanged > 0:
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
		s.Champion = &champion
	}
	return s
}

// attention has a row for each agent: its name, its id, its state, and what needs attention. In a large league only
// agents that need attention have one; more is the number of the others.
func (r *leagueRecord) attention() (rows [][]any, more int) {
	const most = 50
	why := "has not registered"
	if r.Started != nil {
		why = "was not here at the start"
	}
	rows = lists.Map(r.missing(), func(a missingAgent) []any {
		return []any{a.DisplayName, "", "absent " + a.Role, why}
	})
	table := map[string]league.Standing{}
	for _, row := range r.Standings() {
		table[row.PlayerID] = row
	}
	lost := r.CausesOfLosses()
	for _, a := range r.SortedAgents() {
		row, needs := table[a.AgentID], lists.Filter([]string{r.obstacles[a.AgentID]}, func(s string) bool { return s != "" })
		add := func(n int, what, how string) {
			if n > 0 {
				needs = append(needs, words.Counted(n, what)+how)
			}
		}
		why := ""
		if of := lost[a.AgentID]; of != nil {
			why = ": " + record.CountedInWords(of.Causes)
		}
		add(row.TechnicalLosses, "technical loss", why)
		add(a.Failures, "failure", " in a row")
		add(row.Fallbacks, "move", " by chance")
		if len(needs) > 0 || len(r.Agents) <= most || !a.Answered || a.Inactive() || decide.LastChoice(r.State, a) ||
			a.KeyChanged > 0 {
			rows = append(rows, []any{a.Name, a.AgentID, r.StateInWords(a), strings.Join(needs, ", ")})
		} else {
			more++
		}
	}
	return rows, more
}

// missing lists the agents of the roster that have not registered, or were not there at the start.
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

// missingNames are the names of the agents of missing.
func (r *leagueRecord) missingNames() []string {
	return lists.Map(r.missing(), func(a missingAgent) string { return a.DisplayName })
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
		state += fmt.Sprintf(" (last entry %s): start it with the command that began the league, such as %s",
			localTimes(s.At), hint)
	}
	text.line("%s: %s", calledOf(s.record.Created), state)
	if p := s.Paused; p != nil {
		text.line("Paused by %s since %s%s. 'evenodd league resume' continues it.", p.By, localTimes(p.At),
			record.ReasonAfter(p.Reason))
	}
	if l := s.Leader; l != nil {
		text.line("Manager: %s since %s (term %d).", cmp.Or(l.Manager, "another one"), localTimes(l.At), l.Term)
	}
	if p := s.Planned; p != nil && s.State == decide.StateWaitingForRegistrations {
		by := ""
		if p.By != "" {
			by = ", by " + p.By + record.ReasonAfter(p.Reason)
		}
		text.line("Planned start: %s%s", localTimes(p.StartAt), by)
	}
	expected := protocol.ValueOf(s.Expected)
	text.line("Players: %s. Referees: %s.", outOf(s.Players, expected.Players), outOf(s.Referees, expected.Referees))
	if s.Rounds > 0 {
		most := atMost(s.AtMost)
		text.line("Round %d of %s%d. Results: %d of %s%d matches.", s.Round, most, s.Rounds, s.Recorded, most, s.Matches)
	}
	s.addTables(&text)
	if s.Champion != nil {
		text.line("%s", s.record.ChampionLine())
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

// addTables adds the tables that have rows, each with its title.
func (s *leagueStatus) addTables(text *printout) {
	add := func(title string, header []string, rows [][]any) {
		if len(rows) > 0 {
			text.line("%s:", title)
			_ = printTable(text, header, rows) // never fails
		}
	}
	named := s.record.named
	agents, more := s.record.attention()
	add("Agents", []string{"Name", "Agent", "State", "Attention"}, agents)
	if more > 0 {
		text.line("and %s without anything to attend to", words.Counted(more, "more agent"))
	}
	add("Running matches", []string{"Match", "Player A", "Player B", "Referee", "Attempt", "Since"},
		lists.Map(s.Running, func(m record.RunningMatch) []any {
			return []any{m.MatchID, named(m.PlayerAID), named(m.PlayerBID), named(m.RefereeID), protocol.NonZero(m.Attempt),
				localTimes(m.Since)}
		}))
	add("Rematches", []string{"Match", "State", "By", "Since", "Reason"}, lists.Map(s.Rematches,
		func(m orderedRematch) []any {
			return []any{m.MatchID, m.State, m.By, localTimes(m.At), m.Reason}
		}))
	add("Last decisions", []string{"Event", "Time", "Decision"}, lists.Map(s.Decisions,
		func(d record.DecisionMade) []any { return []any{d.Event, localTimes(d.At), localTimes(d.Shown)} }))
	if more := len(s.record.Decisions) - len(s.Decisions); more > 0 {
		text.line("and %d more: evenodd league export --format csv --list decisions", more)
	}
}

// statusFlags defines the flags of the status for the organiser.
func statusFlags(o *leagueCommand, f *pflag.FlagSet) {
	f.StringVar(&o.roster, "roster", "", "the manager's roster `file`: show the agents in it that have not registered, "+
		"or did not come")
	f.BoolVar(&o.follow, "watch", false, "go on until the league is over, and show each change")
}

// recordedStatus shows the league to its organiser, once or until it is over.
func recordedStatus(ctx context.Context, o *leagueCommand, r *leagueRecord, from record.Source) (err error) {
	if r.roster, err = readRoster(o.roster); err != nil {
		return err
	}
	if o.follow {
		return o.watch(ctx, r, from)
	}
	return o.showStatus(ctx, r)
}

// showStatus shows the league now. Before its start the manager tells what its pings to silent agents met.
func (o *leagueCommand) showStatus(ctx context.Context, r *leagueRecord) error {
	s := r.status()
	if len(s.Awaited) > 0 && !r.Stopped {
		o.askObstacles(ctx, r)
		s = r.status()
	}
	return show(o.out, o.format, s, s.print)
}

// askObstacles asks the manager what its pings to silent agents met. Without an answer the record keeps what it has.
func (o *leagueCommand) askObstacles(ctx context.Context, r *leagueRecord) {
	m, err := o.connect(ctx)
	if err != nil {
		return
	}
	defer m.Close()
	var now protocol.StatusData
	if m.ask(ctx, protocol.QueryStatus, protocol.QueryParams{}, &now) != nil {
		return
	}
	r.obstacles = map[string]string{}
	for _, a := range now.Inactive {
		r.obstacles[a.AgentID] = a.Reason
	}
}

// watchPause is the pause between two looks at a league.
const watchPause = time.Second

// watch shows the league after each change, until it is over.
func (o *leagueCommand) watch(ctx context.Context, r *leagueRecord, from record.Source) error {
	for changed := true; ; {
		if changed {
			if err := o.showStatus(ctx, r); err != nil {
				return err
			}
		}
		if r.Completed != nil {
			return nil
		}
		if protocol.SystemClock().Sleep(ctx, watchPause) != nil {
			return interrupted("The league goes on.")
		}
		var err error
		if changed, err = o.look(ctx, r, from); err != nil {
			return err
		}
	}
}

// look reads what has changed, and tells it as lines of text. It returns true if the whole status is to be shown.
func (o *leagueCommand) look(ctx context.Context, r *leagueRecord, from record.Source) (changed bool, err error) {
	before, stopped := r.Events, o.stopped()
	var lines printout
	if err := r.Update(ctx, from, func(e *journal.Event, _ string) {
		if line := r.told(e); line != "" {
			lines.line("%s", localTimes(e.At+" "+line))
		}
	}); err != nil {
		return false, err
	}
	changed = r.Events > before && o.format == formatJSON || stopped != r.Stopped && r.Completed == nil
	if r.Stopped = stopped; o.format == formatText {
		err = lines.print(o.out)
	}
	return changed, err
}

// told describes an event; "" if it does not matter to an organiser. The event is folded.
func (r *leagueRecord) told(e *journal.Event) string {
	switch d := e.Data.(type) {
	case *journal.Decided:
		return localTimes(d.InWords(r.State))
	case *journal.AgentRegistered:
		return fmt.Sprintf("%s registered as a %s", r.named(d.AgentID), d.Role)
	case *journal.RegistrationDropped:
		return fmt.Sprintf("the registration of %s ended: %s", d.AgentID, d.Reason)
	case *journal.AgentSuspended:
		return fmt.Sprintf("%s suspended: it %s", r.named(d.AgentID), d.Reason)
	case *journal.AgentReturned:
		return r.named(d.AgentID) + " returned"
	case *journal.AgentShutdown:
		return fmt.Sprintf("%s shut down: it %s", r.named(d.AgentID), d.Reason)
	case *journal.Started:
		return fmt.Sprintf("the league began with %s and %s", words.Counted(len(d.Players), "player"),
			words.Counted(len(d.Referees), "referee"))
	case *journal.RoundAnnounced:
		text := fmt.Sprintf("round %d began", d.RoundID)
		if d.RepeatedPairs > 0 {
			text += "; too few players are left: " + words.Counted(d.RepeatedPairs, "pair") + " met before"
		}
		if d.RepeatedByes > 0 {
			text += "; a player gets a second bye"
		}
		return text
	case *journal.MatchAssigned:
		return fmt.Sprintf("%s attempt %d: %s", d.MatchID, d.Number, d.RefereeID)
	case *journal.MatchReported:
		return fmt.Sprintf("%s: %s", d.MatchID, r.outcome(d.MatchID, &d.Result))
	case *journal.MatchForfeited:
		return fmt.Sprintf("%s forfeited: %s", d.MatchID, r.outcome(d.MatchID, &d.Result))
	case *journal.ManagerTookOver:
		return fmt.Sprintf("manager %s took over (term %d)", d.Manager, d.Term)
	case *journal.RoundCompleted:
		return fmt.Sprintf("round %d ended", d.RoundID)
	case *journal.LeagueCompleted:
		return "the league is over. " + r.ChampionLine()
	}
	return ""
}

// outcome describes the result of a match in a few words.
func (r *leagueRecord) outcome(id league.MatchID, of *league.Result) string {
	_, a, b, _ := r.Find(id)
	return outcomeOf(of, r.Ref(a), r.Ref(b))
}
