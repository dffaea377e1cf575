package http

import (
	"context"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are what callers may do, all together and those of one address: an
// IPv4 address, or the /64 of an IPv6 address, which is what one household
// has. A limit that is 0 is the usual one, and there is none where it is
// negative.
type Limits struct {
	Conns, ConnsPerAddress int     // connections; usually 4,096 and 1,024
	Calls, CallsPerAddress int     // calls at once; usually 2,048 and 512
	Rate                   float64 // calls per second from an address in the long run; usually 1,000
	Burst                  int     // calls at a stroke from an address that was quiet; usually 4,000
}

// NoLimits is for a network without strangers.
func NoLimits() Limits { return Limits{-1, -1, -1, -1, -1, -1} }

// orUsual is l without zeros and negative numbers. The usual limits leave room
// for a whole class behind one address.
func (l Limits) orUsual() Limits {
	bound := func(n, usual int) int {
		switch {
		case n == 0:
			return usual
		case n < 0:
			return math.MaxInt
		}
		return n
	}
	switch {
	case l.Rate == 0:
		l.Rate = 1000
	case l.Rate < 0:
		l.Rate = float64(rate.Inf)
	}
	return Limits{
		bound(l.Conns, 4096), bound(l.ConnsPerAddress, 1024), bound(l.Calls, 2048), bound(l.CallsPerAddress, 512), l.Rate, bound(l.Burst, 4000),
	}
}

// addressOf is the address that a remote party is counted by; the zero address
// for what is none, as in a network of pipes.
func addressOf(remote string) netip.Addr {
	a := plainAddress(remote)
	if !a.Is6() {
		return a
	}
	prefix, _ := a.Prefix(64) // of an IPv6 address there is one
	return prefix.Addr()
}

// plainAddress is the address of a remote party without port and zone, an
// IPv4-mapped one as IPv4; the zero address for what is none.
func plainAddress(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

type callerKey struct{} // of the caller's address in the context of a request

// CallerAddress is the address of the caller whose request ctx belongs to: an IPv4
// address, or the /64 of an IPv6 address. It is the zero address where the network has
// none, and outside of requests.
func CallerAddress(ctx context.Context) netip.Addr {
	a, _ := ctx.Value(callerKey{}).(netip.Addr)
	return a
}

// maxKnown is how many addresses a generation holds.
const maxKnown = 4096

// callers are those who call, by address. There are two generations: when the
// young one is full it becomes the old one, and the old one is forgotten. So
// the table is bounded and needs no cleaning; who is forgotten was quiet for
// thousands of others, and begins anew.
type callers struct {
	limits Limits

	mu         sync.Mutex
	calls      int // at once
	young, old map[netip.Addr]*caller
}

// A caller is what one address does.
type caller struct {
	calls int // at once; guarded by the table's mutex
	rate  *rate.Limiter
}

func newCallers(l Limits) *callers {
	return &callers{limits: l, young: map[netip.Addr]*caller{}}
}

// enter lets a call in; leave must follow. Nil is a refusal, with how long to
// wait when this address has too many calls, and with 0 when all together
// have.
func (t *callers) enter(from netip.Addr) (c *caller, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls >= t.limits.Calls {
		return nil, 0
	}
	c = t.know(from)
	if c.calls >= t.limits.CallsPerAddress {
		return nil, time.Second
	}
	now := time.Now()
	if next := c.rate.ReserveN(now, 1); next.DelayFrom(now) > 0 {
		wait = next.DelayFrom(now)
		next.CancelAt(now)
		return nil, wait
	}
	t.calls++
	c.calls++
	return c, 0
}

func (t *callers) leave(c *caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls--
	c.calls--
}

// charge makes a caller pay for calls that came as one, after the fact: nobody
// knows before it has been read what a body holds.
func (t *callers) charge(c *caller, calls int) {
	c.rate.ReserveN(time.Now(), min(calls, t.limits.Burst))
}

// know finds or begins the caller of an address.
func (t *callers) know(from netip.Addr) *caller {
	if c := t.young[from]; c != nil {
		return c
	}
	c := t.old[from]
	if c == nil {
		c = &caller{rate: rate.NewLimiter(rate.Limit(t.limits.Rate), t.limits.Burst)}
	}
	if len(t.young) >= maxKnown {
		t.young, t.old = map[netip.Addr]*caller{}, t.young
	}
	t.young[from] = c
	return c
}
