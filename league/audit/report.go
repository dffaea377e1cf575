package audit

import (
	"cmp"
	"fmt"
	"slices"
)

// SchemaVersion is that of a Report as JSON.
const SchemaVersion = "1.0.0"

// How much something that was found weighs.
const (
	SeverityFinding = "finding" // it cannot be so in a league that was run and kept by the rules
	SeverityNote    = "note"    // somebody may want to know
)

// The rules that are checked. They are stable: programs may look for them.
const (
	RuleHashChain    = "hash_chain"   // every line of the journal names the hash of the line before
	RuleEvent        = "event"        // every event can have happened after those before it
	RuleTime         = "time"         // times can be read, and go on
	RuleRegistration = "registration" // a registration is dropped for silence beyond the grace period, and its id never granted again
	RuleSchedule     = "schedule"     // who meets whom follows from the ordered players
	RuleOneResult    = "one_result"   // a match has one result, by a referee that had it
	RuleCommitment   = "commitment"   // secrets are what was promised before
	RuleDraw         = "draw"         // the number follows from the secrets
	RuleVerdict      = "verdict"      // status and winner follow from choices and number
	RulePoints       = "points"       // points follow from the verdict by the league's scoring
	RuleLifecycle    = "lifecycle"    // agents are suspended, shut down and made to forfeit by their failures alone
	RuleStandings    = "standings"    // the table follows from the results
	RuleRounds       = "rounds"       // rounds are played one after the other, and rounds.json says how
	RuleHistory      = "history"      // what players remember is what happened
	RuleMatchFile    = "match_file"   // a match file is about one match of the league, and says what the journal says
	RuleTranscript   = "transcript"   // the result is what was said
	RuleNonceReused  = "nonce_reused" // no two matches are drawn with the same nonce
	RuleJournalHead  = "journal_head" // the last event that others know of is in the journal
	RuleSchema       = "schema"       // files can be read
	RuleAbandoned    = "abandoned"    // matches that were given up after the referee was bound to its nonce
	RuleDoubt        = "doubt"        // results rest on reports that the manager believed
	RuleDispute      = "dispute"      // another result of a match that has one
	RuleConformance  = "conformance"  // how closely agents keep to the protocol
)

// The states of a league.
const (
	StateUnreadable   = "UNREADABLE" // no journal that says what league it is
	StateRegistration = "WAITING_FOR_REGISTRATIONS"
	StateRunning      = "RUNNING_LEAGUE"
	StateCompleted    = "LEAGUE_COMPLETED"
)

// A Report is what was found in a folder.
type Report struct {
	SchemaVersion string   `json:"schema_version"`
	Dir           string   `json:"dir"`
	Leagues       []League `json:"leagues"` // in order of their ids
	OK            bool     `json:"ok"`      // there are no findings; notes do not count
}

// A League is what was found in one league. Findings and notes are in order of
// file, line and rule.
type League struct {
	LeagueID string    `json:"league_id"`
	State    string    `json:"state"`
	Matches  int       `json:"matches"`  // of the schedule; 0 before the start
	Recorded int       `json:"recorded"` // that have a result
	Findings []Finding `json:"findings"`
	Notes    []Finding `json:"notes"`
}

// A Finding is one thing that was found.
type Finding struct {
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	File     string `json:"file"` // relative to the folder, with slashes
	Line     int    `json:"line"` // from 1; 0 when it is about the file as a whole
	MatchID  string `json:"match_id,omitzero"`
	AgentID  string `json:"agent_id,omitzero"`
	Detail   string `json:"detail"` // a sentence for people
}

// String is the finding as a compiler would say it: file:line: rule: detail.
func (f Finding) String() string {
	place, rule := f.File, f.Rule
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	if f.Severity == SeverityNote {
		rule = "note: " + rule
	}
	return fmt.Sprintf("%s: %s: %s", place, rule, f.Detail)
}

// Findings counts them, in all leagues.
func (r *Report) Findings() int {
	n := 0
	for i := range r.Leagues {
		n += len(r.Leagues[i].Findings)
	}
	return n
}

// Summary says in one sentence how it went.
func (l *League) Summary() string {
	about := fmt.Sprintf("audited %s of league %s: ", counted(l.Recorded, "match", "matches"), l.LeagueID)
	switch len(l.Findings) {
	case 0:
		about += "no findings"
	default:
		about += counted(len(l.Findings), "finding", "findings")
	}
	if n := len(l.Notes); n > 0 {
		about += ", " + counted(n, "note", "notes")
	}
	switch l.State {
	case StateRegistration:
		about += "; not started"
	case StateRunning:
		about += fmt.Sprintf("; unfinished: %d of %d matches", l.Recorded, l.Matches)
	}
	return about
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// sorted puts findings in their order, without repetitions.
func sorted(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.MatchID, b.MatchID), cmp.Compare(a.AgentID, b.AgentID), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.Compact(findings)
}
