// Package report makes the report of a league from its data folder: one document with everything
// that is recorded of the league, and the sheet of one agent. Both have a form as JSON, which is a
// contract, and as HTML. A report has no token, no endpoint and no registration code,
// and nothing of matches that are being played. It depends on the data folder alone: the same
// folder gives the same bytes, as HTML in the same time zone.
package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/league/view/stats"
	"evenodd/rules"
)

// SchemaVersion is that of the documents.
const SchemaVersion = "1.0.0"

// A Report is the report of a league. Its members are a contract of docs/data-folder.md.
type Report struct {
	SchemaVersion string                `json:"schema_version"`
	League        League                `json:"league"`
	Standings     []league.Standing     `json:"standings"`
	CrossTable    []CrossRow            `json:"cross_table"`         // in the order of the standings
	Progress      []RoundPoints         `json:"progress"`            // of the completed rounds
	Statistics    *stats.Analysis       `json:"statistics,omitzero"` // of a league that has started
	Matches       []record.Match        `json:"matches"`
	Evidence      []string              `json:"evidence,omitempty"` // what results rest on: see decide.Evidence
	Faults        []FaultGroup          `json:"faults"`
	Agents        []Agent               `json:"agents"`
	Decisions     []record.DecisionMade `json:"decisions"`
	Models        []store.ModelUse      `json:"models,omitempty"` // of the players with language models
	Transcripts   []Transcript          `json:"transcripts"`      // of matches with faults, disputes or decisions
	Omitted       int                   `json:"transcripts_omitted,omitzero"`
	Unreadable    int                   `json:"unreadable_records,omitzero"` // of the results files
	Seal          Seal                  `json:"seal"`

	AgentID string `json:"-"` // of Options.Agent

	history map[string][]HistoryEntry
	games   map[string]*record.Conversation // the positions of matches of several turns, by match
	faults  []record.Fault
	state   *record.League
	health  *record.Health
}

// A League describes the league itself.
type League struct {
	record.Progress

	Legs            int                    `json:"legs"`
	CreatedAt       string                 `json:"created_at"`
	StartedAt       string                 `json:"started_at,omitzero"`
	CompletedAt     string                 `json:"completed_at,omitzero"`
	At              string                 `json:"at"` // time of the last event
	CompletedRounds int                    `json:"completed_rounds"`
	Champion        *league.Champion       `json:"champion,omitzero"`
	ChampionLine    string                 `json:"champion_line,omitzero"` // names all players that share the first rank
	Champions       string                 `json:"-"`                      // ChampionLine for people
	Scoring         league.MatchPoints     `json:"scoring"`
	Tiebreakers     []string               `json:"tiebreakers"`
	SuspendAfter    int                    `json:"suspend_after"`  // failures in a row; 0 for never
	ShutdownAfter   int                    `json:"shutdown_after"` // the same
	Auth            string                 `json:"auth,omitzero"`
	Configuration   *journal.Configuration `json:"configuration,omitzero"` // in force, without allowed_endpoints
	Simulation      *journal.Simulation    `json:"simulation,omitzero"`    // of a completed league
}

// A CrossRow has the results of a player against each opponent.
type CrossRow struct {
	PlayerID string              `json:"player_id"`
	Against  []record.HeadToHead `json:"against"` // in order of ids
}

// RoundPoints are the points of all players after a round, by the results that count now.
type RoundPoints struct {
	RoundID int                   `json:"round_id"`
	Points  league.PerPlayer[int] `json:"points"` // in order of ids
}

// A Transcript is the conversation of an attempt at a match.
type Transcript struct {
	*record.Conversation

	Why []string `json:"why"` // the report has it
}

// An Agent describes an agent, without its endpoint.
type Agent struct {
	record.AgentStatus

	Role     string             `json:"role"`
	Answered bool               `json:"answered"` // something answered at its endpoint
	Matches  int                `json:"matches"`  // of a player: with a result; of a referee: conducted
	Declined int                `json:"declined,omitzero"`
	Latency  []record.Latency   `json:"latency,omitempty"`
	Warnings []record.Deviation `json:"warnings,omitempty"`
}

// The states of a Seal.
const (
	SealUnsigned = "unsigned" // the league does not sign
	SealValid    = "valid"    // the signature covers the last event
	SealEarlier  = "earlier"  // a valid signature covers an earlier event
	SealUnknown  = "unknown"  // a valid signature covers an event that the journal does not have
	SealInvalid  = "invalid"
	SealMissing  = "missing"
)

// A Seal is the head of the journal and the manager's signature of it in standings.json.
type Seal struct {
	Events     int    `json:"events"`
	Head       string `json:"head"` // the hash of the last event
	ManagerKey string `json:"manager_key,omitzero"`
	SignedHead string `json:"signed_head,omitzero"`
	Covered    int    `json:"covered_events,omitzero"` // the events up to signed_head
	Signature  string `json:"signature,omitzero"`
	State      string `json:"state"`
}

// A HistoryEntry is an event of an agent.
type HistoryEntry struct {
	Event int    `json:"event"`
	At    string `json:"at"`
	What  string `json:"what"`
}

// A Sheet is the report of one agent. Its members are a contract of docs/data-folder.md.
type Sheet struct {
	SchemaVersion string                `json:"schema_version"`
	League        League                `json:"league"`
	Agent         Agent                 `json:"agent"`
	Standing      *league.Standing      `json:"standing,omitzero"`  // of a player
	Rating        *stats.Player         `json:"rating,omitzero"`    // of a player
	Opponents     []record.HeadToHead   `json:"opponents,omitzero"` // of a player
	Matches       []record.Match        `json:"matches"`            // of a referee: those that it conducted
	Faults        []FaultGroup          `json:"faults"`             // of this agent, with all occurrences
	Decisions     []record.DecisionMade `json:"decisions"`          // about the agent and its matches
	History       []HistoryEntry        `json:"history"`
	Transcripts   []Transcript          `json:"transcripts"`
	Omitted       int                   `json:"transcripts_omitted,omitzero"`

	report *Report
}

// Sheet is the part of the report about an agent. Make the report with the option AgentID, so that
// it has all transcripts.
func (r *Report) Sheet(agentID string) (*Sheet, error) {
	s := &Sheet{
		SchemaVersion: SchemaVersion, League: r.League, Matches: []record.Match{}, Decisions: []record.DecisionMade{},
		History: r.history[agentID], Transcripts: r.Transcripts, Omitted: r.Omitted, report: r,
	}
	if r.state.Agents[agentID] == nil {
		return nil, fmt.Errorf("no agent %.40q has registered", agentID)
	}
	s.Agent = r.Agents[r.order()[agentID]]
	if i := slices.IndexFunc(r.Standings, func(p league.Standing) bool { return p.PlayerID == agentID }); i >= 0 {
		s.Standing, s.Opponents = &r.Standings[i], r.CrossTable[i].Against
	}
	if all := r.Statistics; all != nil {
		if i := slices.IndexFunc(all.Ratings, func(p stats.Player) bool { return p.PlayerID == agentID }); i >= 0 {
			s.Rating = &all.Ratings[i]
		}
	}
	about := map[string]bool{agentID: true}
	for i := range r.Matches {
		m := &r.Matches[i]
		if m.PlayerAID == agentID || m.PlayerBID == agentID || m.RefereeID == agentID {
			s.Matches, about[m.MatchID] = append(s.Matches, *m), true
		}
	}
	s.Decisions = lists.Filter(r.Decisions, func(d record.DecisionMade) bool { return about[d.Matter] })
	own := lists.Filter(r.faults, func(f record.Fault) bool { return f.AgentID == agentID })
	s.Faults = groups(own, 0, r.order())
	return s, nil
}

// hideIn hides the addresses in the reasons of an event.
func hideIn(d journal.Data) {
	switch d := d.(type) {
	case *journal.MatchReported:
		d.Reason = record.Public(d.Reason)
	case *journal.AgentFailed:
		d.Reason = record.Public(d.Reason)
	case *journal.AttemptLost:
		d.Reason = record.Public(d.Reason)
	case *journal.MatchDisputed:
		d.Reason = record.Public(d.Reason)
	}
}

// conversation makes the conversation of an attempt without tokens and addresses.
func conversation(doc *store.Match, games rules.Registry) *record.Conversation {
	c := record.ConversationOf(doc, games)
	for i := range c.Lines {
		line := &c.Lines[i]
		line.Says, line.Answer, line.Void = record.Public(line.Says), record.Public(line.Answer), record.Public(line.Void)
		if line.Error != nil {
			shown := *line.Error
			shown.Detail = record.Public(shown.Detail)
			line.Error = &shown
		}
		if line.Message != nil {
			line.Message = jsontext.Value(record.Public(string(line.Message)))
		}
	}
	return c
}

// publicStrategy hides the command of a program, which may name folders and keys.
func publicStrategy(strategy string) string {
	if strings.HasPrefix(strategy, "exec:") {
		return "program"
	}
	return strategy
}

// publicSimulation is the input of a simulation without the commands of programs.
func publicSimulation(input *journal.Simulation) *journal.Simulation {
	if input == nil {
		return nil
	}
	s := *input
	s.Strategies, s.Entrants = slices.Clone(s.Strategies), slices.Clone(s.Entrants)
	for i := range s.Strategies {
		s.Strategies[i] = publicStrategy(s.Strategies[i])
	}
	for i := range s.Entrants {
		s.Entrants[i].Strategy = publicStrategy(s.Entrants[i].Strategy)
	}
	return &s
}
