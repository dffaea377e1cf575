package http

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
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
	slots      chan struct{}

	mu    sync.Mutex
	conns map[netip.Addr]int
}

func newAdmission(limits Limits) *admission {
	return &admission{perAddress: limits.ConnsPerAddress, slots: make(chan struct{}, limits.Conns), conns: map[netip.Addr]int{}}
}

// crowded tells whether more than three quarters of the slots are taken.
func (a *admission) crowded() bool { return len(a.slots) > cap(a.slots)-cap(a.slots)/4 }

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
	defer a.mu.Unlock()
	if a.conns[from]--; a.conns[from] == 0 {
		delete(a.conns, from)
	}
	<-a.slots
}

// A limitedListener accepts no more connections than an admission has slots.
type limitedListener struct {
	net.Listener
	*admission

	overTLS bool
	closed  chan struct{}
	close   func()
}

func newLimitedListener(l net.Listener, a *admission, overTLS bool) *limitedListener {
	closed := make(chan struct{})
	return &limitedListener{l, a, overTLS, closed, sync.OnceFunc(func() { close(closed) })}
}

// Accept waits for a slot, and for the next connection from an address that may have
// one more.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			<-l.slots
			return nil, err
		}
		from := addressOf(c.RemoteAddr().String())
		if l.admit(from) {
			return &admittedConn{Conn: c, dismiss: sync.OnceFunc(func() { l.dismiss(from) }), begun: !l.overTLS}, nil
		}
		_ = c.Close()
	}
}

// Close stops accepting.
func (l *limitedListener) Close() error {
	l.close()
	return l.Listener.Close()
}

// An admittedConn is a connection that has a slot. Below TLS it notes whether the caller
// speaks TLS. Package net/http answers plain HTTP with an error and closes the
// connection. While the rest of the request is unread, that resets the connection, and
// the caller may never see the error. Therefore Close reads for a moment longer.
type admittedConn struct {
	net.Conn

	dismiss func()
	begun   bool // used by the reader only; true also without TLS
	plain   atomic.Bool
}

const (
	handshake = 22 // the type of the first TLS record (RFC 8446 §5.1)
	drainTime = 500 * time.Millisecond
	maxUnread = 64 << 10 // bytes
)

func (c *admittedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.begun && n > 0 {
		c.begun = true
		c.plain.Store(b[0] != handshake)
	}
	return n, err
}

// Close lets a caller that speaks plain HTTP to a TLS server read the response, and frees
// the slot.
func (c *admittedConn) Close() error {
	defer c.dismiss()
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.plain.Load() {
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(drainTime)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, maxUnread) // until the caller closes
		}
	}
	return c.Conn.Close()
}
