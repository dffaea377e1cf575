package bridge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// A peer is another agent. Bridge.mu guards what is before opening.
type peer struct {
	numbered            bool // it accepts our manager only as league_manager:LM01
	routes              map[string]*route
	last                *dialect.Form // the form that the agent understood last; nil for none
	asSpecified         bool          // it understood the last question of a match in the form of the specification
	missed              *call         // the last announcement that it did not know before it understood anything
	unwilling           bool          // it rejected all forms of a broadcast before it understood anything
	logged, loggedStart bool          // the log tells that this is a third-party agent, and how it starts matches

	opening  chan struct{}       // holds a value while a call reads or changes server and noServer
	server   *dialect.ToolServer // that it is; nil if that is not known
	pong     string              // how it answers a ping, if the answer is not a PONG; guarded by Bridge.mu
	listed   []string            // the tools that it lists; guarded by Bridge.mu
	noServer time.Time           // when it was none; zero for never
	lastID   atomic.Int64        // of a request to the server
}

// A route is what is known about the forms of one method at one agent.
type route struct {
	form     dialect.Form   // the next call begins with it; the zero value for the likeliest form
	learned  bool           // the agent understood form
	proven   bool           // form starts matches: a report followed
	late     bool           // form was not answered in time
	excluded []dialect.Form // forms that it rejected, and those in which it accepted matches without a report
	refused  time.Time      // when the agent had rejected all forms; zero for never
	loggedAs [2]int         // HTTP status and JSON-RPC code of the rejection in the log
}

func (r *route) excludes(f dialect.Form) bool { return slices.Contains(r.excluded, f) }

// find returns what is known about an endpoint. B.mu is held.
func (b *Bridge) find(endpoint string) *peer {
	if at := b.peers.values[endpoint]; at != nil {
		return at
	}
	return &peer{routes: map[string]*route{}, opening: make(chan struct{}, 1)}
}

// remember is find for a change: the endpoint is remembered. B.mu is held.
func (b *Bridge) remember(endpoint string) *peer {
	at := b.find(endpoint)
	b.peers.set(endpoint, at)
	return at
}

// route returns the forms of a method.
func (at *peer) route(method string) *route {
	if at.routes[method] == nil {
		at.routes[method] = &route{}
	}
	return at.routes[method]
}

const (
	// refusedFor is how long an agent that rejected all forms of a method is called in one
	// form alone. A registration may only have come too early: for it, and for the start of
	// a match, this time is refusedForShort.
	refusedFor      = 15 * time.Minute
	refusedForShort = time.Minute
)

// plan returns the forms to try at the endpoint. A learned form is the only one, and so is
// the likeliest form, if the agent has rejected all of them lately. Else the likeliest form
// begins, because its rejection may have been about the content, or temporary; the others
// that were not excluded follow, by distance from the form that the agent understood last.
// The start of a match is learned only when a report has followed.
func (c *call) plan() (forms []dialect.Form, learned, alone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.find(c.Endpoint)
	known, patience := at.route(c.method.Name), refusedFor
	if c.method.Registers || c.match != nil {
		patience = refusedForShort
	}
	switch {
	case known.learned && (c.match == nil || known.proven):
		return []dialect.Form{known.form}, true, false
	case !known.refused.IsZero() && c.options.Clock.Now().Sub(known.refused) < patience:
		return []dialect.Form{cmp.Or(known.form, dialect.SpecForm(c.method.Name))}, false, true
	}
	forms = c.method.Forms()
	if at.last != nil {
		if c.method.Notice { // agents often reject notices under any name: no other structure is tried
			forms = slices.DeleteFunc(forms, func(f dialect.Form) bool { return !f.SameWrapping(*at.last) })
		}
		slices.SortStableFunc(forms, func(a, b dialect.Form) int { return a.Distance(*at.last) - b.Distance(*at.last) })
	}
	if c.match != nil {
		if left := slices.DeleteFunc(slices.Clone(forms), known.excludes); len(left) > 0 {
			forms = left
		} else {
			known.excluded = nil // from the beginning
		}
	}
	begin := forms[max(slices.Index(forms, known.form), 0)]
	rest := slices.DeleteFunc(forms, func(f dialect.Form) bool { return f == begin || known.excludes(f) })
	return slices.Insert(rest, 0, begin), false, false
}

// A search holds the results of the forms that were tried.
type search struct {
	*call
	rejected []dialect.Form
	best     reply // the most informative rejection
}

// search tries one form after the other until the agent understands one, in half of the
// window of ctx. The first form has all of the window, because an agent may need it for its
// answer; each further form has a quarter. A timeout is no rejection: the next call
// tries that form first, with all of its window.
//
// A timeout, an error of the protocol, and an HTTP status that asks to wait, end the search.
// Without an understood form, search returns the most informative rejection.
func (c *call) search(ctx context.Context, forms []dialect.Form, alone bool) (reply, error) {
	s, began, window := &search{call: c}, time.Now(), time.Duration(0)
	if end, limited := ctx.Deadline(); limited {
		window = end.Sub(began)
	}
	for i, f := range forms {
		limited, stop := ctx, func() {}
		if i > 0 && window > 0 {
			if time.Since(began) >= window/2 {
				return s.fail(false, alone), nil
			}
			if c.match == nil {
				limited, stop = context.WithTimeout(ctx, window/4)
			}
		}
		r, done, err := s.try(limited, f, i == 0)
		stop()
		if done {
			return r, err
		}
	}
	return s.fail(true, alone), nil
}

// try tries one form. Done tells that the search is over.
func (s *search) try(ctx context.Context, f dialect.Form, first bool) (r reply, done bool, err error) {
	r, err = s.attempt(ctx, f)
	switch {
	case err != nil, r.Verdict == dialect.Refused, r.Verdict == dialect.Unavailable:
		s.interrupt(f, first, err)
		return r, true, err
	case r.understood():
		s.learn(f, s.rejected)
		return r, true, nil
	}
	failed := s.match != nil && r.Status >= dialect.StatusInternalError // perhaps in the match that it started
	if r.first = first || failed; !failed {
		s.rejected = append(s.rejected, f)
	}
	if r.rank() > s.best.rank() {
		s.best = r
	}
	if s.unwanted(&r) {
		return s.best, true, nil
	}
	return r, false, nil
}

// unwanted tells whether an agent that does not know the specification's name of a broadcast does not want it, so that
// no other form is tried: it understands the questions of a match under the names of the specification, or it has
// rejected all forms of another broadcast. While nothing is known of the agent, the search waits for the broadcast
// after the first announcement, because a match waits for that one. An agent that then understands the questions under
// other names gets the announcement late.
func (s *search) unwanted(r *reply) bool {
	if !s.method.Notice || s.method.InMatch || !r.first || !r.Failure.UnknownMethod() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.remember(s.Endpoint)
	if at.last != nil {
		return at.asSpecified
	}
	announcement := s.method.Name == protocol.NotifyRound.Name
	unwanted := at.unwilling || announcement && at.missed == nil
	if announcement && unwanted {
		at.missed = s.call
	}
	return unwanted
}

// interrupt remembers the results of a search that ends with a form that is not rejected.
func (s *search) interrupt(f dialect.Form, first bool, err error) {
	late := errors.Is(err, context.DeadlineExceeded)
	if s.rejected == nil && !late {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.remember(s.Endpoint).route(s.method.Name)
	known.excluded = append(known.excluded, s.rejected...)
	switch {
	case late && !first:
		known.form, known.late = f, true
	case late && known.late: // also with all of the window
		known.form, known.late = dialect.Form{}, false
		known.excluded = append(known.excluded, f)
	}
}

// learn remembers the form that the endpoint understood, after it rejected others.
func (c *call) learn(f dialect.Form, rejected []dialect.Form) {
	c.mu.Lock()
	defer c.mu.Unlock()
	isSpecForm := f == dialect.SpecForm(c.method.Name)
	if isSpecForm && !c.numbered && c.peers.full() && c.peers.values[c.Endpoint] == nil {
		return // an agent that needs only the specification's form evicts no other
	}
	at := c.remember(c.Endpoint)
	at.numbered = at.numbered || c.numbered
	before := *at.route(c.method.Name)
	known, logged := route{form: f, learned: true}, &at.logged
	if c.match != nil {
		known.proven, logged = before.proven && before.form == f, &at.loggedStart
		known.excluded = slices.Concat(before.excluded, rejected)
	} else {
		at.last = &f
		if c.method.InMatch && !c.method.Notice {
			at.asSpecified = isSpecForm
			if at.missed != nil && !isSpecForm {
				c.sendLate(at.missed)
			}
			at.missed = nil
		}
	}
	*at.route(c.method.Name) = known
	if !isSpecForm && !*logged && !c.obliging {
		*logged = true
		c.options.Log.Info().Str("endpoint", c.Endpoint).Str("method", c.method.Name).Stringer("form", f).
			Str("event_type", "FORM_LEARNED").Msg("learned the form that a third-party agent understands")
	}
}

// fail remembers that the agent understood no form of the search, logs it unless the log
// has the same, and returns the most informative rejection.
func (s *search) fail(exhausted, alone bool) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, best := s.remember(s.Endpoint), s.best
	known := at.route(s.method.Name)
	switch {
	case alone:
	case exhausted:
		at.unwilling = at.unwilling || s.method.Notice && !s.method.InMatch && at.last == nil
		known.refused, known.excluded = s.options.Clock.Now(), nil
	default:
		known.refused, known.excluded = time.Time{}, append(known.excluded, s.rejected...)
	}
	if best.rank() >= telling {
		known.form, known.late = best.form, false
	}
	if as := [2]int{best.Status, best.Failure.Code}; as != known.loggedAs {
		known.loggedAs = as
		s.options.Log.Warn().Str("endpoint", s.Endpoint).Str("method", s.method.Name).Int("http_status", best.Status).
			Func(func(e *zerolog.Event) {
				if best.Failure.Code != 0 {
					e.Int("jsonrpc_code", best.Failure.Code)
				}
			}).Str("body", best.excerpt).
			Str("event_type", "FORMS_REJECTED").Msg("the agent rejected every form of this call")
	}
	if s.method.Notice && !best.Failure.Present { // always an error of JSON-RPC: the agent got the notice
		failure := dialect.Failure{Code: transport.CodeMethodNotFound, Text: "HTTP " + strconv.Itoa(best.Status)}
		best.Body = failure.Body(s.asked.ID)
	}
	return best
}

// noteStart remembers that a form starts matches at an endpoint, because a report
// followed, or that none did. A form that one match has proven stays proven. B.mu is held.
func (b *Bridge) noteStart(endpoint string, f dialect.Form, reported bool) {
	known := b.find(endpoint).route(protocol.StartMatch.Name)
	switch {
	case !known.learned || known.form != f:
	case reported:
		known.proven = true
	case !known.proven:
		known.form, known.learned = dialect.Form{}, false
		known.excluded = append(known.excluded, f)
	}
}

// telling is the lowest rank of a rejection whose form the agent may have understood.
const telling = 5

// rank tells how informative a rejection is. An error with a text of its own is above a failure in the likeliest form
// (HTTP 5xx, or a response that is no answer), an unknown method or a result that does not answer the call, an HTTP
// status with a JSON body, any other response, and a form that was not sent, in this order. A tool for the call with
// another schema is as informative as a failure in the likeliest form. HTTP 5xx counts as a failure in the likeliest
// form of a start, because a referee may fail in the match that it has started.
func (r *reply) rank() int {
	f, succeeded := r.Failure, r.Status/100 == 2
	says := f.Present && f.Text != "" && f.Code != transport.CodeMethodNotFound && !f.UnknownMethod()
	switch {
	case r.Status == 0: // none
		return 0
	case r.unsent && f.Text != noTool: // a tool for the call with another schema
		return telling
	case r.unsent:
		return 1
	case says && f.Code == 0:
		return telling + 1
	case says && !slices.Contains(standardTexts, f.Text):
		return telling + 2
	case r.first && !f.Present && (succeeded || r.Status >= dialect.StatusInternalError):
		return telling
	case f.Present, r.Message != nil:
		return 4
	case !succeeded && protocol.ParseObject(r.Body) != nil:
		return 3
	}
	return 2
}

// standardTexts are the texts of JSON-RPC's own errors, which say no more than the code.
var standardTexts = []string{
	"Parse error", "Invalid Request", "Method not found", "Invalid params", "Internal error", "Server error",
}
