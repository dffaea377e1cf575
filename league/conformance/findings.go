package conformance

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"evenodd/league/protocol"
)

// pass finds that a requirement holds. Any failure stands.
func (x *exam) pass(id string) { x.find(id, &Finding{Verdict: Pass}, nil) }

// skip finds that a requirement could not be examined. Any finding before stands.
func (x *exam) skip(id, why string, shown ...*Exchange) {
	x.find(id, &Finding{Verdict: Skipped, Detail: why}, shown)
}

// because finds that a requirement does not hold if there is a problem, which may follow
// from a known defect. The first failure stands, unless a later one has a rejection that
// says more.
func (x *exam) because(d defect, id, problem string, shown ...*Exchange) {
	if problem == "" {
		x.pass(id)
		return
	}
	x.find(id, &Finding{Verdict: Fail, Detail: problem, defect: d}, shown)
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
func (x *exam) failed(id string) bool {
	return x.verdict(id) == Fail
}

// verdict is the verdict on a requirement so far; "" for none.
func (x *exam) verdict(id string) Verdict {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.findings[id]; f != nil {
		return f.Verdict
	}
	return ""
}

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
// catalogue. Late tells that the time of the examination is over.
func (x *exam) report(late bool) []Finding {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.withdraw()
	var findings []Finding
	for i := range x.rules {
		q := x.rules[i].Requirement
		if !x.options.Selection.Wants(q) {
			continue
		}
		f := x.findings[q.ID]
		switch {
		case f != nil:
		case x.gaveUp != "":
			f = &Finding{Verdict: Skipped, Detail: x.gaveUp, CutOff: true}
		case late:
			f = &Finding{Verdict: Skipped, Detail: fmt.Sprintf("the examination took all of its %s", x.options.Budget), CutOff: true}
		default:
			f = &Finding{Verdict: Skipped, Detail: "the agent never came so far"}
		}
		f.Requirement = q
		if f.Verdict == Fail && q.Level == Should {
			f.Verdict = Warn
		}
		findings = append(findings, *f)
	}
	return findings
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
	switch protocol.Code(f.catalogued()) {
	case protocol.ErrPlayerNotRegistered, protocol.ErrTokenMissing, protocol.ErrTokenInvalid, protocol.ErrNotAuthorized:
		return true
	}
	return f.code == 3001 || f.code == 4001 || f.code == 4002
}

// tokens finds the tokens of a message by the names of their members, because reports are
// published. In the result of an MCP tool the message is a text, with escaped quotation
// marks.
var tokens = regexp.MustCompile(`(?i)(\\*"(?:auth_token|access_token|token)\\*"\s*:\s*\\*")(?:[^"\\]|\\[^"]){5,}`)

// shown returns the exchange for a report.
func (x *Exchange) shown() Exchange {
	e := *x
	if e.Request == "" {
		e.Request = shown(e.request)
	}
	if e.Response == "" {
		e.Response = shown(e.response)
	}
	return e
}

// shown returns a body for a report: shortened, as valid UTF-8, and without tokens.
func shown(body []byte) string {
	text := tokens.ReplaceAllString(string(protocol.HideTokens(body)), "$1***")
	if len(text) > maxShown {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxShown], ""), len(body))
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return text
}
