package http

import (
	"math"
	"net"
	"net/netip"
	"sync"
)

// A room has places for connections.
//
// Those of an address that has too many are closed at once: no other address
// shall wait for it. When all places are taken, the door stays shut, and whoever
// comes waits outside, in the queue of the system: his call has a deadline of
// its own, until which a place may become free, while a refusal would cost him
// one of his few attempts. Places become free soon, because in a room that is
// nearly full every connection ends with its answer.
type room struct {
	perAddress int
	places     chan struct{} // nil for no bound

	mu    sync.Mutex
	conns map[netip.Addr]int
}

func newRoom(limits Limits) *room {
	r := &room{perAddress: limits.ConnsPerAddress, conns: map[netip.Addr]int{}}
	if limits.Conns < math.MaxInt {
		r.places = make(chan struct{}, limits.Conns)
	}
	return r
}

// crowded tells whether more than three quarters of the places are taken.
func (r *room) crowded() bool {
	return r.places != nil && len(r.places) > cap(r.places)-cap(r.places)/4
}

// admit takes note of a connection, unless its address has too many.
func (r *room) admit(from netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns[from] >= r.perAddress {
		return false
	}
	r.conns[from]++
	return true
}

func (r *room) dismiss(from netip.Addr) {
	r.mu.Lock()
	if r.conns[from]--; r.conns[from] == 0 {
		delete(r.conns, from)
	}
	r.mu.Unlock()
	r.vacate()
}

func (r *room) vacate() {
	if r.places != nil {
		<-r.places
	}
}

// A door is a listener that lets in no more connections than a room has places
// for.
type door struct {
	net.Listener
	*room

	closed chan struct{}
	shut   func()
}

func newDoor(l net.Listener, r *room) *door {
	d := &door{Listener: l, room: r, closed: make(chan struct{})}
	d.shut = sync.OnceFunc(func() { close(d.closed) })
	return d
}

// Accept waits for a place, and for the next connection from an address that
// may have one more.
func (d *door) Accept() (net.Conn, error) {
	if d.places != nil {
		select {
		case d.places <- struct{}{}:
		case <-d.closed:
			return nil, net.ErrClosed
		}
	}
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			d.vacate()
			return nil, err
		}
		from := addressOf(c.RemoteAddr().String())
		if d.admit(from) {
			return &guest{Conn: c, leave: sync.OnceFunc(func() { d.dismiss(from) })}, nil
		}
		_ = c.Close() // a stranger's
	}
}

// Close shuts the door for good.
func (d *door) Close() error {
	d.shut()
	return d.Listener.Close()
}

// A guest is a connection that has a place.
type guest struct {
	net.Conn

	leave func()
}

// Close gives the place back.
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

// CloseWrite lets the other side read what was sent before the connection
// closes, where that can be.
func (g *guest) CloseWrite() error {
	if half, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
