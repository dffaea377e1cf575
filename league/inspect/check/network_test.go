package check_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/check"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rulestest"
	"evenodd/transport/http"
	"evenodd/transport/pipenet"
)

// A network connects the kit and the agents of one test by pipes, so that all of them run
// in virtual time.
type network struct {
	*testing.T

	pipes   pipenet.Network
	ports   atomic.Int64
	taken   map[string]bool    // ports that the kit cannot open
	program *rulestest.Program // of the game; nil for a game of this program
}

// inVirtualTime runs a test beside others, on a network of its own, under testing/synctest.
func inVirtualTime(t *testing.T, test func(*network)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// A server waits half a second before it closes a connection with unread bytes.
		t.Cleanup(func() { time.Sleep(time.Second) })
		test(&network{T: t})
	})
}

// listen opens a port; port 0 is one that nobody has.
func (n *network) listen(_ context.Context, _, address string) (net.Listener, error) {
	switch _, port, _ := net.SplitHostPort(address); {
	case port == "0":
		return n.open(), nil
	case n.taken[port]:
		return nil, errors.New("address already in use")
	default:
		return n.pipes.Listen("localhost:" + port), nil
	}
}

// playerPort is the port of the kit's first player.
const playerPort = 9101

// open listens at a port that nobody has.
func (n *network) open() net.Listener {
	return n.pipes.Listen(fmt.Sprintf("localhost:%d", 8100+n.ports.Add(1)))
}

// closedPort is a URL at which nobody listens.
func (n *network) closedPort() string {
	l := n.open()
	_ = l.Close()
	return urlOf(l)
}

// dial connects to a port. Each host is this one.
func (n *network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	require.NoError(n, err)
	return n.pipes.Dial(ctx, network, "localhost:"+port)
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

// check examines an agent. Without a listener of its own the kit does not wait for a registration.
func (n *network) check(o check.Options) *check.Report {
	n.Helper()
	if o.Listener == nil {
		o.Listener, o.Wait = n.open(), time.Nanosecond
	}
	if n.program != nil {
		o.Program = n.program
	}
	o.Listen, o.Dial, o.PlayerPort, o.Game = n.listen, n.dial, playerPort, cmp.Or(o.Game, rules.Game(evenodd.Game{}))
	r, err := check.Check(n.Context(), o)
	require.NoError(n, err)
	assert.Equal(n, o.Role, r.Role)
	return r
}
