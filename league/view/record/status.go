package record

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
)

// The documents about agents, running matches and decisions. Their members are a contract.

// A Progress tells how far a league is.
type Progress struct {
	LeagueID    string        `json:"league_id"`
	DisplayName string        `json:"display_name,omitzero"`
	GameType    string        `json:"game_type"`
	Tournament  string        `json:"tournament,omitzero"` // "" for a round-robin
	AtMost      bool          `json:"-"`                   // as journal.State.AtMost
	State       string        `json:"state"`               // of the manager
	Paused      *journal.Made `json:"paused,omitzero"`
	decide.Counts
}

// A PlannedStart is the planned start of a league.
type PlannedStart struct {
	StartAt string `json:"start_at"`
	By      string `json:"by,omitzero"` // "" for the options of the manager
	Reason  string `json:"reason,omitzero"`
}

// PlannedStart is when the league starts or has started: by the last decision, else by the options
// of the manager; nil for no plan.
func (l *League) PlannedStart() *PlannedStart {
	if p := l.StartPlanned; p != nil {
		return &PlannedStart{p.StartAt, p.By, p.Reason}
	}
	if l.Started == nil && l.Configuration.StartAt != "" {
		return &PlannedStart{StartAt: l.Configuration.StartAt}
	}
	return nil
}

// An AgentStatus describes an agent.
type AgentStatus struct {
	AgentID      string `json:"agent_id"`
	DisplayName  string `json:"display_name"`
	State        string `json:"state"` // as in agents.json, or WITHDRAWN
	Reason       string `json:"reason,omitzero"`
	Failures     int    `json:"failures,omitzero"`
	RegisteredAt string `json:"registered_at"`
}

// A RunningMatch is a match without a result that is played now or comes next.
type RunningMatch struct {
	MatchID   string `json:"match_id"`
	PlayerAID string `json:"player_A_id"`
	PlayerBID string `json:"player_B_id"`
	RefereeID string `json:"referee_id,omitzero"`
	Attempt   int    `json:"attempt,omitzero"` // 0: not assigned yet
	Since     string `json:"since,omitzero"`
}

// A DecisionMade is a decision of an organiser as documents show it.
type DecisionMade struct {
	Event int    `json:"event"`
	At    string `json:"at"`
	Type  string `json:"type"` // the command: see protocol.Commands
	By    string `json:"by"`
	About string `json:"about"`

	Matter string `json:"matter,omitzero"` // an agent or a match
	Reason string `json:"reason,omitzero"`
	Shown  string `json:"-"` // About for people, with names beside ids
}

// StateWithdrawn is the state of an agent that an organiser has withdrawn.
const StateWithdrawn = "WITHDRAWN"

// Progress tells how far the league is.
func (l *League) Progress() Progress {
	d := l.Created
	return Progress{
		d.LeagueID, d.DisplayName, d.GameType, l.Format(), l.AtMost(), decide.Phase(l.State, false), l.Paused,
		decide.CountsOf(l.State),
	}
}

// SortedAgents are the agents in order of ids, players first.
func (l *League) SortedAgents() []*journal.Agent {
	return slices.SortedFunc(maps.Values(l.Agents), func(a, b *journal.Agent) int {
		return league.CompareIDs(a.AgentID, b.AgentID)
	})
}

// NameOf is the display name of an agent, as data have it; "" for an unknown id. People see Ref.
func (l *League) NameOf(id string) string {
	if a := l.Agents[id]; a != nil {
		return a.DisplayName
	}
	return ""
}

// Agent describes an agent.
func (l *League) Agent(a *journal.Agent) AgentStatus {
	one := AgentStatus{AgentID: a.AgentID, DisplayName: a.DisplayName, Failures: a.Failures, RegisteredAt: a.RegisteredAt}
	one.State, one.Reason = l.Lifecycle(a)
	if a.Withdrawn != nil {
		one.State = StateWithdrawn
	}
	if made := cmp.Or(a.Withdrawn, a.Held); made != nil {
		one.Reason = made.String() + ReasonAfter(made.Reason)
		if a.Annulled {
			one.Reason += "; its results are annulled"
		}
		one.Reason = a.WithKeyMark(one.Reason)
	}
	return one
}

// StateInWords is the state of an agent for people, with the reason.
func (l *League) StateInWords(a *journal.Agent) string {
	return LocalTimes(l.stateInWords(a), l.Zone)
}

func (l *League) stateInWords(a *journal.Agent) string {
	one := l.Agent(a)
	text := map[string]string{
		journal.LifecycleRegistered: "registered", journal.LifecycleActive: "active", journal.LifecycleSuspended: "suspended",
		journal.LifecycleShutdown: "did not answer", StateWithdrawn: "withdrawn",
	}[one.State]
	switch {
	case a.Informed && a.PartOver() == "":
		return a.WithKeyMark("finished")
	case !a.Answered:
		return "registered, not reached yet"
	case one.State == journal.LifecycleShutdown && (!a.Player || strings.HasPrefix(one.Reason, text)):
		return one.Reason // the failures of a referee, or the same in more words
	case one.Reason != "":
		text += " (" + one.Reason + ")"
	}
	return text
}

// Running lists the matches that are played now or come next in the open round, and the
// rematches that have begun.
func (l *League) Running() []RunningMatch {
	list := []RunningMatch{}
	add := func(id league.MatchID) {
		m, idA, idB, _ := l.Find(id)
		if m.Report != nil {
			return
		}
		one := RunningMatch{MatchID: id.String(), PlayerAID: idA, PlayerBID: idB, RefereeID: l.Referee(id.Round, id.Number)}
		if attempts := m.Current(); len(attempts) > 0 {
			last := attempts[len(attempts)-1]
			one.RefereeID, one.Attempt, one.Since = last.Referee, last.Number, l.Begun[id]
		}
		list = append(list, one)
	}
	if l.Open() {
		for id := range l.MatchesOf(l.Round, l.Round) {
			add(id)
		}
	}
	for _, id := range l.Rematches {
		if l.Match(id).Reopened() && (id.Round != l.Round || !l.Open()) {
			add(id)
		}
	}
	return list
}

// DecisionsMade lists the last decisions, all of them if most is 0.
func (l *League) DecisionsMade(most int) []DecisionMade {
	made := append([]DecisionMade{}, l.Decisions...)
	if most > 0 && len(made) > most {
		made = made[len(made)-most:]
	}
	return made
}

// ReasonAfter is a reason behind a colon, unless it is empty.
func ReasonAfter(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
