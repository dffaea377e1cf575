// Package pipenet is a network inside one process, for tests of carriers under
// testing/synctest: a goroutine that waits for loopback TCP keeps virtual time
// from advancing, one that waits for a pipe does not.
package pipenet

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// A Listener accepts the connections that its own Dial makes. Make it inside
// the bubble that uses it. Safe for concurrent use.
type Listener struct {
	address  string
	conns    chan net.Conn
	closed   chan struct{}
	close    func()
	accepted atomic.Int64
}

var _ net.Listener = (*Listener)(nil)

// Listen makes a listener at an address, host:port.
func Listen(address string) *Listener {
	l := &Listener{address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Dial connects to the listener; any other address, and a closed listener,
// refuse.
func (l *Listener) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	refused := &net.OpError{Op: "dial", Net: network, Addr: l.Addr(), Err: syscall.ECONNREFUSED}
	if address != l.address {
		return nil, refused
	}
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		l.accepted.Add(1)
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Accepted is how many connections there have been.
func (l *Listener) Accepted() int { return int(l.accepted.Load()) }

// Close refuses connections from now on.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr is the address.
func (l *Listener) Addr() net.Addr { return address(l.address) }

type address string

func (address) Network() string  { return "pipe" }
func (a address) String() string { return string(a) }
