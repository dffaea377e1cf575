// Package conformance examines an agent by calls over HTTP, and reports for each requirement
// whether the agent keeps to the protocol. It judges each message of the agent as received,
// and as translated by league/dialect, so that it understands what a league understands.
//
// The table of a role holds its requirements and their judges. Scenarios call the agent, and
// record facts, by which the judges decide. The kit also sends invalid requests. It trusts no
// answer, and ends in bounded time. It must not import a role or a carrier: it plays the
// manager, the referee and the players of an examination itself.
package conformance

import (
	"slices"
	"strings"
	"time"
)

// The roles that can be examined.
const (
	Player  = "player"
	Referee = "referee"
	Manager = "manager"
)

// A Level is MUST or SHOULD.
type Level string

// The levels. A MUST that does not hold breaks a league: matches are lost, or the agent
// cannot be used. A league manages without a SHOULD.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
)

// A Verdict is the result of examining a requirement.
type Verdict string

// The verdicts. A SHOULD that does not hold is a warning.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Warn    Verdict = "warn"
	Skipped Verdict = "skipped" // it could not be examined; the detail says why
)

// A Requirement is one rule of the protocol for an agent.
type Requirement struct {
	ID    string `json:"id"`    // such as P-INV-03; never used for another
	Level Level  `json:"level"` // MUST or SHOULD
	Text  string `json:"text"`  // one sentence: what the agent does
	Spec  string `json:"spec"`  // document and section, such as 003 §4.4.2
	Hint  string `json:"hint"`  // how to mend it
}

// An Exchange is one call and its answer.
type Exchange struct {
	To       string `json:"to"`                // URL
	Request  string `json:"request"`           // body, shortened when it is long
	Status   int    `json:"status,omitzero"`   // of HTTP; 0 when there was no answer
	Response string `json:"response,omitzero"` // body, shortened when it is long
	Error    string `json:"error,omitzero"`    // why there was no answer
	TookMS   int64  `json:"took_ms"`

	request, response []byte // the bodies as they were, until they are shown
	unasked           bool   // it was never sent, or had not its time: that is no failure
	defect            defect // what is wrong with the answer as a whole; the zero value for nothing
}

// A Finding is the verdict on one requirement, with the evidence.
type Finding struct {
	Requirement
	Verdict   Verdict    `json:"verdict"`
	Detail    string     `json:"detail,omitzero"`    // what was expected, and what was there instead
	Cause     string     `json:"cause,omitzero"`     // the ID of the Cause, where the requirement does not hold
	Exchanges []Exchange `json:"exchanges,omitzero"` // the evidence; none for requirements that pass
	// CutOff tells that the requirement was skipped because the examination ended early:
	// the agent was given up, or the time was over.
	CutOff bool `json:"-"`

	defect defect
}

// A Cause is one defect of the agent, with all requirements that do not hold because
// of it.
type Cause struct {
	ID           string   `json:"id"`           // of the first of its requirements with its level
	Level        Level    `json:"level"`        // MUST if one of its requirements is
	Text         string   `json:"text"`         // what is wrong, in one sentence
	Requirements []string `json:"requirements"` // their ids, in the order of the catalogue
}

// SchemaVersion is that of a report as JSON. It changes when a member is renamed,
// removed or means something else, not when one is added.
const SchemaVersion = 1

// A Report is what an examination found, in the order of the catalogue.
type Report struct {
	SchemaVersion int       `json:"schema_version"`
	Role          string    `json:"role"`
	URL           string    `json:"url"`
	Started       time.Time `json:"started"`
	TookMS        int64     `json:"took_ms"`
	Findings      []Finding `json:"findings"`
	Causes        []Cause   `json:"causes"` // of what does not hold, MUST first
}

// Count returns how many findings have a verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Verdict == v {
			n++
		}
	}
	return n
}

// Conforms tells whether at least one requirement passed, no MUST failed, and no MUST was cut
// off: an agent that ends the examination early, such as a manager whose league never begins,
// has not shown that it conforms. Other skipped requirements do not matter, such as the
// registration of an agent that does not register.
func (r *Report) Conforms() bool {
	cut := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.CutOff && f.Level == Must })
	return r.Count(Fail) == 0 && r.Count(Pass) > 0 && !cut
}

// A Selection selects requirements.
type Selection struct {
	Level Level    // Must: only those; Should and "": all
	Only  []string // ids, or beginnings of ids such as P-INV; none means all
}

// Wants tells whether a requirement is selected.
func (s Selection) Wants(r Requirement) bool {
	if s.Level == Must && r.Level != Must {
		return false
	}
	return len(s.Only) == 0 || slices.ContainsFunc(s.Only, func(id string) bool { return strings.HasPrefix(r.ID, id) })
}

// Catalogue returns the requirements of a role, in the order of a report; nil for an
// unknown role.
func Catalogue(role string) []Requirement {
	var all []Requirement
	for _, r := range tableOf(role) {
		all = append(all, r.Requirement)
	}
	return all
}
