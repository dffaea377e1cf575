package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evenodd/league/decide"
	"evenodd/league/protocol"
)

// schemaVersion is that of a Report as JSON.
const schemaVersion = "1.0.0"

// The severities.
const (
	SeverityFinding = "finding" // it cannot be so in a league that follows the rules
	SeverityNote    = "note"    // worth knowing, but no violation
)

// StateUnreadable is the state of a league without a journal that says what league it
// is. All other states are those of decide.Phase.
const StateUnreadable = "UNREADABLE"

// A Report is the result of the audit of a folder.
type Report struct {
	SchemaVersion string   `json:"schema_version"`
	Dir           string   `json:"dir"`
	Leagues       []League `json:"leagues"` // in order of their ids
	OK            bool     `json:"ok"`      // there are no findings; notes do not count
}

// A League is the result of the audit of one league. Findings and notes are in
// order of file, line and rule.
type League struct {
	LeagueID string    `json:"league_id"`
	State    string    `json:"state"`
	Matches  int       `json:"matches"`  // of the schedule; 0 before the start
	Recorded int       `json:"recorded"` // that have a result
	Stated   int       `json:"stated"`   // results that rest on the word of their referee alone
	Findings []Finding `json:"findings"`
	Notes    []Finding `json:"notes"`
}

// A Finding is one violation of a rule, or a note.
type Finding struct {
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	Location
	Detail string `json:"detail"` // a sentence for people
}

// String formats the finding as a compiler does: file:line: rule: detail.
func (f Finding) String() string {
	position, rule := f.File, f.Rule
	if f.Line > 0 {
		position = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	if f.Severity == SeverityNote {
		rule = "note: " + rule
	}
	return fmt.Sprintf("%s: %s: %s", position, rule, f.Detail)
}

// Findings counts the findings of all leagues.
func (r *Report) Findings() (n int) {
	for i := range r.Leagues {
		n += len(r.Leagues[i].Findings)
	}
	return n
}

// Stated counts the results of all leagues that rest on the word of their referee alone.
func (r *Report) Stated() (n int) {
	for i := range r.Leagues {
		n += r.Leagues[i].Stated
	}
	return n
}

// Summary is one sentence about the audit of the league.
func (l *League) Summary() string {
	findings := "no findings"
	if n := len(l.Findings); n > 0 {
		findings = protocol.Counted(n, "finding")
	}
	about := fmt.Sprintf("audited %s of league %s: %s", protocol.Counted(l.Recorded, "match"), l.LeagueID, findings)
	if n := len(l.Notes); n > 0 {
		about += ", " + protocol.Counted(n, "note")
	}
	switch l.State {
	case decide.StateWaitingForRegistrations:
		about += "; not started"
	case decide.StateRunningLeague:
		about += fmt.Sprintf("; unfinished: %d of %d matches", l.Recorded, l.Matches)
	}
	return about
}

// A Location is where a finding is, and the match and the agent that it is about.
type Location struct {
	File    string `json:"file"` // relative to the folder, with slashes
	Line    int    `json:"line"` // from 1; 0 when it is about the file as a whole
	MatchID string `json:"match_id,omitzero"`
	AgentID string `json:"agent_id,omitzero"`
}

// at, of and in return the location with another line, agent or match.
func (at Location) at(line int) Location             { at.Line = line; return at }
func (at Location) of(agentID string) Location       { at.AgentID = agentID; return at }
func (at Location) in(matchID string) Location       { at.MatchID = matchID; return at }
func (a *auditor) inJournal(line int) Location       { return Location{File: a.journal, Line: line} }
func (a *auditor) result(m *scheduledMatch) Location { return a.inJournal(m.Event).in(m.id) }

func (a *auditor) find(rule string, at Location, format string, args ...any) {
	a.doubtful = a.doubtful || at.File == a.journal
	a.report.Findings = append(a.report.Findings, at.finding(SeverityFinding, rule, format, args))
}

func (a *auditor) note(rule string, at Location, format string, args ...any) {
	a.report.Notes = append(a.report.Notes, at.finding(SeverityNote, rule, format, args))
}

// repeated are what one note for each agent tells, by their ids.
type repeated map[string]occurrences

// Occurrences of the same are told with the first of them.
type occurrences struct {
	first  Location
	what   string
	number int
}

func (r repeated) add(id string, at Location, what string) {
	known := r[id]
	if known.number == 0 {
		known.first, known.what = at, what
	}
	known.number++
	r[id] = known
}

func (at Location) finding(severity, rule, format string, args []any) Finding {
	at.MatchID, at.AgentID = clip(at.MatchID), clip(at.AgentID)
	return Finding{severity, rule, at, strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD")}
}

// sorted puts findings in their order and removes repetitions.
func sorted(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.MatchID, b.MatchID), cmp.Compare(a.AgentID, b.AgentID), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.Compact(findings)
}

// clip shortens an identifier, which anybody may have written.
func clip(id string) string {
	return protocol.Clip(id, 40)
}

// quoted formats an optional value of a document, shortened; a digest fits.
func quoted[S ~string](s *S) string {
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("%.64q", string(*s))
}

// orNone formats a value of a document; "none" for "".
func orNone(s string) string { return quoted(protocol.NonZero(s)) }
