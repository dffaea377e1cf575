package report

import (
	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
	"evenodd/league/view/stats"
)

// A Sheet is the report of one agent. Its members are a contract of docs/report.md.
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
	if err := r.state.CheckAgent(agentID); err != nil {
		return nil, err
	}
	s.Agent = r.Agents[r.order()[agentID]]
	for i := range r.Standings {
		if r.Standings[i].PlayerID == agentID {
			s.Standing, s.Opponents = &r.Standings[i], r.CrossTable[i].Against
		}
	}
	if r.Statistics != nil {
		for i := range r.Statistics.Ratings {
			if r.Statistics.Ratings[i].PlayerID == agentID {
				s.Rating = &r.Statistics.Ratings[i]
			}
		}
	}
	about := map[string]bool{agentID: true}
	for i := range r.Matches {
		m := &r.Matches[i]
		if m.PlayerAID == agentID || m.PlayerBID == agentID || m.RefereeID == agentID {
			s.Matches, about[m.MatchID] = append(s.Matches, *m), true
		}
	}
	s.Decisions = protocol.Select(r.Decisions, func(d record.DecisionMade) bool { return about[d.Matter] })
	own := protocol.Select(r.faults, func(f record.Fault) bool { return f.AgentID == agentID })
	s.Faults = groups(own, 0, r.order())
	return s, nil
}
