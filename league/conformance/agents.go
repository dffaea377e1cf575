package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/dialect/bridge"
	"evenodd/league/protocol"
)

// The bounds of what the kit's own agents take.
const (
	maxCall     = 256 << 10 // bytes of a request
	maxCalls    = 20000     // requests that are kept in one examination
	maxRecord   = 64 << 20  // bytes of them
	maxPlaying  = 64        // requests that one agent of the kit answers at once
	maxHolding  = 45 * time.Second
	pathOfAgent = "/mcp"
)

// A stage is where the kit plays agents: it serves them, and keeps what they
// were told, in the order in which it came. Safe for concurrent use.
type stage struct {
	host   string
	life   context.Context //nolint:containedctx // of the agents that are played
	end    context.CancelFunc
	listen func(ctx context.Context, network, address string) (net.Listener, error)
	agents []*actor // only the examination itself opens them

	mu     sync.Mutex
	closed bool
	calls  []*call
	events int           // calls and answers so far
	size   int           // bytes of their bodies
	moved  chan struct{} // closed, and replaced, when something was told
}

// A performance is how an agent of the kit answers a call. The zero value closes the
// connection.
type performance struct {
	result  map[string]any // a message; wrapped as the call was
	failure []byte         // a JSON-RPC error object, where there is no result; wrapped likewise
	status  int            // of HTTP; 0 means 200
	body    []byte         // sent as it is, where there is neither
	forever bool           // no answer at all
	after   time.Duration  // wait before it
	until   <-chan struct{}
}

// An actor is one agent of the kit. Its dialect reads what it is told, and knows how the
// agent under examination wants to be called.
type actor struct {
	stage   *stage
	url     string
	id      string // that it was registered under; the stage's mu guards it
	dialect *bridge.Bridge
	play    func(*call) performance
	server  *http.Server
	serves  sync.WaitGroup
	busy    chan struct{}
}

// openStage makes a stage under the host of a listener.
func openStage(ctx context.Context, o *Options) *stage {
	l := o.Listener
	s := &stage{host: "localhost", listen: o.Listen, moved: make(chan struct{})}
	if host, _, err := net.SplitHostPort(l.Addr().String()); err == nil {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			s.host = host
		}
	}
	s.life, s.end = context.WithCancel(ctx)
	return s
}

// close ends all agents of the stage.
func (s *stage) close() {
	s.end()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, a := range s.agents {
		_ = a.server.Close() // nothing to lose
	}
	for _, a := range s.agents {
		a.serves.Wait()
	}
}

// open serves one more agent at a free port.
func (s *stage) open(play func(*call) performance) (*actor, error) {
	l, err := s.listen(s.life, "tcp", net.JoinHostPort(s.host, "0"))
	if err != nil {
		return nil, fmt.Errorf("no port for an agent of the kit: %w", err)
	}
	return s.openAt(l, nil, play), nil
}

// openAt serves an agent on a listener. Its dialect is one of its own if none is given.
func (s *stage) openAt(l net.Listener, speaks *bridge.Bridge, play func(*call) performance) *actor {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	a := &actor{
		stage: s, url: "http://" + net.JoinHostPort(s.host, port) + pathOfAgent, dialect: speaks, play: play, busy: make(chan struct{}, maxPlaying),
	}
	if a.dialect == nil {
		a.dialect = bridge.New(bridge.Options{Endpoint: a.url, League: checkLeague, Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	}
	a.server = &http.Server{
		Handler: http.HandlerFunc(a.serve), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0),
	}
	a.serves.Go(func() { _ = a.server.Serve(l) }) // it ends with close
	s.agents = append(s.agents, a)
	return a
}

func (a *actor) serve(w http.ResponseWriter, r *http.Request) {
	if !a.enter() {
		panic(http.ErrAbortHandler)
	}
	defer a.serves.Done()
	select {
	case a.busy <- struct{}{}:
		defer func() { <-a.busy }()
	default:
		http.Error(w, "too many calls at once", http.StatusServiceUnavailable)
		return
	}
	body, ok := posted(w, r, maxCall)
	if !ok {
		return
	}
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	var calls []*call
	var as *performance // what is sent as it is, in place of an answer
	status, answer := a.dialect.Serve(r.Context(), from.Addr().Unmap(), r.URL.Path, body, func(ctx context.Context, canonical []byte) []byte {
		c := a.read(r, body, canonical)
		if c.object == nil {
			return c.wrap(c.refuse(codeParse, "Parse error"))
		}
		calls = append(calls, c)
		a.stage.keep(c, len(body))
		p := a.play(c)
		if !a.wait(ctx, p) {
			as = &performance{}
			return nil
		}
		answer := c.wrap(p)
		switch {
		case answer == nil:
			as = &p
		case c.object["id"] == nil: // a notification
			return nil
		}
		return answer
	})
	if as != nil {
		status, answer = cmp.Or(as.status, http.StatusOK), as.body
	}
	hangsUp := as != nil && as.status == 0 && as.body == nil
	if hangsUp {
		status = 0
	}
	for _, c := range calls {
		a.note(c, status, answer)
	}
	defer func() {
		for _, c := range calls {
			a.answered(c)
		}
	}()
	switch {
	case hangsUp:
		panic(http.ErrAbortHandler)
	case len(answer) == 0 && as == nil: // a notification
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer) //nolint:gosec // JSON for an agent, no page; a caller may be gone
}

// posted is the body of a POST to an agent of the kit, of at most limit bytes. Any
// other request is refused here.
func posted(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, ok bool) {
	if r.Method != http.MethodPost {
		http.Error(w, "POST alone", http.StatusMethodNotAllowed)
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		status := http.StatusBadRequest
		if large := new(http.MaxBytesError); errors.As(err, &large) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "the request cannot be read", status)
		return nil, false
	}
	return body, true
}

// become tells an agent under which id it was registered.
func (a *actor) become(id string) {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	a.id = id
}

// identity is the id of an agent, "" before it is registered.
func (a *actor) identity() string {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	return a.id
}

// enter counts a call that is being answered, for close to wait for; false when
// the stage is closed.
func (a *actor) enter() bool {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	if !a.stage.closed {
		a.serves.Add(1)
	}
	return !a.stage.closed
}

// keep puts a call of so many bytes into the record, unless it is full.
func (s *stage) keep(c *call, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events++
	c.seq = s.events
	c.searching = c.form != "" && slices.ContainsFunc(s.calls, func(k *call) bool {
		return k.to == c.to && k.kind == c.kind && k.form == ""
	})
	if len(s.calls) < maxCalls && s.size+size <= maxRecord {
		s.calls = append(s.calls, c)
		s.size += size
	}
	s.stir()
}

// stir wakes who waits for something to happen; s.mu is held.
func (s *stage) stir() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// wake wakes those that wait for something to happen.
func (s *stage) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stir()
}

// told are the calls that want chooses, in the order in which they came.
func (s *stage) told(want func(*call) bool) []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*call
	for _, c := range s.calls {
		if want(c) {
			found = append(found, c)
		}
	}
	return found
}

// await waits until done holds; false when most or ctx ends before.
func (s *stage) await(ctx context.Context, most time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		s.mu.Lock()
		moved := s.moved
		s.mu.Unlock()
		if done() {
			return true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// wait waits until an answer is due; false when the caller or the stage is gone.
func (a *actor) wait(ctx context.Context, p performance) bool {
	wait := p.after
	if p.forever {
		wait = maxHolding
	}
	if wait == 0 && p.until == nil {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.until:
	case <-ctx.Done():
		return false
	case <-a.stage.life.Done():
		return false
	}
	return !p.forever
}

// note keeps how a call is answered.
func (a *actor) note(c *call, status int, body []byte) {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	a.stage.events++
	c.Status, c.response, c.began = status, body, a.stage.events
	if status == 0 {
		c.Error = "the kit closed the connection"
	}
}

// answered notes that a call is over.
func (a *actor) answered(c *call) {
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	c.answered, c.doneAt = true, time.Now()
	c.TookMS = c.doneAt.Sub(c.at).Milliseconds()
	a.stage.stir()
}
