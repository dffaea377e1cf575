package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evenodd/league/decide"
	"evenodd/league/protocol"
	"evenodd/league/words"
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
	Matches  int       `json:"matches"`           // of the schedule; 0 before the start
	Recorded int       `json:"recorded"`          // that have a result
	Stated   int       `json:"stated"`            // results that rest on the word of their referee alone
	Unjudged int       `json:"unjudged,omitzero"` // results that nobody has judged again, because the rules are not known
	Findings []Finding `json:"findings"`
	Notes    []Finding `json:"notes"`
	// the files with more findings or notes than maxListed, in order
	Unlisted []Unlisted `json:"unlisted,omitzero"`
}

// maxListed is how many findings, and how many notes, of one file are listed: the author of a file can make
// any number of them.
const maxListed = 50

// An Unlisted is how many findings or notes about a file are not listed.
type Unlisted struct {
	Severity string `json:"severity"`
	File     string `json:"file"`
	Count    int    `json:"count"` // repetitions are not removed from it
}

// String formats the count like a finding.
func (u Unlisted) String() string {
	return fmt.Sprintf("%s: %s not listed", u.File, words.Counted(u.Count, "more "+u.Severity))
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
		n += r.Leagues[i].count(SeverityFinding)
	}
	return n
}

// count counts the findings or notes of the league.
func (l *League) count(severity string) int {
	n := len(l.Findings)
	if severity == SeverityNote {
		n = len(l.Notes)
	}
	for _, u := range l.Unlisted {
		if u.Severity == severity {
			n += u.Count
		}
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

// Unjudged counts the results of all leagues that were not judged by the rules of their game.
func (r *Report) Unjudged() (n int) {
	for i := range r.Leagues {
		n += r.Leagues[i].Unjudged
	}
	return n
}

// Summary is one sentence about the audit of the league.
func (l *League) Summary() string {
	findings := "no findings"
	if n := l.count(SeverityFinding); n > 0 {
		findings = words.Counted(n, "finding")
	}
	about := fmt.Sprintf("audited %s of league %s: %s", words.Counted(l.Recorded, "match"), l.LeagueID, findings)
	if n := l.count(SeverityNote); n > 0 {
		about += ", " + words.Counted(n, "note")
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
	if a.lists(SeverityFinding, at.File) {
		a.report.Findings = append(a.report.Findings, at.finding(SeverityFinding, rule, format, args))
	}
}

func (a *auditor) note(rule string, at Location, format string, args ...any) {
	if a.lists(SeverityNote, at.File) {
		a.report.Notes = append(a.report.Notes, at.finding(SeverityNote, rule, format, args))
	}
}

// lists counts a finding or a note about a file, and tells whether the report lists it.
func (a *auditor) lists(severity, file string) bool {
	about := Unlisted{Severity: severity, File: file}
	if !a.full(severity, file) {
		a.listed[about]++
		return true
	}
	a.unlisted[about]++
	return false
}

// full tells whether the report lists no further finding or note about a file.
func (a *auditor) full(severity, file string) bool {
	return a.listed[Unlisted{Severity: severity, File: file}] >= maxListed
}

// Repetitions are what one note for each agent tells, by their ids.
type repetitions map[string]occurrences

// Occurrences of the same are told with the first of them.
type occurrences struct {
	first  Location
	what   string
	number int
}

func (r repetitions) add(id string, at Location, what string) {
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

// notListed are the counts of unlisted findings and notes, in order.
func (a *auditor) notListed() []Unlisted {
	all := make([]Unlisted, 0, len(a.unlisted))
	for about, count := range a.unlisted {
		about.Count = count
		all = append(all, about)
	}
	slices.SortFunc(all, func(a, b Unlisted) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.File, b.File))
	})
	return all
}

// clip shortens an identifier, which anybody may have written.
func clip(id string) string {
	return words.Clip(id, 40)
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
