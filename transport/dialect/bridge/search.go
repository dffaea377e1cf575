package bridge

import (
	"context"
	"slices"
	"strconv"
	"time"

	"evenodd/transport/dialect"
)

const (
	// refusedFor is how long an agent that rejected all forms of a method is called in one
	// form alone. A registration may only have come too early: for it, and for the start of
	// a match, this time is refusedForShort.
	refusedFor      = 15 * time.Minute
	refusedForShort = time.Minute
)

// A search holds the results of the forms that were tried.
type search struct {
	*call
	began    time.Time
	window   time.Duration // 0 for no deadline
	rejected uint64        // a set of forms
	late     int           // the position, counted from 1, of the first form that was not answered in time; 0 for none
	best     reply
}

// search tries one form after the other until the agent understands one, in half of the
// window of ctx. The first form has all of the window, because an agent may need it for its
// answer; each further form has a quarter. A timeout is no rejection: the next call
// tries that form first, with all of its window.
//
// An error of the protocol, and an HTTP status that asks to wait, end the search.
// Without an understood form, search returns the most informative rejection.
func (c *call) search(ctx context.Context) (reply, error) {
	forms, alone := c.plan()
	s := &search{call: c, began: time.Now()}
	if end, limited := ctx.Deadline(); limited {
		s.window = end.Sub(s.began)
	}
	exhausted := true
	for i, f := range forms {
		if i > 0 && s.window > 0 && time.Since(s.began) >= s.window/2 {
			exhausted = false
			break
		}
		if r, done, err := s.try(ctx, f, i == 0); done {
			return r, err
		}
	}
	best := c.fail(s, exhausted, alone)
	if s.late != 0 || best.rank() == none {
		return reply{}, context.DeadlineExceeded
	}
	if c.method.Notice && !best.Failure.Present { // always an error of JSON-RPC: the agent got the notice
		best.Body = dialect.Failure{Code: dialect.MethodNotFound, Text: "HTTP " + strconv.Itoa(best.Status)}.Body(c.asked.ID)
	}
	return best, nil
}

// try tries one form. Done tells that the search is over.
func (s *search) try(ctx context.Context, f dialect.Form, first bool) (r reply, done bool, err error) {
	var until time.Time
	if !first && s.window > 0 {
		until = time.Now().Add(s.window / 4)
	}
	r, late, err := s.attempt(ctx, f, until)
	switch {
	case err != nil, r.Verdict == dialect.Refused, r.Verdict == dialect.Unavailable:
		s.noteRejected(s)
		return r, true, err
	case r.understood():
		s.learn(f)
		return r, true, nil
	case late && s.late == 0:
		s.late = f.Position + 1
	}
	failed := s.match != nil && r.Status >= httpInternalError // perhaps in the match that it started
	if r.first = first || failed; !failed {
		s.rejected |= 1 << f.Position
	}
	if !late && r.rank() > s.best.rank() {
		s.best = r
	}
	return r, false, nil
}

// plan returns the forms to try at the endpoint: the likeliest one, then those that it has
// not rejected, by distance from the form that it understood last. The likeliest form
// begins every call, because its rejection may have been about the content, or temporary: it
// is the form that was not answered in time, or whose rejection is telling, else
// the first of all. Alone tells that the agent has rejected all forms lately: it is called
// in the likeliest one alone.
//
// Agents often reject a notice under any name. Then few forms are tried.
func (c *call) plan() (forms []dialect.Form, alone bool) {
	at := c.find(c.endpoint)
	if at == nil {
		at = &peer{methods: map[string]*methodForms{}}
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	known := at.forms(c.method.Name)
	if !known.refused.IsZero() {
		if only, lately := c.refusedLately(known); lately {
			return []dialect.Form{only}, true
		}
		*known = methodForms{loggedAs: known.loggedAs, fruitless: known.fruitless} // from the beginning
	}
	forms, left := c.formsLeft(at, known)
	if !left { // from the beginning
		known.fruitless = 0
		forms, _ = c.formsLeft(at, known)
	}
	if at.hasLast {
		slices.SortStableFunc(forms, func(a, b dialect.Form) int { return a.Distance(at.last) - b.Distance(at.last) })
	}
	first := slices.IndexFunc(forms, func(f dialect.Form) bool { return f.Position == known.unanswered-1 })
	switch {
	case first >= 0:
	case known.learned:
		first = slices.Index(forms, known.form)
	case known.best.rank() >= telling:
		first = slices.Index(forms, known.best.form)
	}
	begin := forms[max(first, 0)]
	known.unanswered = 0
	rest := slices.DeleteFunc(forms, func(f dialect.Form) bool { return f == begin || known.rejected>>f.Position&1 == 1 })
	return slices.Insert(rest, 0, begin), false
}

// formsLeft returns the forms that were not fruitless. Left tells whether the agent can be
// called in one of them. At.mu is held.
func (c *call) formsLeft(at *peer, known *methodForms) (forms []dialect.Form, left bool) {
	for _, f := range c.method.Forms() {
		if known.fruitless>>f.Position&1 == 0 && (!c.method.Notice || at.mayNotice(f)) {
			forms = append(forms, f)
			left = left || !f.OnServer() || at.server != nil
		}
	}
	return forms, left
}

// refusedLately tells whether the agent has rejected all forms of the method lately, and
// returns the form in which it is called nevertheless.
func (c *call) refusedLately(known *methodForms) (only dialect.Form, lately bool) {
	patience := refusedFor
	if c.method.Registers || c.match != nil {
		patience = refusedForShort
	}
	only = dialect.SpecForm(c.method.Name)
	if known.best.rank() >= telling {
		only = known.best.form
	}
	return only, c.options.Clock.Now().Sub(known.refused) < patience
}

// mayNotice tells whether a notice is sent in a form: in any form to an unknown agent, else
// in the structure, and with nested members only if the agent understood some. At.mu is
// held.
func (at *peer) mayNotice(f dialect.Form) bool {
	if !at.hasLast {
		return true
	}
	known := !f.Nested
	for _, other := range at.methods {
		known = known || other.learned && other.form.Nested
	}
	return known && f.SameWrapping(at.last)
}
