package http

import (
	"container/list"
	"crypto/tls"
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
// A new connection above a bound replaces another one, because an honest agent must not
// wait for idle connections of others. The admission closes the connection that waits for
// a request for the longest time, among those that never carried a valid credential; if
// all of them did, among all. A connection waits from its start, and from the end of
// each response, until a request has been read completely: a slow sender stays a waiting one.
// A connection with a call in progress is never closed. If all have one, a new connection of an
// address with too many is closed, and one beyond the total waits.
type admission struct {
	limits Limits
	change chan struct{} // has an element when a connection that waits to be admitted should try again

	mu   sync.Mutex
	all  list.List          // of connections; those that wait for a request are in order, the oldest first
	from map[netip.Addr]int // the connections of each address
	of   map[string]int     // the proven connections of each agent
}

// provenConns returns how many connections of one agent are proven at most. Further ones
// stay unproven, so that no agent crowds out the connections of others.
func provenConns(l *Limits) int { return max(4, l.ConnsPerAddress/8) }

func newAdmission(limits Limits) *admission {
	return &admission{limits: limits, change: make(chan struct{}, 1), from: map[netip.Addr]int{}, of: map[string]int{}}
}

// admit admits a connection, and closes another one for it if necessary. It waits while
// every connection has a call in progress. It reports false if the address has too many of
// these, or closed is closed.
func (a *admission) admit(c *admittedConn, closed <-chan struct{}) bool {
	for {
		admitted, full := a.try(c)
		if admitted || !full {
			return admitted
		}
		select {
		case <-a.change:
		case <-closed:
			return false
		}
	}
}

// try admits a connection, unless its address has too many, or all together (full).
func (a *admission) try(c *admittedConn) (admitted, full bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ofAddress := func(other *admittedConn) bool { return other.from == c.from }
	if !c.proxied && a.from[c.from] >= a.limits.ConnsPerAddress && !a.replace(ofAddress) {
		return false, false
	}
	if a.all.Len() >= a.limits.Conns && !a.replace(func(*admittedConn) bool { return true }) {
		return false, true
	}
	a.from[c.from]++
	c.inAll = a.all.PushBack(c)
	return true, false
}

// replace closes the oldest of some connections for a new one. The lock is held.
func (a *admission) replace(among func(*admittedConn) bool) bool {
	var oldest *admittedConn // among those without a credential; without such, among all
	for e := a.all.Front(); e != nil && (oldest == nil || oldest.proven.Load()); e = e.Next() {
		if c := e.Value.(*admittedConn); !c.busy && among(c) && (oldest == nil || !c.proven.Load()) {
			oldest = c
		}
	}
	if oldest == nil {
		return false
	}
	a.remove(oldest)
	_ = oldest.Conn.Close() // without the courtesy of admittedConn.Close, which takes time
	return true
}

// remove ends the count of a connection, once. The lock is held.
func (a *admission) remove(c *admittedConn) {
	if c.inAll == nil {
		return
	}
	a.all.Remove(c.inAll)
	c.inAll = nil
	decrement(a.from, c.from)
	if c.proven.Load() {
		decrement(a.of, c.agent)
	}
	a.changed()
}

// decrement lowers a count, which is not stored once it is 0.
func decrement[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

func (a *admission) changed() {
	select {
	case a.change <- struct{}{}:
	default:
	}
}

// A limitedListener accepts no more connections than the admission of a server admits.
type limitedListener struct {
	net.Listener

	server *Server
	once   sync.Once
	closed chan struct{}
}

// Accept waits for the next connection that is admitted.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		at := plainAddress(c.RemoteAddr().String())
		conn := &admittedConn{Conn: c, admission: l.server.admission, address: at, from: counted(at),
			proxied: l.server.config.trusts(at), begun: l.server.config.TLS == nil}
		if l.server.admission.admit(conn, l.closed) {
			return conn, nil
		}
		_ = c.Close()
	}
}

// Close stops accepting.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// An admittedConn is a connection that an admission counts. Below TLS it notes whether the caller
// speaks TLS. Package net/http answers plain HTTP with an error and closes the
// connection. While the rest of the request is unread, that resets the connection, and
// the caller may never see the error. Therefore Close reads for a moment longer.
type admittedConn struct {
	net.Conn

	admission *admission
	address   netip.Addr
	from      netip.Addr // by which it is counted
	proxied   bool       // from a trusted proxy
	begun     bool       // used by the reader only; true also without TLS
	plain     atomic.Bool
	proven    atomic.Bool  // a request had a valid credential; changes with the lock of the admission
	streaming atomic.Int64 // the nanoseconds for one write of a stream; 0 without a stream

	// Guarded by the lock of the admission.
	busy  bool          // a call is in progress
	agent string        // the caller that has proven it
	inAll *list.Element // nil when the connection is not counted
}

// admitted returns the connection that a server has from a listener of this package; nil
// for another one.
func admitted(c net.Conn) *admittedConn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	conn, _ := c.(*admittedConn)
	return conn
}

// call notes that a call is in progress.
func (c *admittedConn) call() {
	c.admission.mu.Lock()
	defer c.admission.mu.Unlock()
	c.busy = true
}

// wait notes that the connection waits for the next request.
func (c *admittedConn) wait() {
	c.streaming.Store(0)
	c.admission.mu.Lock()
	defer c.admission.mu.Unlock()
	if c.inAll == nil {
		return
	}
	c.busy = false
	c.admission.all.MoveToBack(c.inAll)
	c.admission.changed()
}

// prove notes that a request had a valid credential of an agent, unless enough connections
// of this agent are proven.
func (c *admittedConn) prove(agent string) {
	if c.proven.Load() {
		return
	}
	c.admission.mu.Lock()
	defer c.admission.mu.Unlock()
	if c.inAll == nil || c.proven.Load() || c.admission.of[agent] >= provenConns(&c.admission.limits) {
		return
	}
	c.agent = agent
	c.admission.of[agent]++
	c.proven.Store(true)
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

// Write sends an update of a stream in the time of a stream.
func (c *admittedConn) Write(b []byte) (n int, err error) {
	if limit := time.Duration(c.streaming.Load()); limit > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(limit)) // a closed connection also refuses the write
	}
	return c.Conn.Write(b)
}

// Close lets a caller that speaks plain HTTP to a TLS server read the response, and frees
// the slot.
func (c *admittedConn) Close() error {
	defer func() {
		c.admission.mu.Lock()
		defer c.admission.mu.Unlock()
		c.admission.remove(c)
	}()
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.plain.Load() {
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(drainTime)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, maxUnread) // until the caller closes
		}
	}
	return c.Conn.Close()
}
