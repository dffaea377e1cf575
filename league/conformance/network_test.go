package conformance_test

import (
	"context"
	"fmt"
	"net"
	nethttp "net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/conformance"
	"evenodd/transport/http"
)

// A network connects the kit and the agents of one test by pipes, so that all of them run
// in virtual time.
type network struct {
	*testing.T

	mu        sync.Mutex
	listeners map[string]*listener // by port: each host is this one
	ports     int
}

// inVirtualTime runs a test on a network of its own, under testing/synctest.
func inVirtualTime(t *testing.T, test func(*network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// A server waits half a second before it closes a connection with unread bytes.
		t.Cleanup(func() { time.Sleep(time.Second) })
		test(&network{T: t, listeners: map[string]*listener{}})
	})
}

type listener struct {
	address address
	arrived chan net.Conn
	closed  chan struct{}
	close   func()
}

type address string

func (address) Network() string  { return "pipe" }
func (a address) String() string { return string(a) }

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.arrived:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.close()
	return nil
}

func (l *listener) Addr() net.Addr { return l.address }

func (n *network) listen(context.Context, string, string) (net.Listener, error) { return n.open(), nil }

// open listens at a port that nobody has.
func (n *network) open() net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ports++
	l := &listener{address: address(fmt.Sprintf("localhost:%d", 8100+n.ports)), arrived: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	n.listeners[fmt.Sprint(8100+n.ports)] = l
	return l
}

// closedPort is a URL at which nobody listens.
func (n *network) closedPort() string {
	l := n.open()
	_ = l.Close()
	return urlOf(l)
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	require.NoError(n, err)
	n.mu.Lock()
	l := n.listeners[port]
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	if l == nil {
		return nil, refused
	}
	here, there := net.Pipe()
	select {
	case l.arrived <- there:
		return here, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// urlOf is the URL of the agent that listens.
func urlOf(l net.Listener) string { return "http://" + l.Addr().String() + http.Path }

// serve serves an agent until the test ends, and returns its URL.
func (n *network) serve(h nethttp.Handler) string {
	l := n.open()
	n.serveAt(l, h)
	return urlOf(l)
}

func (n *network) serveAt(l net.Listener, h nethttp.Handler) {
	server := &nethttp.Server{Handler: h}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	n.Cleanup(func() { _ = server.Close(); <-served })
}

// client is an HTTP client that keeps no connection.
func (n *network) client() *nethttp.Client {
	return &nethttp.Client{Transport: &nethttp.Transport{DialContext: n.dial, DisableKeepAlives: true}}
}

// check examines an agent.
func (n *network) check(o conformance.Options) *conformance.Report {
	n.Helper()
	o.Listen, o.Dial = n.listen, n.dial
	r, err := conformance.Check(n.Context(), o)
	require.NoError(n, err)
	assert.Equal(n, o.Role, r.Role)
	return r
}
