package http

import (
	"math"
	"net"
	"net/netip"
	"sync"
)

// An admission counts the connections of a server, and bounds them for each address
// and for all together.
//
// A connection from an address that has too many is closed at once, so that no other
// address waits for it. When all slots are taken, the server accepts no connection,
// and new ones wait in the queue of the operating system: a call has a deadline, and
// a slot may become free until then, while a refusal would use up one of its few
// retries. Slots become free soon, because a crowded server closes every connection
// with its response.
type admission struct {
	perAddress int
	slots      chan struct{} // nil for no bound

	mu    sync.Mutex
	conns map[netip.Addr]int
}

func newAdmission(limits Limits) *admission {
	a := &admission{perAddress: limits.ConnsPerAddress, conns: map[netip.Addr]int{}}
	if limits.Conns < math.MaxInt {
		a.slots = make(chan struct{}, limits.Conns)
	}
	return a
}

// crowded tells whether more than three quarters of the slots are taken.
func (a *admission) crowded() bool {
	return a.slots != nil && len(a.slots) > cap(a.slots)-cap(a.slots)/4
}

// admit counts a connection, unless its address has too many.
func (a *admission) admit(from netip.Addr) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns[from] >= a.perAddress {
		return false
	}
	a.conns[from]++
	return true
}

// dismiss ends the count of a connection, and frees its slot.
func (a *admission) dismiss(from netip.Addr) {
	a.mu.Lock()
	if a.conns[from]--; a.conns[from] == 0 {
		delete(a.conns, from)
	}
	a.mu.Unlock()
	a.freeSlot()
}

func (a *admission) freeSlot() {
	if a.slots != nil {
		<-a.slots
	}
}

// A limitedListener accepts no more connections than an admission has slots.
type limitedListener struct {
	net.Listener
	*admission

	closed chan struct{}
	close  func()
}

func newLimitedListener(l net.Listener, a *admission) *limitedListener {
	closed := make(chan struct{})
	return &limitedListener{l, a, closed, sync.OnceFunc(func() { close(closed) })}
}

// Accept waits for a slot, and for the next connection from an address that may have
// one more.
func (l *limitedListener) Accept() (net.Conn, error) {
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			l.freeSlot()
			return nil, err
		}
		from := addressOf(c.RemoteAddr().String())
		if l.admit(from) {
			return &admittedConn{c, sync.OnceFunc(func() { l.dismiss(from) })}, nil
		}
		_ = c.Close()
	}
}

// Close stops accepting.
func (l *limitedListener) Close() error {
	l.close()
	return l.Listener.Close()
}

// An admittedConn is a connection that has a slot.
type admittedConn struct {
	net.Conn

	dismiss func()
}

// Close frees the slot.
func (c *admittedConn) Close() error {
	defer c.dismiss()
	return c.Conn.Close()
}

// CloseWrite ends this side of the connection, if the network can. The other side can
// then read what was sent.
func (c *admittedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
