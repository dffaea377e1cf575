package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evenodd/league/protocol"
)

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
