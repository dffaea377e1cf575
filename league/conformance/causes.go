package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evenodd/league/protocol"
)

// A defect is what is wrong with an answer as a whole, whatever was asked. Requirements
// that fail because of answers with the same defect have the same cause.
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
func wrappingDefect() defect {
	return defect{"wrapping", "Its replies are not wrapped as JSON-RPC responses.", rankResult}
}

func idDefect() defect {
	return defect{"id", "Its replies do not have the id of the request.", rankResult}
}

func envelopeDefect() defect {
	return defect{"envelope", "Its messages do not have the whole envelope: protocol, message_type, sender, timestamp, conversation_id.", rankResult}
}

func calledFormDefect(form string) defect {
	return defect{"called form", "It understands calls only in another form than the specification's: " + form + ".", rankResult}
}

func formDefect() defect {
	return defect{"form", "Its calls are not in the form of the specification.", rankResult}
}

func unreportedDefect(contest string) defect {
	return defect{"unreported", "It does not report every match: no report came of " + contest + ".", rankResult}
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

// A showing is a requirement that something does not happen, and the requirement that
// must hold before that shows anything: an agent that refuses everything makes no wrong
// choice either.
type showing struct {
	ids  []string
	only string
}

func showings() []showing {
	return []showing{
		{[]string{"P-CHO-07", "P-CHO-08"}, "P-CHO-01"},
		{[]string{"P-REQ-01", "P-REQ-02", "P-REQ-03", "P-REQ-04", "P-REQ-05", "P-REQ-06"}, "P-INV-01"},
		{[]string{"R-INV-05", "R-STA-04", "R-STA-06", "R-STA-07"}, "R-INV-01"},
		{[]string{"R-CHO-03", "R-ERR-05"}, "R-CHO-01"},
		{[]string{"R-LOS-05", "R-REP-08"}, "R-REP-01"},
		{[]string{"M-AUT-01", "M-AUT-02", "M-AUT-03", "M-AUT-04", "M-AUT-05", "M-QRY-06", "M-QRY-07", "M-QRY-08", "M-QRY-11"}, "M-QRY-01"},
		{[]string{"M-RPT-04", "M-RPT-05", "M-RPT-06", "M-RPT-07", "M-RPT-08", "M-RPT-09"}, "M-RPT-01"},
		{[]string{
			"M-REF-01", "M-REF-02", "M-REF-03", "M-REF-04", "M-REF-05", "M-REF-06", "M-REF-07", "M-REF-08", "M-REF-09", "M-REF-10", "M-REF-11", "M-REF-13",
			"M-REF-14", "M-REF-15", "M-RUN-02", "M-RUN-03",
		}, "M-REG-02"},
	}
}

// withdraw takes back what passed although the agent has shown nothing by it.
func (l *lab) withdraw() {
	for id, f := range l.findings {
		if f.Verdict == Pass && !l.understood && !ofRegistration(id) {
			*f = Finding{Verdict: Skipped, Detail: "the agent has understood nothing that it was sent, so that this shows nothing"}
		}
	}
	for _, s := range showings() {
		before := l.findings[s.only]
		if before == nil || before.Verdict == Pass {
			continue
		}
		for _, id := range s.ids {
			if f := l.findings[id]; f != nil && f.Verdict == Pass {
				*f = Finding{Verdict: Skipped, Detail: s.only + " does not hold, so that this shows nothing"}
			}
		}
	}
}

// ofRegistration tells whether a requirement is about what the agent sends of itself.
func ofRegistration(id string) bool {
	return strings.Contains(id, "-REG-") || strings.HasSuffix(id, "-FRM-03")
}

// wantsMembership tells whether an error is about who asks or who is asked, not about
// what is asked.
func wantsMembership(f *fault) bool {
	switch protocol.Code(f.catalogued()) {
	case protocol.ErrPlayerNotRegistered, protocol.ErrTokenMissing, protocol.ErrTokenInvalid, protocol.ErrNotAuthorized:
		return true
	}
	return f.code == 3001 || f.code == 4001 || f.code == 4002
}
