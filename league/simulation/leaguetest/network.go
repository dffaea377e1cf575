package leaguetest

import (
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"time"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/http"
	"evenodd/transport/memory"
	"evenodd/transport/pipenet"
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
func EndpointOf(host string) string { return "http://" + host + port + http.Path }

const port = ":8000"

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
	return &PipeNetwork{}
}

type memoryNetwork struct{ bus *memory.Bus }

func (n memoryNetwork) Caller(int64) protocol.Caller { return n.bus }

func (n memoryNetwork) Listen(host string, mux *transport.Mux, _ bool) func() {
	return n.bus.Listen(EndpointOf(host), mux)
}

func (memoryNetwork) Close() {}

// PipeNetwork is HTTP over pipes.
type PipeNetwork struct {
	pipenet.Network

	mu      sync.Mutex
	clients []*http.Client
}

func (p *PipeNetwork) Caller(maxReply int64) protocol.Caller {
	return p.CallerThrough(p.Dial, maxReply)
}

// CallerThrough is Caller with another Dial.
func (p *PipeNetwork) CallerThrough(dial func(ctx context.Context, network, address string) (net.Conn, error),
	maxReply int64) protocol.Caller {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := http.NewClient(http.ClientConfig{MaxReply: maxReply, Dial: dial})
	p.clients = append(p.clients, c)
	return c
}

func (p *PipeNetwork) Listen(host string, mux *transport.Mux, scripted bool) func() {
	if !scripted {
		return p.Serve(host, http.NewServer(mux, http.Config{MaxBody: 1 << 20}))
	}
	var serving sync.WaitGroup
	server := &nethttp.Server{ReadHeaderTimeout: 5 * time.Second, Handler: nethttp.HandlerFunc(
		func(w nethttp.ResponseWriter, r *nethttp.Request) {
			serving.Add(1) // a delayed reply may end after its caller has given up
			defer serving.Done()
			serveScript(mux, w, r)
		})}
	l := p.Network.Listen(host + port)
	serving.Go(func() { _ = server.Serve(l) })
	return sync.OnceFunc(func() {
		_ = server.Close()
		serving.Wait()
	})
}

// Serve serves a host until stop is called. Callers that still wait then get no answer.
func (p *PipeNetwork) Serve(host string, server *http.Server) (stop func()) {
	l := p.Network.Listen(host + port)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	return sync.OnceFunc(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = server.Shutdown(ended)
		serving.Wait()
	})
}

func (p *PipeNetwork) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.Close()
	}
}

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
		return &transport.CallError{Kind: transport.Closed, Err: errors.New(e.Message)}
	case ErrGarbage.Code, ErrTooLarge.Code:
		return &transport.CallError{Kind: transport.Unreadable, Status: nethttp.StatusOK, Err: errors.New(e.Message)}
	case ErrServerError.Code:
		return &transport.CallError{Kind: transport.Refused, Status: nethttp.StatusInternalServerError,
			Err: errors.New("HTTP 500 Internal Server Error")}
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

// NoDescriptors is a local failure of a caller: no file descriptors.
type NoDescriptors struct{}

func (NoDescriptors) Error() string { return "too many open files" }

func (e NoDescriptors) Unwrap() error { return &transport.CallError{Kind: transport.Local} }
