package dialect

import (
	"bytes"
	"container/list"
	"context"
	"net/url"
	"strconv"
	"sync"
	"time"

	"evenodd/league/protocol"
)

// A postFunc makes one POST, as the carrier gives it.
type postFunc = func(ctx context.Context, url string, body []byte) (status int, answer []byte, err error)

// peers is what is known of other agents, by their endpoints: only of those that
// do not speak as we do.
type peers struct {
	options Options
	matches handouts

	mu    sync.RWMutex
	known map[string]*peer
	order *list.List // the endpoints that are known; of whom something was learned last comes last
}

// A peer is what is known of one that speaks otherwise.
type peer struct {
	mu      sync.Mutex
	methods map[string]*habit
	style   style // in which it understood something last
	styled  bool
	told    bool // to the log

	met *list.Element // in the order of peers, whose mu guards it
}

// A habit is how a peer wants to be asked one question.
type habit struct {
	form    form
	refused time.Time // when it had refused all forms; zero for never
}

const (
	maxPeers = 4096
	maxTries = 12 // to find a form
	// relentAfter is how long one that refused all forms is asked by the protocol's
	// alone; of a registration, which may only have come too early, for shorter.
	relentAfter      = 15 * time.Minute
	relentRegistered = time.Minute
)

func newPeers(o Options) *peers {
	return &peers{options: o, known: map[string]*peer{}, order: list.New()}
}

// call makes a call in the form that its endpoint understands, and returns the
// answer in the form of the protocol.
func (p *peers) call(ctx context.Context, endpoint, method string, body []byte, post postFunc) (status int, answer []byte, err error) {
	if method == protocol.StartMatch.Name {
		return p.handOver(ctx, endpoint, body, post)
	}
	if at := p.find(endpoint); at == nil {
		status, answer, err = post(ctx, endpoint, body)
		if err != nil || status == httpOK && plainAnswer(method, answer) {
			return status, answer, err
		}
	}
	q, known := questionOf(method)
	asked, ok := cutRequest(body)
	if !known || !ok { // a tool
		if status == 0 {
			status, answer, err = post(ctx, endpoint, body)
		}
		return status, answer, err
	}
	var first *reply
	if status != 0 {
		r := q.read(asked.id, status, answer)
		first = &r
	}
	r, err := p.ask(ctx, endpoint, &q, asked, first, post)
	if err == nil && registers(method) && refusesSender(r) {
		if numbered, other := numberedSender(asked); other {
			r, err = p.ask(ctx, endpoint, &q, numbered, nil, post)
		}
	}
	return r.status, r.body, err
}

// ask puts a question in the form that is known to be understood, and looks for one
// when there is none. First is the answer to the protocol's own, if that was asked
// already.
func (p *peers) ask(ctx context.Context, endpoint string, q *question, asked request, first *reply, post postFunc) (reply, error) {
	all := q.forms()
	if first == nil {
		f, alone := p.habit(endpoint, q, all[0])
		r, err := p.try(ctx, endpoint, q, f, asked, post)
		switch {
		case err != nil || r.verdict == unreadable || alone && r.verdict == puzzled:
			return r, err
		case r.verdict == understood:
			p.learn(endpoint, q.method, f)
			return r, nil
		case r.verdict == deferred:
			return r, nil
		case f == all[0]:
			first = &r
		}
	} else if first.verdict == understood || first.verdict == unreadable || first.verdict == deferred {
		return *first, nil
	}
	if p.hopeless(endpoint, q.method) && first != nil {
		return *first, nil
	}
	return p.search(ctx, endpoint, q, asked, first, post)
}

// search tries one form after the other until one is understood. The answer to the
// protocol's own is what counts when none is.
func (p *peers) search(ctx context.Context, endpoint string, q *question, asked request, first *reply, post postFunc) (reply, error) {
	all := q.forms()
	tries := 0
	var last reply
	order := p.inOrder(endpoint, q, all)
	for _, f := range order {
		if f == all[0] && first != nil || tries == maxTries {
			continue
		}
		if q.notice && f.rewrites() && f.style != order[0].style { // little is lost by a notice that is refused
			continue
		}
		tries++
		r, err := p.try(ctx, endpoint, q, f, asked, post)
		if err != nil {
			return r, err
		}
		if r.verdict == deferred {
			return r, nil
		}
		if r.verdict == understood {
			p.learn(endpoint, q.method, f)
			return r, nil
		}
		if last = r; f == all[0] {
			first = &r
		}
	}
	p.despair(endpoint, q.method)
	if first == nil { // the protocol's own is no way to put a notice there
		return last, nil
	}
	return *first, nil
}

// try asks in one form.
func (p *peers) try(ctx context.Context, endpoint string, q *question, f form, asked request, post postFunc) (reply, error) {
	status, answer, err := post(ctx, f.url(endpoint), f.encode(asked.message, asked.id))
	if err != nil {
		return reply{}, err
	}
	return q.read(asked.id, status, answer), nil
}

// url is where a form is posted: at the endpoint, or at a path of its host.
func (f form) url(endpoint string) string {
	if f.path == "" {
		return endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return (&url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: f.path}).String()
}

// portOf is the port of an endpoint; 0 when it names none.
func portOf(endpoint string) int {
	u, err := url.Parse(endpoint)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(u.Port()) // 0 for none
	return n
}

// find is what is known of an endpoint; nil for those who speak as we do, and for
// strangers.
func (p *peers) find(endpoint string) *peer {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.known[endpoint]
}

// meet is what is known of an endpoint, from now on something.
func (p *peers) meet(endpoint string) *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.known[endpoint]
	if at != nil {
		p.order.MoveToBack(at.met)
		return at
	}
	if len(p.known) >= maxPeers { // whom nothing was learned of for longest
		delete(p.known, p.order.Remove(p.order.Front()).(string))
	}
	at = &peer{methods: map[string]*habit{}, met: p.order.PushBack(endpoint)}
	p.known[endpoint] = at
	return at
}

// habit is how an endpoint is asked a question first; alone when it has understood
// that before, so that an error which might be about the form is not.
func (p *peers) habit(endpoint string, q *question, own form) (f form, alone bool) {
	at := p.find(endpoint)
	if at == nil {
		return own, false
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	if h := at.methods[q.method]; h != nil {
		if h.refused.IsZero() {
			return h.form, true
		}
		return own, false
	}
	if at.styled {
		return byStyle(q.forms(), at.style, q.notice)[0], false
	}
	return own, false
}

// hopeless tells whether an endpoint has refused all forms of a question lately.
func (p *peers) hopeless(endpoint, method string) bool {
	at := p.find(endpoint)
	if at == nil {
		return false
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	patience := relentAfter
	if registers(method) {
		patience = relentRegistered
	}
	h := at.methods[method]
	return h != nil && !h.refused.IsZero() && p.options.Clock.Now().Sub(h.refused) < patience
}

// inOrder are the forms of a question as they are tried at an endpoint.
func (p *peers) inOrder(endpoint string, q *question, all []form) []form {
	at := p.find(endpoint)
	if at == nil {
		return all
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	if !at.styled {
		return all
	}
	return byStyle(all, at.style, q.notice)
}

// learn remembers the form in which an endpoint understood a question. Of one that
// understands the protocol's own there is nothing to remember, unless something is
// known of it.
func (p *peers) learn(endpoint, method string, f form) {
	at := p.find(endpoint)
	if at == nil && f.style == styleOwn {
		return
	}
	if at == nil {
		at = p.meet(endpoint)
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	if h := at.methods[method]; h != nil && h.form == f && h.refused.IsZero() {
		return
	}
	at.methods[method] = &habit{form: f}
	at.style, at.styled = f.style, true
	if f.style != styleOwn && !at.told {
		at.told = true
		p.options.Log.Info().Str("endpoint", endpoint).Str("method", method).Stringer("form", f).
			Msg("an agent of another maker: it is asked in its own dialect")
	}
}

// despair remembers that an endpoint refuses a question in every form.
func (p *peers) despair(endpoint, method string) {
	at := p.meet(endpoint)
	at.mu.Lock()
	defer at.mu.Unlock()
	at.methods[method] = &habit{refused: p.options.Clock.Now()}
}

// complete adds to a request what its sender left out and this side knows: to the
// report of a match that was handed to a referee of another maker.
func (p *peers) complete(body []byte) []byte {
	if p.matches.none() || !isReport(body) {
		return body
	}
	return p.matches.complete(body)
}

// served learns from a request and its answer, both in the form of the protocol:
// which results came.
func (p *peers) served(body, answer []byte) {
	if !p.matches.none() && isReport(body) && bytes.HasPrefix(answer, []byte(resultHead)) {
		p.matches.reported(body)
	}
}

// isReport tells whether a request reports a result.
func isReport(body []byte) bool {
	rest, ok := bytes.CutPrefix(body, []byte(requestHead))
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	return ok && (string(name) == protocol.ReportMatchResult.Name || string(name) == protocol.TypeMatchResultReport)
}
