package conformance

import "fmt"

// understand notes that the agent has understood a call. An agent that has understood
// none passes no requirement; see withdraw.
func (l *lab) understand() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.understood = true
}

func (l *lab) hasUnderstood() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.understood
}

// fail finds that a requirement does not hold. The first failure stands, unless a later
// one has a rejection that says more.
func (l *lab) fail(id, detail string, shown ...*Exchange) {
	l.find(id, &Finding{Verdict: Fail, Detail: detail}, shown)
}

// pass finds that a requirement holds, as far as nothing else says otherwise.
func (l *lab) pass(id string) { l.find(id, &Finding{Verdict: Pass}, nil) }

// note is pass with a detail.
func (l *lab) note(id, detail string) { l.find(id, &Finding{Verdict: Pass, Detail: detail}, nil) }

// skip says why a requirement could not be examined; what was found before stands.
func (l *lab) skip(id, why string, shown ...*Exchange) {
	l.find(id, &Finding{Verdict: Skipped, Detail: why}, shown)
}

// judge is fail when there is a problem, else pass. The cause of a failure is the
// defect of the answers that are shown, if they have one.
func (l *lab) judge(id, problem string, shown ...*Exchange) {
	l.because(defect{}, id, problem, shown...)
}

// because is judge for a problem that follows from a known defect.
func (l *lab) because(d defect, id, problem string, shown ...*Exchange) {
	if problem == "" {
		l.pass(id)
		return
	}
	l.find(id, &Finding{Verdict: Fail, Detail: problem, defect: d}, shown)
}

// after is judge for what depends on other requirements: where one of them does not
// hold, nothing can be said, and the requirement is skipped.
func (l *lab) after(before []string, id, problem string, shown ...*Exchange) {
	for _, other := range before {
		if l.failed(other) {
			l.block(id, other+" does not hold, and without it this cannot be examined")
			return
		}
	}
	l.judge(id, problem, shown...)
}

// block is skip for a requirement that does not pass any more, whatever follows.
func (l *lab) block(id, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.findings[id]; before == nil || before.Verdict != Fail {
		l.findings[id], l.blocked[id] = &Finding{Verdict: Skipped, Detail: why}, true
	}
}

// failed tells whether a requirement is known not to hold.
func (l *lab) failed(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.findings[id] != nil && l.findings[id].Verdict == Fail
}

func (l *lab) find(id string, f *Finding, shown []*Exchange) {
	if _, known := l.catalogue[id]; !known {
		panic("no requirement " + id) // an error of the kit, which all of its tests find
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range shown {
		if x == nil {
			continue
		}
		if x.unasked && f.Verdict == Fail { // what was not asked is no failure
			f = &Finding{Verdict: Skipped, Detail: x.Error, CutOff: true}
			break
		}
		if f.defect.key == "" {
			f.defect = x.defect
		}
	}
	before := l.findings[id]
	switch {
	case before == nil:
	case before.Verdict == Fail:
		if f.Verdict != Fail || f.rank() <= before.rank() || f.rank() == rankResult {
			return
		}
	case f.Verdict == Skipped, f.Verdict == before.Verdict, l.blocked[id] && f.Verdict == Pass:
		return
	}
	for _, x := range shown {
		if x != nil && f.Verdict != Pass && !f.CutOff {
			f.Exchanges = append(f.Exchanges, x.shown())
		}
	}
	l.findings[id] = f
}

// report returns the findings on the selected requirements, in the order of the
// catalogue. Late tells that the time of the examination is over.
func (l *lab) report(late bool) []Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.withdraw()
	var findings []Finding
	for _, q := range Catalogue(l.options.Role) {
		if !l.options.Selection.Wants(q) {
			continue
		}
		f := l.findings[q.ID]
		switch {
		case f != nil:
		case l.gaveUp != "":
			f = &Finding{Verdict: Skipped, Detail: l.gaveUp, CutOff: true}
		case late:
			f = &Finding{Verdict: Skipped, Detail: fmt.Sprintf("the examination took all of its %s", l.options.Budget), CutOff: true}
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
