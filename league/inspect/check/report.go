// Package check examines an agent by calls over HTTP, and reports for each requirement
// whether the agent keeps to the protocol. It judges each message of the agent as received,
// and as translated by transport/dialect, so that it understands what a league understands.
//
// The table of a role holds its requirements and their judges. Scenarios call the agent, and
// record facts, by which the judges decide. The kit also sends invalid requests. It trusts no
// answer, and ends in bounded time. It must not import a role or a carrier: it plays the
// manager, the referee and the players of an examination itself.
package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/words"
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
	Page  string `json:"page"`  // section of docs/protocol.md, such as docs/protocol.md#game_join_ack
	Spec  string `json:"spec"`  // document and section of the specification, such as 003 §4.4.2; "" if no document has it
	Hint  string `json:"hint"`  // how to mend it; "" where the text says it
}

// An Exchange is one call and its answer.
type Exchange struct {
	To       string `json:"to"`                // URL
	Request  string `json:"request"`           // body, shortened when it is long
	Status   int    `json:"status,omitzero"`   // of HTTP; 0 when there was no answer
	Response string `json:"response,omitzero"` // body, shortened when it is long
	Error    string `json:"error,omitzero"`    // why there was no answer
	TookMS   int64  `json:"took_ms"`

	request, response []byte    // the bodies as they were, until they are shown
	at                time.Time // when the message of the agent came
	unasked           bool      // it was never sent, or had not its time: that is no failure
	hurried           bool      // nor is this: the kit waited for a shorter time than the protocol gives
	defect            string    // what is wrong with the answer as a whole; "" for nothing
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

	defect string // a sentence, which is that of the Cause; "" for a defect of this requirement alone
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
	Ended         string    `json:"-"`      // why a MUST was cut off; "" if none was
}

// Count returns how many findings have a verdict.
func (r *Report) Count(v Verdict) int {
	return len(lists.Filter(r.Findings, func(f Finding) bool { return f.Verdict == v }))
}

// Conforms tells whether at least one requirement passed, no MUST failed, and no MUST was cut
// off: an agent that ends the examination early, such as a manager whose league never begins,
// has not shown that it conforms. Other skipped requirements do not matter, such as the
// registration of an agent that does not register.
func (r *Report) Conforms() bool {
	return r.Count(Fail) == 0 && r.Count(Pass) > 0 && r.Ended == ""
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
	return lists.Map(tableOf(role), func(r rule) Requirement { return r.Requirement })
}

// tableOf returns the rules of a role, in the order of the report.
func tableOf(role string) []rule {
	if begin := examiners[role]; begin != nil {
		return begin(&exam{}).table()
	}
	return nil
}

// report returns the findings on the selected requirements, in the order of the
// catalogue, and why a MUST was cut off. Late tells that the time of the examination is over.
func (x *exam) report(late bool) (findings []Finding, ended string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	end := cmp.Or(x.hideTokens(x.gaveUp), when(late, "the examination took all of its %s", x.Budget))
	for i := range x.rules {
		r := &x.rules[i]
		if !x.Selection.Wants(r.Requirement) {
			continue
		}
		f := Finding{Verdict: Skipped, Detail: cmp.Or(end, "the agent never came so far"), CutOff: end != ""}
		if found := x.findings[r.ID]; found != nil {
			f = *found
		}
		if why := x.shownNothing(r); why != "" && f.Verdict != Skipped {
			f = Finding{Verdict: Skipped, Detail: why}
		}
		f.Requirement = r.Requirement
		if f.Verdict == Fail && r.Level == Should {
			f.Verdict = Warn
		}
		if f.CutOff && r.Level == Must {
			ended = cmp.Or(end, ended, f.Detail)
		}
		findings = append(findings, f)
	}
	return findings, ended
}

// shownNothing returns why neither a pass nor a failure says something about a requirement; "" if they do.
func (x *exam) shownNothing(r *rule) string {
	f := x.findings[r.ID]
	independent := strings.Contains(r.ID, "-REG-") || strings.HasSuffix(r.ID, "-FRM-03")
	if f != nil && f.Verdict == Pass && !x.understood.Load() && !independent {
		return "the agent has understood no call, so that this shows nothing"
	}
	for _, id := range r.given {
		if needed := x.findings[id]; needed != nil && needed.Verdict != Pass {
			return id + " does not hold, so that this shows nothing"
		}
	}
	return ""
}

// Defects that make several requirements fail and that no single answer shows.
const (
	wrappingDefect = "Its replies are not wrapped as JSON-RPC responses."
	idDefect       = "Its replies do not have the id of the request."
	envelopeDefect = "Its messages do not have the whole envelope: protocol, message_type, sender, timestamp, conversation_id."
	formDefect     = "Its calls are not in the form of the specification."
)

// diagnose returns the defect of an answer; "" when it has a result.
func diagnose(r *reply) string {
	switch {
	case r.unasked, r.trouble() == "":
		return ""
	case r.timedOut():
		return "It does not answer in time."
	case r.Error != "":
		return "It does not answer: " + r.Error[strings.LastIndex(r.Error, ": ")+1:] + "."
	}
	return "It " + r.trouble() + "."
}

// causesOf groups the findings that do not hold by their defects, sets their Cause,
// and returns the causes: MUST first, then in the order of the catalogue.
func causesOf(findings []Finding) []Cause {
	groups := map[string][]*Finding{}
	var keys []string
	for i := range findings {
		if f := &findings[i]; f.Verdict == Fail || f.Verdict == Warn {
			key := cmp.Or(f.defect, f.ID)
			keys, groups[key] = append(keys, key), append(groups[key], f)
		}
	}
	causes := []Cause{}
	for _, key := range keys {
		group := groups[key]
		delete(groups, key)
		if group == nil { // the key came before
			continue
		}
		first := group[max(0, slices.IndexFunc(group, func(f *Finding) bool { return f.Level == Must }))]
		c := Cause{ID: first.ID, Level: first.Level, Text: cmp.Or(first.Detail, first.Text)}
		if len(group) > 1 {
			c.Text = first.defect
		}
		for _, f := range group {
			f.Cause = c.ID
			c.Requirements = append(c.Requirements, f.ID)
		}
		causes = append(causes, c)
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return strings.Compare(string(a.Level), string(b.Level)) })
	return causes
}

// tokens finds the tokens of a message by the names of their members. In the result of an MCP tool
// the message is a text, with escaped quotation marks.
var tokens = words.Pattern(`(?i)(\\*"(?:(?:auth|access|admin)_)?token\\*"\s*:\s*\\*")(?:[^"\\]|\\[^"]){5,}`)

// hideTokens removes the tokens of the agent, the kit and the operator from a text of a report,
// because reports are published.
func (x *exam) hideTokens(text string) string {
	text = tokens().ReplaceAllString(protocol.WithoutTokens(text), "$1***")
	if admin := x.Admin; len(admin) > 3 {
		text = strings.ReplaceAll(text, admin, "***")
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// shown returns the exchange for a report.
func (x *exam) shown(e Exchange) Exchange {
	e.Request, e.Response, e.Error = x.body(e.request), x.body(e.response), x.hideTokens(e.Error)
	return e
}

// body returns a body for a report, shortened.
func (x *exam) body(b []byte) string {
	text := x.hideTokens(string(b))
	if len(text) > maxShown {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxShown], ""), len(b))
	}
	return text
}

type remedy struct {
	method string
	code   protocol.Code
	id     string
}

// remedies name the requirement that an agent breaks by a failure in a match: the first row
// that fits. An empty method or code fits all.
var remedies = []remedy{
	{"", unreadableAnswer, "P-RPC-15"},
	{protocol.Invite.Name, refusal, "P-INV-04"},
	{"", protocol.ErrConnection, "P-HTTP-01"},
	{"", protocol.ErrRateLimited, "P-LOAD-01"},
	{"", protocol.ErrMessageTooLarge, "P-HTTP-08"},
	{"", protocol.ErrInvalidTimestamp, "P-ENV-04"},
	{protocol.Invite.Name, protocol.ErrTimeout, "P-INV-06"},
	{protocol.Invite.Name, protocol.ErrMatchIDMismatch, "P-INV-02"},
	{protocol.Invite.Name, "", "P-INV-01"},
	{protocol.NotifyMatchResult.Name, "", "P-OVR-01"},
	{protocol.NotifyGameError.Name, "", "P-ERR-01"},
	{protocol.StartMatch.Name, "", "R-HTTP-01"},
	{protocol.ReportMatchResult.Name, protocol.ErrDuplicateReport, "R-REP-04"},
	{protocol.ReportMatchResult.Name, protocol.ErrTimeout, "R-REP-01"},
	{protocol.ReportMatchResult.Name, "", "R-REP-10"},
	{"", protocol.ErrTimeout, "P-CHO-04"},
	{"", protocol.ErrMatchIDMismatch, "P-CHO-02"},
	{"", protocol.ErrInvalidParityChoice, "P-CHO-03"},
	{"", protocol.ErrIllegalMove, "P-CHO-03"},
	{"", "", "P-CHO-01"},
}

// The failures without a code of their own in the catalogue.
const (
	refusal          protocol.Code = "refusal"
	unreadableAnswer protocol.Code = "unreadable"
)

// Remedy returns the requirement that an agent breaks by a failure with a method, whose Hint
// tells how to mend it. No code is the refusal of an invitation. Unreadable tells that there was
// an answer, which could not be read: an answer and none have the same code.
func Remedy(method string, code protocol.Code, unreadable bool) Requirement {
	if unreadable && code == protocol.ErrConnection {
		code = unreadableAnswer
	}
	code = cmp.Or(code, refusal)
	fits := slices.IndexFunc(remedies, func(r remedy) bool { // the last row fits all
		return (r.method == "" || r.method == method) && (r.code == "" || r.code == code)
	})
	return requirement(remedies[fits].id)
}

// requirement is the one of a player or a referee with an id.
func requirement(id string) Requirement {
	all := slices.Concat(Catalogue(Player), Catalogue(Referee))
	return all[slices.IndexFunc(all, func(r Requirement) bool { return r.ID == id })]
}
