package check

import (
	"slices"
	"strings"
	"time"

	"evenodd/league/protocol"
)

// A rule is a row of the table of a role: a requirement, and how the kit judges it.
type rule struct {
	Requirement
	judges    []judge
	scenarios []string // that show the requirement, besides those in the names of its facts
	given     string   // the requirement that must hold; else a pass shows nothing
}

// A judge decides a requirement by each fact with this name. It decides nothing while one
// of the other requirements does not hold.
type judge struct {
	id     string
	fact   string
	others []string
	decide test
}

// A fact is an observation of the agent. Its name begins with the scenario that shows it
// ("repeat/join"), or has no scenario if several show it ("join").
type fact struct {
	about          string // the case; the detail of a failure begins with it
	skip           string // why the fact could not be observed: its requirements are skipped
	problem        string // a problem that the scenario itself observed
	note           string // the detail of a pass
	defect         defect // that failures have in common
	others         []string
	reply, earlier *reply
	call           *call
	evidence       []*Exchange // besides those of the replies and the call

	// What a message is compared with.
	match, conversation, messageType, sender string
	message                                  members        // nil: that of the reply or call
	want                                     map[string]any // expected members
	at                                       time.Time
	broken                                   []protocol.FieldError // fields that the agents of a league refuse
	code                                     protocol.Code         // of a refusal; "" for any
	numbers                                  []int                 // of JSON-RPC, instead of the code
	of                                       *refereedMatch
	player                                   *fakePlayer
}

// read returns the message that the fact is about: its own, or that of the reply or call.
func (f *fact) read() members {
	switch {
	case f.message != nil:
		return f.message
	case f.reply != nil:
		return f.reply.result
	}
	return f.call.params
}

// A clause completes a rule.
type clause func(*rule)

func must(id, text, spec, hint string, clauses ...clause) rule {
	r := rule{Requirement: Requirement{ID: id, Level: Must, Text: text, Page: pageOf(id), Spec: spec, Hint: hint}}
	for _, c := range clauses {
		c(&r)
	}
	return r
}

func should(id, text, spec, hint string, clauses ...clause) rule {
	r := must(id, text, spec, hint, clauses...)
	r.Level = Should
	return r
}

// on adds a judge. It decides nothing while one of the other requirements fails.
func on(fact string, decide test, others ...string) clause {
	return func(r *rule) { r.judges = append(r.judges, judge{r.ID, fact, others, decide}) }
}

// in names further scenarios that show the requirement.
func in(scenarios ...string) clause {
	return func(r *rule) { r.scenarios = append(r.scenarios, scenarios...) }
}

// given names a requirement that must hold: if it does not, the agent shows nothing by a
// pass. An agent that refuses every call makes no wrong choice either.
func given(id string) clause { return func(r *rule) { r.given = id } }

// Scenarios of requirements that many scenarios can show.
const (
	everywhere = "everywhere"  // any scenario
	everyMatch = "every match" // of a referee
)

// shows tells whether a scenario shows the requirement.
func (r *rule) shows(scenario string) bool {
	return slices.Contains(r.scenarios, everywhere) || slices.Contains(r.namedScenarios(), scenario)
}

// namedScenarios returns the scenarios that show the requirement.
func (r *rule) namedScenarios() []string {
	all := slices.Clone(r.scenarios)
	for _, j := range r.judges {
		if scenario, _, ok := strings.Cut(j.fact, "/"); ok {
			all = append(all, scenario)
		}
	}
	return all
}

// tableOf returns the rules of a role, in the order of the report.
func tableOf(role string) []rule {
	x := &exam{}
	return map[string][]rule{
		Player: (&playerExam{exam: x}).table(), Referee: (&refereeExam{exam: x}).table(), Manager: (&managerExam{exam: x}).table(),
	}[role]
}

// use sets the table of the examination.
func (x *exam) use(table []rule) {
	x.rules, x.judges = table, map[string][]judge{}
	for _, r := range table {
		for _, j := range r.judges {
			x.judges[j.fact] = append(x.judges[j.fact], j)
		}
	}
}

// selects tells whether a selected requirement satisfies a condition.
func (x *exam) selects(condition func(*rule) bool) bool {
	return slices.ContainsFunc(x.rules, func(r rule) bool { return x.options.Selection.Wants(r.Requirement) && condition(&r) })
}

// needs tells whether one of the scenarios shows a selected requirement.
func (x *exam) needs(scenarios ...string) bool {
	return x.selects(func(r *rule) bool { return slices.ContainsFunc(scenarios, r.shows) })
}

// needsMoreThan tells whether a selected requirement depends on another scenario.
func (x *exam) needsMoreThan(scenarios ...string) bool {
	return x.selects(func(r *rule) bool {
		named := r.namedScenarios()
		return len(named) == 0 || slices.ContainsFunc(named, func(s string) bool { return !slices.Contains(scenarios, s) })
	})
}

// record judges all requirements that depend on facts with this name.
func (x *exam) record(name string, f *fact) {
	judges := x.judges[name]
	if judges == nil {
		panic("no requirement depends on the fact " + name) // an error of the kit, which all of its tests find
	}
	for _, j := range judges {
		x.decide(&j, f)
	}
}

func (x *exam) decide(j *judge, f *fact) {
	for _, other := range slices.Concat(j.others, f.others) {
		if x.failed(other) {
			x.block(j.id, other+" does not hold, and without it this cannot be examined")
			return
		}
	}
	shown := append([]*Exchange{f.earlier.exchange(), f.reply.exchange(), f.call.exchange()}, f.evidence...)
	if f.skip != "" {
		x.skip(j.id, f.skip, shown...)
		return
	}
	finding := &Finding{Verdict: Pass, Detail: f.note}
	problem := j.decide(f)
	if why, ok := strings.CutPrefix(problem, undecided); ok {
		if why != "" {
			x.skip(j.id, why, shown...)
		}
		return
	}
	if problem != "" {
		finding = &Finding{Verdict: Fail, Detail: problem, defect: f.defect}
		if f.about != "" {
			finding.Detail = f.about + ": " + problem
		}
	}
	x.find(j.id, finding, shown)
}
