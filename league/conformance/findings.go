package conformance

import "fmt"

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
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.findings[id] != nil && x.findings[id].Verdict == Fail
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
