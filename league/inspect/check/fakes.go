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

// A response is the answer of a fake agent to a call. The zero value closes the connection.
type response struct {
	result  object           // a message; wrapped as the call was
	failure *dialect.Failure // instead; wrapped likewise
	status  int              // of HTTP, with a body
	body    []byte           // sent as it is, instead of a result or failure
	after   time.Duration    // pause before the answer
}

// A fakeAgent is an agent of the kit. Its dialect reads its calls, and knows the form that
// the agent under examination understands.
type fakeAgent struct {
	exam    *exam
	url     string
	id      string // under which it was registered, or has registered the agent; guarded by exam.mu
	dialect *bridge.Bridge
	answer  func(*call) response
	server  *http.Server
	serving sync.WaitGroup
}

// hostOf is the host under which agents reach a listener.
func hostOf(l net.Listener) string {
	host, _, err := net.SplitHostPort(l.Addr().String())
	if err != nil || net.ParseIP(host).IsUnspecified() {
		return "localhost"
	}
	return host
}

// close ends all agents of the kit.
func (x *exam) close() {
	x.end()
	for _, a := range x.agents {
		_ = a.server.Close() // nothing to lose
		a.dialect.Close()
		a.serving.Wait()
	}
	x.conducting.Wait()
}

// open serves an agent on a listener; nil is a free port. Without a port it gives the
// examination up, so that no call names the agent.
func (x *exam) open(l net.Listener, answer func(*call) response) *fakeAgent {
	if l == nil {
		var err error
		if l, err = x.Listen(x.life, "tcp", net.JoinHostPort(x.hostname, "0")); err != nil {
			x.giveUp(fmt.Sprintf("no port for an agent of the kit: %v", err))
			return &fakeAgent{exam: x, dialect: x.host.dialect}
		}
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	a := &fakeAgent{exam: x, url: "http://" + net.JoinHostPort(x.hostname, port) + pathOfAgent, answer: answer}
	a.dialect = bridge.New(bridge.Options{Endpoint: a.url, League: checkLeague, Clock: protocol.SystemClock(),
		Log: zerolog.Nop()})
	a.server = &http.Server{
		Handler: http.HandlerFunc(a.serve), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return x.life },
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
	x.agents = append(x.agents, a)
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
	status, answer := a.translate(r, body)
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	if status != http.StatusNoContent {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer) //nolint:gosec // JSON for an agent, no page; the caller may be gone
}

// translate answers the call in a body by the dialect of the agent, or by a response that
// is sent as it is. Status 0 closes the connection.
func (a *fakeAgent) translate(r *http.Request, body []byte) (status int, answer []byte) {
	var c *call
	var raw *response
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	status, translated := a.dialect.Serve(r.Context(), from.Addr().Unmap(), r.URL.Path, body,
		func(ctx context.Context, canonical []byte) (none transport.Answer) {
			got := a.read(body, canonical)
			if got.object == nil {
				return answerOf(got.wrap(refuse(codeParse, "Parse error")))
			}
			c = got
			if c.kind != "" && r.URL.Path != pathOfAgent {
				c.alsoDiffers(otherPath(r))
			}
			a.exam.keep(c)
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
		status, answer = raw.status, raw.body
	case status == http.StatusNotFound && c == nil:
		c = a.read(body, body)
		c.To, c.kind, c.form = strings.TrimSuffix(a.url, pathOfAgent)+plain(r.URL.Path), "", otherPath(r)
		a.exam.keep(c)
	case len(answer) == 0: // a notification
		status = http.StatusNoContent
	}
	if c != nil {
		a.answered(c, status, answer)
	}
	return status, answer
}

// otherPath describes the path of a request that is not that of an agent.
func otherPath(r *http.Request) string {
	return "POST " + plain(r.URL.Path) + " instead of POST " + pathOfAgent
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
	defer a.exam.update()()
	a.id = cmp.Or(a.id, id)
}

// identity is the id of an agent; "" for none.
func (a *fakeAgent) identity() string {
	a.exam.mu.Lock()
	defer a.exam.mu.Unlock()
	return a.id
}

// keep adds a call to the record, unless the record is full.
func (x *exam) keep(c *call) {
	defer x.update()()
	c.searching = c.form != "" && c.kind != "" && slices.ContainsFunc(x.calls, func(k *call) bool {
		return k.To == c.To && k.kind == c.kind && k.form == ""
	})
	if x.size += len(c.request) + 1<<10; x.size <= maxRecord { // with what is kept beside the bytes
		x.calls = append(x.calls, c)
	}
}

// update begins a change of the record. Its result ends the change, and wakes the goroutines
// that await one.
func (x *exam) update() (end func()) {
	x.mu.Lock()
	return func() {
		close(x.changed)
		x.changed = make(chan struct{})
		x.mu.Unlock()
	}
}

// wake wakes the goroutines that await a change.
func (x *exam) wake() { x.update()() }

// received returns the calls that satisfy a condition, as they are now, in order.
func (x *exam) received(want func(*call) bool) []*call {
	x.mu.Lock()
	defer x.mu.Unlock()
	var found []*call
	for _, c := range x.calls {
		if want(c) {
			now := *c
			found = append(found, &now)
		}
	}
	return found
}

// of returns the calls of a kind to some agents, or to all, without those that search for the form of an agent.
func (x *exam) of(kind string, to ...*fakeAgent) []*call {
	return x.received(func(c *call) bool {
		return c.kind == kind && !c.searching && (to == nil || slices.Contains(to, c.to))
	})
}

// received returns the calls of a kind to an agent.
func (a *fakeAgent) received(kind string) []*call { return a.exam.of(kind, a) }

// await waits until done holds; false if most or the examination ends before.
func (x *exam) await(most time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(x.life, most)
	defer cancel()
	for {
		x.mu.Lock()
		changed := x.changed
		x.mu.Unlock()
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

// answered notes the answer to a call.
func (a *fakeAgent) answered(c *call, status int, body []byte) {
	defer a.exam.update()()
	c.Status, c.response, c.answered, c.TookMS = status, body, true, time.Since(c.at).Milliseconds()
	if status == 0 {
		c.Error = "the kit closed the connection"
	}
}
