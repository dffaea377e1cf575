package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/words"
)

// A rule is a row of the table of a role: a requirement, and how the kit judges it.
type rule struct {
	Requirement
	judges    []judge
	scenarios []string // that show the requirement, besides those in the names of its facts
	given     []string // requirements without which it shows nothing
}

// A judge decides a requirement by each fact with this name.
type judge struct {
	fact   string
	decide test
}

// A fact is an observation of the agent. Its name begins with the scenario that shows it
// ("repeat/join"), or has no scenario if several show it ("join").
type fact struct {
	about          string // the case; the detail of a failure begins with it
	problem        string // a problem that the scenario itself observed, or skipped
	note           string // the detail of a pass
	defect         string // that failures have in common
	reply, earlier *reply
	call           *call

	// What a message is compared with, beside the message that the reply answers.
	sender string        // any id may follow a colon at its end
	want   object        // expected members
	code   protocol.Code // of a refusal; "" for any
	of     *refereedMatch
	player *fakePlayer
}

// read returns the message that the fact is about, with the names of the specification.
func (f *fact) read() members {
	if f.call != nil {
		return f.call.params
	}
	return f.reply.result
}

// sent returns the message as the agent wrote it.
func (f *fact) sent() members {
	if f.call != nil {
		return f.call.sent
	}
	return f.reply.result
}

// kind is the type that the message must have.
func (f *fact) kind() string {
	if f.call != nil {
		return f.call.kind
	}
	return methodOf(f.reply.method).Result
}

// evidence returns the calls that show the fact. They may still be in progress, and exam.mu is held.
func (f *fact) evidence() (all []*Exchange) {
	for _, r := range []*reply{f.earlier, f.reply} {
		if r != nil {
			all = append(all, &r.Exchange)
		}
	}
	if f.call != nil {
		all = append(all, &f.call.Exchange)
	}
	return all
}

// A clause completes a rule.
type clause func(*rule)

// must makes a rule. See is a section of protocolPage and, after a comma, that of the specification.
func must(id, see, text string, clauses ...clause) rule {
	heading, spec, _ := strings.Cut(see, ", ")
	anchor := strings.ReplaceAll(strings.ToLower(heading), " ", "-")
	r := rule{Requirement: Requirement{ID: id, Level: Must, Text: text, Page: protocolPage + "#" + anchor, Spec: spec}}
	for _, c := range clauses {
		c(&r)
	}
	return r
}

func should(id, see, text string, clauses ...clause) rule {
	r := must(id, see, text, clauses...)
	r.Level = Should
	return r
}

// form is the requirement that a message has the members of its table in the protocol, these optional
// ones as the agent wrote them, and that they have the expected values.
func form(id, see, messageType string, optional ...string) rule {
	names := append(slices.DeleteFunc(required(messageType), isEnvelope), optional...)
	return should(id, see,
		messageType+" has "+words.And(names)+", as in the protocol.",
		on(messageType, ruled((*fact).read, func(field string) bool { return !isEnvelope(field) }), func(f *fact) string {
			if f.call == nil || f.call.kind != messageType { // a reply, or the question of another game than even_odd
				return ""
			}
			return exist(optional...)(f)
		}, sameValues))
}

// required are the members that a message must have, or an object in it.
func required(messageType string, path ...string) []string {
	names, _ := schemaOf(messageType, path...)["required"].([]string)
	return slices.Clone(names)
}

// schemaOf is the schema of a message, or of a member by its path.
func schemaOf(messageType string, path ...string) object {
	schema, _ := protocol.Schema(messageType)
	for _, name := range path {
		properties, _ := schema["properties"].(object)
		schema, _ = properties[name].(object)
	}
	return schema
}

func isEnvelope(field string) bool {
	return slices.Contains([]string{"protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token"},
		field)
}

// sameValues compares the members of a message with the expected ones.
func sameValues(f *fact) string {
	for _, name := range slices.Sorted(maps.Keys(f.want)) {
		got, want := f.read()[name], encoded(f.want[name])
		if got != nil && !sameJSON(got, want) {
			return name + " is " + valueOf(f.read(), name) + ", not " + string(want)
		}
	}
	return ""
}

// on adds a judge, which wants a fact without a problem, or one that passes these tests.
func on(fact string, tests ...test) clause {
	decide := found
	if len(tests) > 0 {
		decide = every(tests...)
	}
	return func(r *rule) { r.judges = append(r.judges, judge{fact, decide}) }
}

// mend adds how to mend what does not hold, where the requirement does not say it.
func mend(hint string) clause { return func(r *rule) { r.Hint = hint } }

// in names further scenarios that show the requirement.
func in(scenarios ...string) clause {
	return func(r *rule) { r.scenarios = append(r.scenarios, scenarios...) }
}

// given names requirements that must hold: without them the agent shows nothing. An agent that
// refuses every call makes no wrong choice either.
func given(ids ...string) clause { return func(r *rule) { r.given = append(r.given, ids...) } }

// protocolPage is the page that describes the protocol, from the root of the repository.
const protocolPage = "docs/protocol.md"

// See returns where to read about a requirement: the section of docs/protocol.md and that of the
// specification.
func (r *Requirement) See() string {
	if r.Spec == "" || r.Page == "" {
		return r.Page + r.Spec
	}
	return r.Page + ", " + r.Spec
}

// groups are the groups of requirements, in the order of the report.
const groups = "REG HTTP FRM MSG RPC MET ENV REF STA INV CHO OVR ERR NOT REQ UNI LOAD LAT " +
	"AUT QRY RUN RND ASG RPT REP LOS END"

// inOrder puts the rules of a role into the order of the report.
func inOrder(rules ...[]rule) []rule {
	all := slices.Concat(rules...)
	group := func(r rule) int { return slices.Index(strings.Fields(groups), strings.Split(r.ID, "-")[1]) }
	slices.SortFunc(all, func(a, b rule) int { return cmp.Or(group(a)-group(b), strings.Compare(a.ID, b.ID)) })
	return all
}

// play is the scenario of requirements that a usual league shows.
const play = "play"

// shownBy returns the scenarios that show the requirement.
func (r *rule) shownBy() []string {
	all := slices.Clone(r.scenarios)
	for _, j := range r.judges {
		if scenario, _, ok := strings.Cut(j.fact, "/"); ok {
			all = append(all, scenario)
		}
	}
	if len(all) == 0 {
		return []string{play}
	}
	return all
}

// needs tells whether a selected requirement depends on one of the scenarios.
func (x *exam) needs(scenarios ...string) bool {
	return slices.ContainsFunc(x.rules, func(r rule) bool {
		return x.Selection.Wants(r.Requirement) &&
			slices.ContainsFunc(r.shownBy(), func(s string) bool { return slices.Contains(scenarios, s) })
	})
}

// show records the fact that an agent answered in some way, with the problem of the answer.
func (x *exam) show(name string, r *reply, problems ...string) {
	x.record(name, &fact{reply: r, problem: cmp.Or(problems...)})
}

// miss records why facts could not be observed. It replaces no finding.
func (x *exam) miss(why string, names ...string) {
	for _, name := range names {
		x.show(name, nil, skipped(why))
	}
}

// record judges all requirements that depend on facts with this name.
func (x *exam) record(name string, f *fact) {
	for i := range x.rules {
		for _, j := range x.rules[i].judges {
			if j.fact == name {
				x.find(x.rules[i].ID, f, j.decide)
			}
		}
	}
}

// find decides a requirement by a fact, and keeps the finding. The first failure stands.
func (x *exam) find(id string, f *fact, decide test) {
	problem := f.problem
	if !strings.HasPrefix(problem, undecided) {
		problem = decide(f)
	}
	finding := &Finding{Verdict: Pass, Detail: f.note}
	switch why, skip := strings.CutPrefix(problem, undecided); {
	case skip && why == "":
		return
	case skip:
		finding = &Finding{Verdict: Skipped, Detail: why}
	case problem != "":
		finding = &Finding{Verdict: Fail, Detail: when(f.about != "", "%s: ", f.about) + problem, defect: f.defect}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.findings[id]
	if before != nil && (before.Verdict == Fail || finding.Verdict == Skipped || finding.Verdict == before.Verdict) {
		return
	}
	for _, e := range f.evidence() {
		switch {
		case (e.unasked || e.hurried) && finding.Verdict == Fail: // a call that was not made is no failure
			if before == nil {
				x.findings[id] = &Finding{Verdict: Skipped, Detail: x.hideTokens(e.Error), CutOff: e.unasked}
			}
			return
		case finding.Verdict != Pass:
			finding.defect = cmp.Or(finding.defect, e.defect)
			finding.Exchanges = append(finding.Exchanges, x.shown(*e))
		}
	}
	finding.Detail, finding.defect = x.hideTokens(finding.Detail), x.hideTokens(finding.defect)
	x.findings[id] = finding
}
