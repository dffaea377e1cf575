package dialect

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"evenodd/league/protocol"
)

const (
	// maxForms is the largest number of forms of a question: a set of them is a uint64.
	maxForms = 64
	// maxAfterReceived is how many forms a call tries after a reply RECEIVED. The agent
	// has probably understood the question, and each further form puts it again. The
	// next call tries the next forms.
	maxAfterReceived = 3
	// relentAfter is how long an agent that rejected all forms of a question is asked
	// in the protocol's own form alone. For a registration, which may only have come
	// too early, and for the start of a match it is relentSoon.
	relentAfter = 15 * time.Minute
	relentSoon  = time.Minute
)

// A call is one question to one endpoint.
type call struct {
	*peers

	endpoint, bearer string
	q                *question
	asked            request
	post             postFunc

	posted <-chan struct{} // closed when an answer was posted later; nil where none can be

	match      *handout // that is handed over; nil for all other questions
	assignment object   // of that match

	nested   bool // the last rejection asks for nested members
	numbered bool // asked has the sender numberedManager in place of our manager's

	hidden [][]byte // the tokens of the call, once they are known
}

// ask puts a question, and puts it once more with a numbered sender if the answer refuses
// the sender.
func (c *call) ask(ctx context.Context) (reply, error) {
	r, err := c.askInForms(ctx)
	if err == nil && c.asked.refusesSender(r) {
		return c.askNumbered(ctx, r)
	}
	return r, err
}

// askInForms puts a question in the form that the endpoint is known to understand, and
// searches for one when there is none. A form that was learned is the only one that
// is tried.
func (c *call) askInForms(ctx context.Context) (reply, error) {
	if f, learned := c.learned(); learned {
		r, _, err := c.try(ctx, f, time.Time{})
		return r, err
	}
	if p, hopeless := c.hopeless(); hopeless {
		return c.search(ctx, func(yield func(int, form) bool) { yield(p.place, p.form) }, true)
	}
	return c.search(ctx, c.nestedNext(c.order()), false)
}

// askNumbered puts a question once more in the form of an answer that refused the sender,
// with the only sender that some agents accept: see numberedSender and numberedManager.
func (c *call) askNumbered(ctx context.Context, refused reply) (reply, error) {
	if registers(c.q.method) {
		numbered, other := numberedSender(c.asked)
		if !other {
			return refused, nil
		}
		c.asked = numbered
	} else {
		c.asked.message, c.numbered = asNumberedManager(c.q.method, c.asked.message), true
		if c.match != nil {
			c.assignment = objectOf(c.asked.message)
		}
	}
	r, _, err := c.try(ctx, refused.form, time.Time{})
	if err == nil && r.verdict == understood {
		c.learn(r.form)
	}
	return r, err
}

// A search holds the results of the forms tried.
type search struct {
	tried    uint64
	doubt    int
	best     reply // the most informative rejection; the zero value for none
	deferred *reply
}

// search tries one form after the other until one is understood, in half of the
// window of ctx. The first form has all of the window, because
// an agent may think for long about its answer; each further one has a quarter. A
// timeout is not a rejection: the next call tries that form first, with all of its
// window.
//
// An error of the protocol, and an HTTP status that asks to wait, end the search.
// An agent that says RECEIVED has a quarter of the window to post its
// answer before maxAfterReceived other forms are tried, because it may say so to
// anything. If none of them is understood, or one of them brings an error, the agent
// has the rest of the window to post its answer. Otherwise the most informative
// rejection is returned. That of a notice is always an error of JSON-RPC: the agent is
// there, and need not be told again. Alone is set where there is only one form, because
// the agent has rejected all lately.
func (c *call) search(ctx context.Context, forms iter.Seq2[int, form], alone bool) (reply, error) {
	began := time.Now()
	end, limited := ctx.Deadline()
	window := end.Sub(began)
	var s search
	left, exhausted := maxForms, true
	first := true
	for place, f := range forms {
		if left == 0 || !first && limited && time.Since(began) >= window/2 {
			exhausted = false
			break
		}
		left--
		var until time.Time
		if !first && limited {
			until = time.Now().Add(window / 4)
		}
		r, late, err := c.try(ctx, f, until)
		broken := err != nil || r.verdict == refused || r.verdict == unavailable
		switch {
		case broken && s.deferred != nil && ctx.Err() == nil: // the answer may still be posted
			left = 0
			continue
		case err != nil:
			c.note(&s)
			return r, err
		case r.verdict == understood, r.verdict == deferred && c.awaitPosted(ctx, window/4):
			c.learn(f)
			return r, nil
		case broken:
			c.note(&s)
			return r, nil
		case late && s.doubt == 0:
			s.doubt = place + 1
		case r.verdict == deferred && s.deferred == nil:
			s.deferred = &r
			left = min(left, maxAfterReceived)
		}
		s.tried |= 1 << place
		r.place, r.first = place, first
		first = false
		if !late && (s.best.none() || r.rank() > s.best.rank()) {
			s.best = r
		}
	}
	if s.deferred != nil {
		if c.awaitPosted(ctx, window) {
			c.learn(s.deferred.form)
		} else {
			c.note(&s)
		}
		return *s.deferred, nil
	}
	decisive := c.fail(&s, exhausted, alone)
	if s.doubt != 0 || decisive.none() {
		return reply{}, context.DeadlineExceeded
	}
	if c.q.notice && !decisive.failed.there {
		decisive.body = failure{code: methodNotFound, text: "HTTP " + strconv.Itoa(decisive.status)}.encode(c.asked.id)
	}
	return decisive, nil
}

// awaitPosted waits for an answer that is posted later, until ctx ends. It tells whether
// there is one.
func (c *call) awaitPosted(ctx context.Context, most time.Duration) bool {
	if c.posted == nil {
		return false
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-c.posted:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// try puts the question in one form. Until, if it is not zero, limits the try: late
// tells that there was no answer by then.
func (c *call) try(ctx context.Context, f form, until time.Time) (r reply, late bool, err error) {
	limited, stop := ctx, func() {}
	switch {
	case c.match != nil:
		limited, stop = shortly(ctx)
	case !until.IsZero():
		limited, stop = context.WithDeadline(ctx, until)
	}
	defer stop()
	status, answer, err := c.post(limited, f.url(c.endpoint), f.encode(c.message(f), c.asked.id))
	late = err != nil && limited.Err() != nil && ctx.Err() == nil
	switch {
	case late && c.match != nil: // it answers when the match is over
		r = taken(c.asked.id, c.match.id, nil)
	case late:
		return reply{verdict: rejected}, true, nil
	case err != nil:
		return reply{}, false, err
	case status == httpOK && f == c.q.own() && plainAnswer(c.q.method, answer):
		r = reply{verdict: understood, status: status, body: answer}
	default:
		return c.read(f, status, answer), false, nil
	}
	r.form = f
	return r, false, nil
}

// message is the message of a form.
func (c *call) message(f form) jsontext.Value {
	switch {
	case f.nested:
		return nest(c.asked.message, c.league())
	case c.match == nil:
		return c.asked.message
	case f.announces:
		return announcement(c.assignment, c.endpoint).appendTo(nil)
	}
	return spelled(c.assignment).appendTo(nil)
}

// read translates an answer to a form. What is kept or shown of an answer that is not
// understood has no token of the call.
func (c *call) read(f form, status int, answer []byte) reply {
	var r reply
	if c.match != nil {
		r = readStart(c.asked.id, c.match.id, status, answer)
	} else {
		r = c.q.read(c.asked.id, status, answer)
	}
	r.form = f
	if r.verdict != understood {
		if c.hidden == nil {
			c.hidden = secretsOf(c.asked.message, c.bearer)
		}
		r.raw = excerpt(conceal(answer, c.hidden))
		r.body = conceal(r.body, c.hidden)
	}
	c.nested = !f.nested && c.q.asksNested(&r)
	return r
}

// learned is the form that the endpoint is known to understand. One in which matches
// were handed over is only known when a report has followed.
func (c *call) learned() (f form, ok bool) {
	at := c.find(c.endpoint)
	if at == nil {
		return form{}, false
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	h := at.habits[c.q.method]
	if h == nil || !h.learned || c.match != nil && !h.proven {
		return form{}, false
	}
	return h.form, true
}

// hopeless tells whether the endpoint has rejected all forms of the question lately,
// and in which form it is asked nevertheless.
func (c *call) hopeless() (placed, bool) {
	at := c.find(c.endpoint)
	if at == nil {
		return placed{}, false
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	patience := relentAfter
	if registers(c.q.method) || c.match != nil {
		patience = relentSoon
	}
	h := at.habits[c.q.method]
	if h == nil || h.refused.IsZero() {
		return placed{}, false
	}
	if c.options.Clock.Now().Sub(h.refused) >= patience { // from the beginning
		*h = habit{logged: h.logged, fruitless: h.fruitless}
		return placed{}, false
	}
	if h.best.rank() >= ownMessage {
		return placed{h.best.place, h.best.form}, true
	}
	return placed{0, c.q.own()}, true
}

// A placed form is one with its place in the product.
type placed struct {
	place int
	form  form
}

// order yields the forms that are to be tried at the endpoint: the likeliest one, then
// those that it has not rejected, the ones first that are closest to a form that it
// understands. The likeliest one begins every call, because its rejection may have been
// about the content, or have passed: the form that was not answered in its time, or
// was rejected with a message of its own, else the first of all.
//
// Agents often reject a notice under any name, and little is lost by it: there mayNotice
// leaves few forms.
func (c *call) order() iter.Seq2[int, form] {
	at := c.find(c.endpoint)
	if at == nil {
		return func(yield func(int, form) bool) {
			for n, f := range c.q.forms() {
				if !yield(n, f) {
					return
				}
			}
		}
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	h := at.habit(c.q.method)
	var all []placed
	for len(all) == 0 {
		for n, f := range c.q.forms() {
			if h.fruitless>>n&1 == 0 && (!c.q.notice || at.mayNotice(f)) {
				all = append(all, placed{n, f})
			}
		}
		if len(all) == 0 { // from the beginning
			h.fruitless = 0
		}
	}
	if at.styled {
		slices.SortStableFunc(all, func(a, b placed) int { return a.form.distance(at.style) - b.form.distance(at.style) })
	}
	first := slices.IndexFunc(all, func(p placed) bool { return p.place == h.doubt-1 })
	if first < 0 {
		first = slices.IndexFunc(all, func(p placed) bool {
			return h.learned && p.form == h.form || !h.learned && h.best.rank() >= ownMessage && p.form == h.best.form
		})
	}
	begin := all[max(first, 0)]
	h.doubt = 0
	rest := slices.DeleteFunc(all, func(p placed) bool { return p == begin || h.tried>>p.place&1 == 1 })
	return func(yield func(int, form) bool) {
		if !yield(begin.place, begin.form) {
			return
		}
		for _, p := range rest {
			if !yield(p.place, p.form) {
				return
			}
		}
	}
}

// mayNotice tells whether a notice is put in a form: in any where nothing is known of
// the agent, else in wrappings and variants that it has understood. At.mu is held.
func (at *peer) mayNotice(f form) bool {
	if !at.styled {
		return true
	}
	known := !f.nested
	for _, h := range at.habits {
		known = known || h.learned && h.form.nested
	}
	return known && f.wrapping == at.style.wrapping
}

// learn remembers the form in which the endpoint understood the question.
func (c *call) learn(f form) {
	own := f == c.q.own()
	at := c.meet(c.endpoint, own && !c.numbered)
	if at == nil {
		return
	}
	if c.numbered {
		at.numbered.Store(true)
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	h := at.habit(c.q.method)
	*h = habit{form: f, learned: true, proven: h.proven && h.form == f, fruitless: h.fruitless}
	if own && !registers(c.q.method) { // which may be refused because of their sender
		at.own.Or(1 << indexOf(c.q.method))
	}
	told := &at.told
	if c.match != nil {
		told = &at.toldStart
	} else {
		at.style, at.styled = f, true
	}
	if !own && !*told {
		*told = true
		c.options.Log.Info().Str("endpoint", c.endpoint).Str("method", c.q.method).Stringer("form", f).
			Str("event_type", protocol.EventFormLearned).Msg("learned the form that a third-party agent understands")
	}
}

// note remembers which forms were rejected before a search was broken off.
func (c *call) note(s *search) {
	if s.tried == 0 {
		return
	}
	at := c.meet(c.endpoint, false)
	at.mu.Lock()
	defer at.mu.Unlock()
	h := at.habit(c.q.method)
	h.tried |= s.tried
	h.doubt = s.doubt
}

// fail remembers that no form of a search was understood, logs it unless the log has
// the same, and returns the most informative rejection that is known.
func (c *call) fail(s *search, exhausted, alone bool) reply {
	at := c.meet(c.endpoint, false)
	at.mu.Lock()
	defer at.mu.Unlock()
	h := at.habit(c.q.method)
	switch {
	case alone:
	case exhausted && s.doubt == 0:
		h.refused, h.tried = c.options.Clock.Now(), 0
	default:
		h.tried |= s.tried
		h.doubt, h.refused = s.doubt, time.Time{}
	}
	decisive := s.best
	if !h.best.none() && (s.best.none() || h.best.rank() > s.best.rank() || h.best.rank() == s.best.rank() && !alone) {
		decisive = h.best
	} else {
		h.best = s.best.kept()
	}
	if said := [2]int{decisive.status, decisive.failed.code}; !decisive.none() && said != h.logged {
		h.logged = said
		c.options.Log.Warn().Str("endpoint", c.endpoint).Str("method", c.q.method).Int("http_status", decisive.status).
			Func(func(e *zerolog.Event) {
				if decisive.failed.code != 0 {
					e.Int("jsonrpc_code", decisive.failed.code)
				}
			}).Str("body", decisive.raw).Str("event_type", protocol.EventFormsRejected).Msg("the agent rejected every form of this call")
	}
	return decisive
}

// prove remembers that a form in which matches are handed over starts them.
func (p *peers) prove(endpoint string, f form) {
	if at := p.find(endpoint); at != nil {
		at.mu.Lock()
		defer at.mu.Unlock()
		if h := at.habit(protocol.StartMatch.Name); h.learned && h.form == f {
			h.proven = true
		}
	}
}

// disprove marks a form after which no report arrived, unless another match has
// proven it.
func (p *peers) disprove(endpoint string, q *question, f form) {
	at := p.find(endpoint)
	if at == nil {
		return
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	h := at.habit(q.method)
	if !h.learned || h.proven || h.form != f {
		return
	}
	h.learned = false
	for n, other := range q.forms() {
		if other == f {
			h.fruitless |= 1 << n
		}
	}
}
