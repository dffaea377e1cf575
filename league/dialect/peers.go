package dialect

import (
	"bytes"
	"container/list"
	"context"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/protocol"
)

// A postFunc makes one POST, as the carrier gives it.
type postFunc = func(ctx context.Context, url string, body []byte) (status int, answer []byte, err error)

// peers is what is known of other agents, by their endpoints: which forms they
// understand. Safe for concurrent use.
type peers struct {
	options Options
	league  func() string // the id of the league that the agent is in; "" for none
	matches handouts

	mu    sync.RWMutex
	known map[string]*peer
	order *list.List // the endpoints that are known; the one that was learned of last comes last
}

// A peer is what is known of one agent.
type peer struct {
	// own has a bit for each question, other than a registration, that the agent has
	// answered in the protocol's own form: a call looks here, and at nothing else.
	own atomic.Uint32
	// numbered is set for an agent that accepts our manager only as numberedManager.
	numbered atomic.Bool

	mu        sync.Mutex
	habits    map[string]*habit // by method
	style     form              // which the agent understood last
	styled    bool
	told      bool // the log has that it is a third-party agent
	toldStart bool // the log has how it is told to start matches

	met *list.Element // in the order of peers, whose mu guards it
}

// A habit is what is known of an agent and one method.
type habit struct {
	form    form
	learned bool   // the agent understood form
	proven  bool   // form starts a match: a report followed
	tried   uint64 // the places of the forms that the agent rejected

	fruitless uint64 // the places of those in which it took matches that came to nothing

	doubt   int       // the place, counted from 1, of a form that was not answered in its time; 0 for none
	refused time.Time // when the agent had rejected all forms; zero for never
	best    reply     // the most informative rejection; the zero value for none
	logged  [2]int    // HTTP status and JSON-RPC code of the rejection that the log has
}

// maxPeers is how many endpoints are remembered.
const maxPeers = 4096

func newPeers(o Options) *peers {
	return &peers{options: o, league: func() string { return "" }, known: map[string]*peer{}, order: list.New()}
}

// call makes a call in the form that its endpoint understands, and returns the
// answer in the form of the protocol.
func (p *peers) call(ctx context.Context, endpoint, bearer, method string, body []byte, post postFunc) (status int, answer []byte, err error) {
	return p.callAwaiting(ctx, endpoint, bearer, method, body, nil, post)
}

// callAwaiting is call for a question whose answer may be posted later: then posted is
// closed. Nil is for a question of another kind.
func (p *peers) callAwaiting(ctx context.Context, endpoint, bearer, method string, body []byte, posted <-chan struct{}, post postFunc) (status int, answer []byte, err error) {
	at := p.find(endpoint)
	if at != nil && at.numbered.Load() {
		body = asNumberedManager(method, body)
	}
	if method == protocol.StartMatch.Name {
		return p.handOver(ctx, endpoint, bearer, body, post)
	}
	n := indexOf(method)
	if n < 0 { // a tool
		return post(ctx, endpoint, body)
	}
	if at != nil && at.understandsOwn(n) {
		status, answer, err = post(ctx, endpoint, body)
		if err != nil || status == httpOK && plainAnswer(method, answer) {
			return status, answer, err
		}
		return p.translated(endpoint, bearer, n, body, status, answer)
	}
	asked, ok := cutRequest(body)
	if !ok {
		return post(ctx, endpoint, body)
	}
	c := call{peers: p, endpoint: endpoint, bearer: bearer, q: &questions[n], asked: asked, post: post, posted: posted}
	r, err := c.ask(ctx)
	return r.status, r.body, err
}

// translated is an answer to the protocol's own form of the n-th question, in the form
// of the protocol.
func (p *peers) translated(endpoint, bearer string, n int, body []byte, status int, answer []byte) (int, []byte, error) {
	asked, ok := cutRequest(body)
	if !ok {
		return status, answer, nil
	}
	c := call{peers: p, endpoint: endpoint, bearer: bearer, q: &questions[n], asked: asked}
	r := c.read(c.q.own(), status, answer)
	return r.status, r.body, nil
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

// find is what is known of an endpoint; nil for nothing.
func (p *peers) find(endpoint string) *peer {
	p.mu.RLock()
	at := p.known[endpoint]
	p.mu.RUnlock()
	return at
}

// meet is what is known of an endpoint, which is remembered from now on. When the
// table is full it takes the place of the endpoint that was learned of least
// recently; one that speaks the protocol's own form is then not remembered, and nil
// is returned.
func (p *peers) meet(endpoint string, own bool) *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.known[endpoint]
	if at != nil {
		p.order.MoveToBack(at.met)
		return at
	}
	if len(p.known) >= maxPeers {
		if own {
			return nil
		}
		delete(p.known, p.order.Remove(p.order.Front()).(string))
	}
	at = &peer{met: p.order.PushBack(endpoint)}
	p.known[endpoint] = at
	return at
}

// understandsOwn tells whether the agent has answered the n-th question in the
// protocol's own form.
func (at *peer) understandsOwn(n int) bool { return at.own.Load()>>n&1 == 1 }

// habit is what is known of a method, made if need be. At.mu is held.
func (at *peer) habit(method string) *habit {
	h := at.habits[method]
	if h == nil {
		h = &habit{}
		if at.habits == nil {
			at.habits = map[string]*habit{}
		}
		at.habits[method] = h
	}
	return h
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
// which results came, and that the forms in which their matches were handed over
// start matches.
func (p *peers) served(body, answer []byte) {
	if p.matches.none() || !isReport(body) || !bytes.HasPrefix(answer, []byte(resultHead)) {
		return
	}
	if endpoint, f, ok := p.matches.reported(body); ok {
		p.prove(endpoint, f)
	}
}

// isReport tells whether a request reports a result.
func isReport(body []byte) bool {
	rest, ok := bytes.CutPrefix(body, []byte(requestHead))
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	return ok && (string(name) == protocol.ReportMatchResult.Name || string(name) == protocol.TypeMatchResultReport)
}
