package check

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
	"evenodd/transport/dialect/bridge"
)

// The limits of the kit's own agents.
const (
	maxCall     = 256 << 10        // bytes of a request
	maxRecord   = 64 << 20         // bytes of requests that are kept in one examination
	maxHolding  = 45 * time.Second // that an agent gives no answer
	pathOfAgent = "/mcp"
)

// The fakes are the agents of the kit that the agent under examination meets. They keep
// its calls in the order in which they arrive. Safe for concurrent use.
type fakes struct {
	exam   *exam
	host   string
	life   context.Context //nolint:containedctx // of the agents
	end    context.CancelFunc
	agents []*fakeAgent // only the examination itself opens them

	conducting sync.WaitGroup // of the matches that a referee of the kit conducts

	mu      sync.Mutex
	calls   []*call
	size    int           // bytes of the calls
	changed chan struct{} // closed, and replaced, at every event
}

// A response is the answer of a fake agent to a call. The zero value closes the connection.
type response struct {
	result  map[string]any   // a message; wrapped as the call was
	failure *dialect.Failure // instead; wrapped likewise
	status  int              // of HTTP, with a body
	body    []byte           // sent as it is, instead of a result or failure
	after   time.Duration    // pause before the answer
}

// A fakeAgent is an agent of the kit. Its dialect reads its calls, and knows the form that
// the agent under examination understands.
type fakeAgent struct {
	fakes   *fakes
	url     string
	id      string // under which it was registered, or has registered the agent; guarded by fakes.mu
	dialect *bridge.Bridge
	answer  func(*call) response
	server  *http.Server
	serving sync.WaitGroup
}

// newFakes makes agents on the host of the listener.
func newFakes(ctx context.Context, x *exam) *fakes {
	s := &fakes{exam: x, host: "localhost", changed: make(chan struct{})}
	if host, _, err := net.SplitHostPort(x.options.Listener.Addr().String()); err == nil {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			s.host = host
		}
	}
	s.life, s.end = context.WithCancel(ctx)
	return s
}

// close ends all agents.
func (s *fakes) close() {
	s.end()
	for _, a := range s.agents {
		_ = a.server.Close() // nothing to lose
		a.serving.Wait()
	}
	s.conducting.Wait()
}

// open serves an agent on a listener; nil is a free port. Without a port it gives the
// examination up, so that no call names the agent.
func (s *fakes) open(l net.Listener, answer func(*call) response) *fakeAgent {
	if l == nil {
		var err error
		if l, err = s.exam.options.Listen(s.life, "tcp", net.JoinHostPort(s.host, "0")); err != nil {
			s.exam.giveUp(fmt.Sprintf("no port for an agent of the kit: %v", err))
			return &fakeAgent{fakes: s, dialect: s.exam.host.dialect}
		}
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	a := &fakeAgent{fakes: s, url: "http://" + net.JoinHostPort(s.host, port) + pathOfAgent, answer: answer}
	a.dialect = bridge.New(bridge.Options{Endpoint: a.url, League: checkLeague, Clock: protocol.SystemClock(),
		Log: zerolog.Nop()})
	a.server = &http.Server{
		Handler: http.HandlerFunc(a.serve), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return s.life },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				a.serving.Add(1)
			case http.StateClosed:
				a.serving.Done()
			}
		},
	}
	a.serving.Go(func() { _ = a.server.Serve(l) }) // it ends with close
	s.agents = append(s.agents, a)
	return a
}

func (a *fakeAgent) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "POST alone", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCall))
	if err != nil { // a caller whose connection broke reads no status
		http.Error(w, "the request cannot be read", http.StatusRequestEntityTooLarge)
		return
	}
	calls, status, answer := a.translate(r, body)
	a.answered(calls, status, answer)
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	if status != http.StatusNoContent {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer) //nolint:gosec // JSON for an agent, no page; the caller may be gone
}

// translate answers the calls in a body by the dialect of the agent, or by a response that
// is sent as it is. Status 0 closes the connection.
func (a *fakeAgent) translate(r *http.Request, body []byte) (calls []*call, status int, answer []byte) {
	var raw *response
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	status, translated := a.dialect.Serve(r.Context(), from.Addr().Unmap(), r.URL.Path, body,
		func(ctx context.Context, canonical []byte) (none transport.Answer) {
			c := a.read(body, canonical)
			if c.object == nil {
				return answerOf(c.wrap(refuse(codeParse, "Parse error")))
			}
			calls = append(calls, c)
			a.fakes.keep(c, len(body))
			p := refuse(codeInvalidRequest, "Invalid Request")
			if c.method != "" || c.kind != "" {
				p = a.answer(c)
			}
			if !rest(ctx, p.after) { // nobody waits for it any more
				p = response{}
			}
			wrapped := c.wrap(p)
			switch {
			case wrapped == nil:
				raw = &p
				return none
			case c.object["id"] == nil && c.method != "": // a notification
				return none
			}
			return answerOf(wrapped)
		})
	answer = translated.Body
	switch {
	case raw != nil:
		return calls, raw.status, raw.body
	case status == http.StatusNotFound && len(calls) == 0:
		c := a.read(body, body)
		path := plain(r.URL.Path)
		c.To, c.kind, c.form = strings.TrimSuffix(a.url, pathOfAgent)+path, "", "POST "+path+" instead of POST "+pathOfAgent
		a.fakes.keep(c, len(body))
		calls = append(calls, c)
	case len(answer) == 0: // a notification
		status = http.StatusNoContent
	}
	return calls, status, answer
}

// answerOf is the text of a response as the answer of an agent.
func answerOf(response []byte) transport.Answer {
	ack := &protocol.MatchAssignmentAck{}
	result, err := transport.DecodeResponse(response, func(result []byte) (any, error) {
		_ = json.Unmarshal(result, ack) // a result of another method
		return ack, nil
	})
	return transport.Answer{Body: response, Result: result, Err: err}
}

// become sets the id of an agent, unless it has one.
func (a *fakeAgent) become(id string) {
	defer a.fakes.update()()
	a.id = cmp.Or(a.id, id)
}

// identity is the id of an agent; "" for none.
func (a *fakeAgent) identity() string {
	a.fakes.mu.Lock()
	defer a.fakes.mu.Unlock()
	return a.id
}

// keep adds a call of so many bytes to the record, unless the record is full.
func (s *fakes) keep(c *call, size int) {
	defer s.update()()
	c.searching = c.form != "" && c.kind != "" && slices.ContainsFunc(s.calls, func(k *call) bool {
		return k.To == c.To && k.kind == c.kind && k.form == ""
	})
	if s.size += size + 1<<10; s.size <= maxRecord { // with what is kept beside the bytes
		s.calls = append(s.calls, c)
	}
}

// update begins a change of the record. Its result ends the change, and wakes the goroutines
// that await one.
func (s *fakes) update() (end func()) {
	s.mu.Lock()
	return func() {
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
	}
}

// wake wakes the goroutines that await a change.
func (s *fakes) wake() { s.update()() }

// received returns the calls that satisfy a condition, as they are now, in order.
func (s *fakes) received(want func(*call) bool) []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*call
	for _, c := range s.calls {
		if want(c) {
			now := *c
			found = append(found, &now)
		}
	}
	return found
}

// of returns the calls of a kind to some agents, or to all, without those that search for the form of an agent.
func (s *fakes) of(kind string, to ...*fakeAgent) []*call {
	return s.received(func(c *call) bool {
		return c.kind == kind && !c.searching && (to == nil || slices.Contains(to, c.to))
	})
}

// received returns the calls of a kind to an agent.
func (a *fakeAgent) received(kind string) []*call { return a.fakes.of(kind, a) }

// await waits until done holds; false if most or ctx ends before.
func (s *fakes) await(ctx context.Context, most time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if done() {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// answered notes the answer to calls.
func (a *fakeAgent) answered(calls []*call, status int, body []byte) {
	defer a.fakes.update()()
	for _, c := range calls {
		c.Status, c.response, c.answered, c.TookMS = status, body, true, time.Since(c.at).Milliseconds()
		if status == 0 {
			c.Error = "the kit closed the connection"
		}
	}
}
