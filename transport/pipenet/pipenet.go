// Package pipenet is a network inside one process, for tests under testing/synctest: a
// goroutine that waits for loopback TCP keeps virtual time from advancing, a goroutine
// that waits for a pipe does not. It must not depend on a carrier.
package pipenet

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"evenodd/transport"
)

// A Network finds listeners by their addresses, host:port. The zero value has none. Safe
// for concurrent use.
type Network struct {
	listeners sync.Map // *Listener by address
}

// Listen makes a listener at an address. It replaces an earlier one there.
func (n *Network) Listen(address string) *Listener {
	l := Listen(address)
	n.listeners.Store(address, l)
	return l
}

// Dial connects to the listener at an address. An address without one refuses.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if l, ok := n.listeners.Load(address); ok {
		return l.(*Listener).Dial(ctx, network, address)
	}
	return nil, refusal(network)
}

func refusal(network string) error {
	return &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", transport.ErrConnectionRefused)}
}

// A Listener accepts the connections that Dial makes. Make it inside the bubble that uses
// it. Safe for concurrent use.
type Listener struct {
	address  string
	conns    chan net.Conn
	closed   chan struct{}
	close    func()
	accepted atomic.Int64
}

var _ net.Listener = (*Listener)(nil)

// Listen makes a listener at an address that is in no Network.
func Listen(address string) *Listener {
	l := &Listener{address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Dial connects to the listener. Any other address and a closed listener refuse.
func (l *Listener) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if address != l.address {
		return nil, refusal(network)
	}
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, refusal(network)
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

// Accepted is the number of connections so far.
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
