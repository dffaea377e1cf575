// Package conformance examines an agent by calls over HTTP, and reports for each requirement
// whether the agent keeps to the protocol. It judges each message of the agent as received,
// and as translated by league/dialect, so that it understands what a league understands.
//
// The table of a role holds its requirements and their judges. Scenarios call the agent, and
// record facts, by which the judges decide. The kit also sends invalid requests. It trusts no
// answer, and ends in bounded time. It must not import a role or a carrier: it plays the
// manager, the referee and the players of an examination itself.
package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"evenodd/league/protocol"
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
	Ended         string    `json:"-"`      // why a MUST was cut off; "" if none was
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
	var all []Requirement
	for _, r := range tableOf(role) {
		all = append(all, r.Requirement)
	}
	return all
}

// skip finds that a requirement could not be examined. Any finding before stands.
func (x *exam) skip(id, why string, shown ...*Exchange) {
	x.find(id, &Finding{Verdict: Skipped, Detail: why}, shown)
}

// block is skip for a requirement that does not pass any more, whatever follows.
func (x *exam) block(id, why string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if before := x.findings[id]; before == nil || before.Verdict != Fail {
		x.findings[id], x.blocked[id] = &Finding{Verdict: Skipped, Detail: why}, true
	}
}

// failed tells whether a requirement is known not to hold.
func (x *exam) failed(id string) bool { return x.verdict(id) == Fail }

// verdict is the verdict on a requirement so far; "" for none.
func (x *exam) verdict(id string) Verdict {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.findings[id]; f != nil {
		return f.Verdict
	}
	return ""
}

// find keeps a finding. The first failure stands, unless a later one has a rejection that
// says more.
func (x *exam) find(id string, f *Finding, shown []*Exchange) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range shown {
		if e == nil {
			continue
		}
		if e.unasked && f.Verdict == Fail { // a call that was not made is no failure
			f = &Finding{Verdict: Skipped, Detail: e.Error, CutOff: true}
			break
		}
		if f.defect.key == "" {
			f.defect = e.defect
		}
	}
	before := x.findings[id]
	switch {
	case before == nil:
	case before.Verdict == Fail:
		if f.Verdict != Fail || f.rank() <= before.rank() || f.rank() == rankResult {
			return
		}
	case f.Verdict == Skipped, f.Verdict == before.Verdict, x.blocked[id] && f.Verdict == Pass:
		return
	}
	for _, e := range shown {
		if e != nil && f.Verdict != Pass && !f.CutOff {
			f.Exchanges = append(f.Exchanges, e.shown())
		}
	}
	x.findings[id] = f
}

// report returns the findings on the selected requirements, in the order of the
// catalogue, and why a MUST was cut off. Late tells that the time of the examination is over.
func (x *exam) report(late bool) (findings []Finding, ended string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.withdraw()
	end := cmp.Or(x.gaveUp, when(late, "the examination took all of its %s", x.options.Budget))
	for i := range x.rules {
		q := x.rules[i].Requirement
		if !x.options.Selection.Wants(q) {
			continue
		}
		f := x.findings[q.ID]
		if f == nil {
			f = &Finding{Verdict: Skipped, Detail: cmp.Or(end, "the agent never came so far"), CutOff: end != ""}
		}
		f.Requirement = q
		if f.Verdict == Fail && q.Level == Should {
			f.Verdict = Warn
		}
		if f.CutOff && q.Level == Must {
			ended = cmp.Or(end, ended, f.Detail)
		}
		findings = append(findings, *f)
	}
	return findings, ended
}

// A defect is a fault of an answer as a whole, independent of the request. Requirements that
// fail by answers with the same defect have the same cause.
type defect struct {
	key  string // equal for equal defects; "" for none
	text string // one sentence
	rank int    // how much it tells of the reason; see the ranks
}

// The ranks of answers, the least informative first.
const (
	rankNone     = iota // no answer
	rankStatus          // an HTTP status, and no text that says more
	rankStandard        // an error of JSON-RPC that says no more than its code
	rankMessage         // an error with a message of its own
	rankResult          // a result: the agent has understood the call
)

// Defects that make several requirements fail and that no single answer shows.
var (
	wrappingDefect = defect{"wrapping", "Its replies are not wrapped as JSON-RPC responses.", rankResult}
	idDefect       = defect{"id", "Its replies do not have the id of the request.", rankResult}
	envelopeDefect = defect{"envelope", "Its messages do not have the whole envelope: protocol, message_type, sender, timestamp, conversation_id.", rankResult}
	formDefect     = defect{"form", "Its calls are not in the form of the specification.", rankResult}
)

func calledFormDefect(form string) defect {
	return defect{"called form", "It understands calls only in another form than the specification's: " + form + ".", rankResult}
}

func unreportedDefect(match string) defect {
	return defect{"unreported", "It does not report every match: no report came of " + match + ".", rankResult}
}

// diagnose returns the defect of an answer; the zero value when it has a result.
func diagnose(r *reply) defect {
	switch {
	case r.unasked, r.Error == "" && r.result != nil && r.fault == nil:
		return defect{rank: rankResult}
	case r.Error != "":
		return defect{"no answer: " + reasonOf(r.Error), "It does not answer: " + r.Error + ".", rankNone}
	case r.fault != nil:
		rank := rankMessage
		if r.fault.standard() {
			rank = rankStandard
		}
		return defect{fmt.Sprintf("error %d %s", r.fault.code, r.fault.message), "It " + r.trouble() + ".", rank}
	}
	return defect{fmt.Sprintf("status %d", r.Status), "It " + r.trouble() + ".", rankStatus}
}

// reasonOf is the last part of a network error, which is the same for all calls.
func reasonOf(err string) string {
	if strings.HasPrefix(err, "no answer within") {
		return "timeout"
	}
	parts := strings.Split(err, ": ")
	return parts[len(parts)-1]
}

// standard tells whether an error says no more than its code.
func (f *fault) standard() bool {
	switch f.message {
	case "", "Parse error", "Invalid Request", "Method not found", "Invalid params", "Internal error", "Unknown method":
		return true
	}
	return f.code == codeUnknownMethod
}

// rank tells how informative the evidence of a finding is.
func (f *Finding) rank() int {
	if f.defect.key == "" {
		return rankResult
	}
	return f.defect.rank
}

// causesOf groups the findings that do not hold by their defects, sets their Cause,
// and returns the causes: MUST first, then in the order of the catalogue.
func causesOf(findings []Finding) []Cause {
	groups := map[string][]*Finding{}
	var keys []string
	for i := range findings {
		f := &findings[i]
		if f.Verdict != Fail && f.Verdict != Warn {
			continue
		}
		key := cmp.Or(f.defect.key, f.ID)
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], f)
	}
	causes := make([]Cause, 0, len(keys))
	for _, key := range keys {
		causes = append(causes, causeOf(groups[key]))
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return strings.Compare(string(a.Level), string(b.Level)) })
	return causes
}

// causeOf is the cause of findings that share a defect.
func causeOf(group []*Finding) Cause {
	first := group[0]
	if i := slices.IndexFunc(group, func(f *Finding) bool { return f.Level == Must }); i > 0 {
		first = group[i]
	}
	c := Cause{ID: first.ID, Level: first.Level, Text: cmp.Or(first.Detail, first.Text)}
	if len(group) > 1 {
		c.Text = first.defect.text
	}
	for _, f := range group {
		f.Cause = c.ID
		c.Requirements = append(c.Requirements, f.ID)
	}
	return c
}

// withdraw takes back passes by which the agent has shown nothing.
func (x *exam) withdraw() {
	skip := func(f *Finding, why string) {
		if f != nil && f.Verdict == Pass {
			*f = Finding{Verdict: Skipped, Detail: why + ", so that this shows nothing"}
		}
	}
	for id, f := range x.findings {
		if !x.understood.Load() && !strings.Contains(id, "-REG-") && !strings.HasSuffix(id, "-FRM-03") {
			skip(f, "the agent has understood no call")
		}
	}
	for i := range x.rules {
		r := &x.rules[i]
		if given := x.findings[r.given]; given != nil && given.Verdict != Pass {
			skip(x.findings[r.ID], r.given+" does not hold")
		}
	}
}

// wantsMembership tells whether an error is about the identity of caller or agent, not
// about the request.
func wantsMembership(f *fault) bool {
	codes := []protocol.Code{protocol.ErrPlayerNotRegistered, protocol.ErrTokenMissing, protocol.ErrTokenInvalid, protocol.ErrNotAuthorized}
	return slices.Contains(codes, protocol.Code(f.catalogued())) || slices.Contains([]int{3001, 4001, 4002}, f.code)
}

// tokens finds the tokens of a message by the names of their members, because reports are
// published. In the result of an MCP tool the message is a text, with escaped quotation
// marks.
var tokens = regexp.MustCompile(`(?i)(\\*"(?:auth_token|access_token|token)\\*"\s*:\s*\\*")(?:[^"\\]|\\[^"]){5,}`)

// shown returns the exchange for a report.
func (x *Exchange) shown() Exchange {
	e := *x
	e.Request = cmp.Or(e.Request, shown(e.request))
	e.Response = shown(e.response)
	return e
}

// shown returns a body for a report: shortened, as valid UTF-8, and without tokens.
func shown(body []byte) string {
	text := tokens.ReplaceAllString(string(protocol.HideTokens(body)), "$1***")
	if len(text) > maxShown {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxShown], ""), len(body))
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
