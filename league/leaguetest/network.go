package leaguetest

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

// A Network connects the agents of a World. Each agent has its own host; its URL is the
// same on each carrier.
type Network interface {
	// Caller returns the caller of one agent. It reads at most maxReply bytes of a reply, if
	// replies are bytes.
	Caller(maxReply int64) protocol.Caller
	// Listen serves a host until stop is called. A scripted agent may break connections and
	// send invalid replies.
	Listen(host string, mux *transport.Mux, scripted bool) (stop func())
	Close()
}

// EndpointOf returns the URL of the agent of a host, the same on each carrier.
func EndpointOf(host string) string { return "http://" + host + ":8000" + http.Path }

// HostOf is the inverse of EndpointOf.
func HostOf(endpoint string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(endpoint, "http://"), ":")
	return host
}

// The carriers of scenarios.
const (
	Memory = "values"
	Wire   = "wire"
	HTTP   = "HTTP"
)

func newNetwork(kind string) Network {
	switch kind {
	case Memory:
		return memoryNetwork{memory.NewBus()}
	case Wire:
		return memoryNetwork{memory.NewWireBus()}
	}
	return &PipeNetwork{Listeners: map[string]*PipeListener{}}
}

type memoryNetwork struct{ bus *memory.Bus }

func (n memoryNetwork) Caller(int64) protocol.Caller { return n.bus }

func (n memoryNetwork) Listen(host string, mux *transport.Mux, _ bool) func() {
	return n.bus.Listen(EndpointOf(host), mux)
}

func (memoryNetwork) Close() {}

// PipeNetwork is HTTP over net.Pipe connections.
type PipeNetwork struct {
	Mu        sync.Mutex
	Listeners map[string]*PipeListener // by address
	Clients   []*http.Client
}

func (p *PipeNetwork) Caller(maxReply int64) protocol.Caller {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	c := http.NewClient(http.ClientConfig{MaxReply: maxReply, Dial: p.Dial})
	p.Clients = append(p.Clients, c)
	return c
}

func (p *PipeNetwork) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	p.Mu.Lock()
	l := p.Listeners[address]
	p.Mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "pipe", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	if l == nil {
		return nil, refused
	}
	here, there := net.Pipe()
	select {
	case l.Arriving <- there:
		return here, nil
	case <-l.Closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *PipeNetwork) Listen(host string, mux *transport.Mux, scripted bool) func() {
	l := &PipeListener{Address: host + ":8000", Arriving: make(chan net.Conn), Closed: make(chan struct{})}
	p.Mu.Lock()
	p.Listeners[l.Address] = l
	p.Mu.Unlock()
	var serving sync.WaitGroup
	var stop func()
	if scripted {
		server := &nethttp.Server{ReadHeaderTimeout: 5 * time.Second, Handler: nethttp.HandlerFunc(
			func(w nethttp.ResponseWriter, r *nethttp.Request) {
				serving.Add(1) // a delayed reply may end after its caller has given up
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
			cancel() // callers that still wait get no answer
			_ = server.Shutdown(ended)
		}
	}
	return sync.OnceFunc(func() {
		p.Mu.Lock()
		if p.Listeners[l.Address] == l {
			delete(p.Listeners, l.Address)
		}
		p.Mu.Unlock()
		stop()
		serving.Wait()
	})
}

func (p *PipeNetwork) Close() {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	for _, c := range p.Clients {
		c.Close()
	}
}

// A PipeListener accepts the connections that Dial makes.
type PipeListener struct {
	Address  string
	Arriving chan net.Conn
	once     sync.Once
	Closed   chan struct{}
}

func (l *PipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.Arriving:
		return c, nil
	case <-l.Closed:
		return nil, net.ErrClosed
	}
}

func (l *PipeListener) Close() error {
	l.once.Do(func() { close(l.Closed) })
	return nil
}

func (l *PipeListener) Addr() net.Addr { return pipeAddr(l.Address) }

type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }

// Failures of a scripted agent. A scripted agent returns one of them as its error. Over
// HTTP the connection or the reply really fails; in memory the call returns the error that
// the HTTP client would return.
var (
	ErrHangUp      = &transport.Error{Code: 90001, Message: "the connection is closed"}
	ErrGarbage     = &transport.Error{Code: 90002, Message: "the answer is no JSON"}
	ErrServerError = &transport.Error{Code: 90003, Message: "HTTP 500"}
	ErrTooLarge    = &transport.Error{Code: 90004, Message: "the answer is too large"}
)

// carrierFailure converts such an error to the error of the HTTP client; nil for other
// errors.
func carrierFailure(err error) error {
	var e *transport.Error
	if !errors.As(err, &e) {
		return nil
	}
	switch e.Code {
	case ErrHangUp.Code:
		return errors.New(e.Message)
	case ErrGarbage.Code, ErrTooLarge.Code:
		return &http.UnreadableError{Status: nethttp.StatusOK, Err: errors.New(e.Message)}
	case ErrServerError.Code:
		return &http.StatusError{Status: nethttp.StatusInternalServerError}
	}
	return nil
}

// serveScript serves a scripted agent over HTTP, with its failures.
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
		case ErrHangUp.Code:
			panic(nethttp.ErrAbortHandler)
		case ErrGarbage.Code:
			answer = []byte("<html>not what you asked for</html>")
		case ErrServerError.Code:
			w.WriteHeader(nethttp.StatusInternalServerError)
			answer = nil
		case ErrTooLarge.Code:
			answer = make([]byte, 100<<10)
		}
	}
	_, _ = w.Write(answer)
}
