package conversations

import (
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/http"
	"evenodd/transport/memory"
)

// A network joins the agents of a world. Every agent has a host of its own,
// under the same URL whatever carries the calls.
type network interface {
	// caller is the carrier as one agent has it, which reads answers of at
	// most maxReply bytes where answers have a size.
	caller(maxReply int64) protocol.Caller
	// listen serves a host until stop is called. A scripted agent may break
	// connections and answer nonsense.
	listen(host string, mux *transport.Mux, scripted bool) (stop func())
	close()
}

// endpointOf is where the agent of a host is reached, on every carrier.
func endpointOf(host string) string { return "http://" + host + ":8000" + http.Path }

// hostOf is the reverse of endpointOf.
func hostOf(endpoint string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(endpoint, "http://"), ":")
	return host
}

// The carriers.
const (
	byValue = "values"
	byWire  = "wire"
	byHTTP  = "HTTP"
)

func newNetwork(kind string) network {
	switch kind {
	case byValue:
		return inMemory{memory.NewBus()}
	case byWire:
		return inMemory{memory.NewWireBus()}
	}
	return &pipes{listeners: map[string]*pipeListener{}}
}

type inMemory struct{ bus *memory.Bus }

func (n inMemory) caller(int64) protocol.Caller { return n.bus }

func (n inMemory) listen(host string, mux *transport.Mux, _ bool) func() {
	return n.bus.Listen(endpointOf(host), mux)
}

func (inMemory) close() {}

// pipes is HTTP without a network: every connection is a net.Pipe.
type pipes struct {
	mu        sync.Mutex
	listeners map[string]*pipeListener // by address
	clients   []*http.Client
}

func (p *pipes) caller(maxReply int64) protocol.Caller {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := http.NewClient(http.ClientConfig{MaxReply: maxReply, Dial: p.dial})
	p.clients = append(p.clients, c)
	return c
}

func (p *pipes) dial(ctx context.Context, _, address string) (net.Conn, error) {
	p.mu.Lock()
	l := p.listeners[address]
	p.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "pipe", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	if l == nil {
		return nil, refused
	}
	here, there := net.Pipe()
	select {
	case l.arriving <- there:
		return here, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) listen(host string, mux *transport.Mux, scripted bool) func() {
	l := &pipeListener{address: host + ":8000", arriving: make(chan net.Conn), closed: make(chan struct{})}
	p.mu.Lock()
	p.listeners[l.address] = l
	p.mu.Unlock()
	var serving sync.WaitGroup
	var stop func()
	if scripted {
		server := &nethttp.Server{ReadHeaderTimeout: 5 * time.Second, Handler: nethttp.HandlerFunc(
			func(w nethttp.ResponseWriter, r *nethttp.Request) {
				serving.Add(1) // a script may take its time although nobody waits
				defer serving.Done()
				serveScript(mux, w, r)
			})}
		serving.Go(func() { _ = server.Serve(l) })
		stop = func() { _ = server.Close() }
	} else {
		server := http.NewServer(mux, http.Config{MaxBody: 1 << 20})
		serving.Go(func() { _ = server.Serve(l) })
		stop = func() {
			ended, cancel := context.WithCancel(context.Background())
			cancel() // whoever still waits for an answer gets none
			_ = server.Shutdown(ended)
		}
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		if p.listeners[l.address] == l {
			delete(p.listeners, l.address)
		}
		p.mu.Unlock()
		stop()
		serving.Wait()
	})
}

func (p *pipes) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.Close()
	}
}

// A pipeListener accepts what dial makes.
type pipeListener struct {
	address  string
	arriving chan net.Conn
	once     sync.Once
	closed   chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.arriving:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr(l.address) }

type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }

// The ways in which an answer can get lost on a carrier. A scripted agent
// returns one of them as its error: over HTTP it really happens, and in memory,
// where no bytes can be broken, the call fails as that of a carrier does.
var (
	errHangUp      = &transport.Error{Code: 90001, Message: "the connection is closed"}
	errGarbage     = &transport.Error{Code: 90002, Message: "the answer is no JSON"}
	errServerError = &transport.Error{Code: 90003, Message: "HTTP 500"}
	errTooLarge    = &transport.Error{Code: 90004, Message: "the answer is too large"}
)

// breakdown is the carrier's own failure behind what a scripted agent
// returned; nil when it is none.
func breakdown(err error) error {
	var e *transport.Error
	if !errors.As(err, &e) {
		return nil
	}
	switch e.Code {
	case errHangUp.Code:
		return errors.New(e.Message)
	case errGarbage.Code, errTooLarge.Code:
		return &http.UnreadableError{Status: nethttp.StatusOK, Err: errors.New(e.Message)}
	case errServerError.Code:
		return &http.StatusError{Status: nethttp.StatusInternalServerError}
	}
	return nil
}

// serveScript answers like transport/http, and can also fail to.
func serveScript(mux *transport.Mux, w nethttp.ResponseWriter, r *nethttp.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	answer := mux.Serve(r.Context(), bearer, body).Body
	_, err = transport.DecodeResponse(answer, func([]byte) (any, error) { return struct{}{}, nil })
	var e *transport.Error
	if errors.As(err, &e) {
		switch e.Code {
		case errHangUp.Code:
			panic(nethttp.ErrAbortHandler)
		case errGarbage.Code:
			answer = []byte("<html>not what you asked for</html>")
		case errServerError.Code:
			w.WriteHeader(nethttp.StatusInternalServerError)
			answer = nil
		case errTooLarge.Code:
			answer = make([]byte, 100<<10)
		}
	}
	_, _ = w.Write(answer)
}
