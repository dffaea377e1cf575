package http

import (
	"cmp"
	"context"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound what untrusted callers can use, for all addresses together and for
// each: an IPv4 address, or the /64 of an IPv6 address, which is what one household
// has. 0 means the default. The defaults leave room for a whole class behind one address.
type Limits struct {
	Conns, ConnsPerAddress int     // connections; default 4,096 and 1,024
	Calls, CallsPerAddress int     // calls at once; default 2,048 and 512
	Rate                   float64 // calls per second of an address in the long run; default 1,000
	Burst                  int     // calls at once of an address that was quiet; default 4,000
}

// NoLimits is for a network without untrusted callers.
func NoLimits() Limits {
	return Limits{math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt, math.MaxFloat64, math.MaxInt}
}

// orDefault is l without zeros.
func (l Limits) orDefault() Limits {
	return Limits{
		cmp.Or(l.Conns, 4096), cmp.Or(l.ConnsPerAddress, 1024), cmp.Or(l.Calls, 2048), cmp.Or(l.CallsPerAddress, 512),
		cmp.Or(l.Rate, 1000), cmp.Or(l.Burst, 4000),
	}
}

// addressOf is the address that a remote party is counted by. It is the zero address
// where the network has none, as in tests over pipes.
func addressOf(remote string) netip.Addr {
	a := plainAddress(remote)
	if !a.Is6() {
		return a
	}
	prefix, _ := a.Prefix(64) // every IPv6 address has one
	return prefix.Addr()
}

// plainAddress is the address of a remote party without port and zone, and an
// IPv4-mapped IPv6 address as IPv4. It is the zero address where the network has none.
func plainAddress(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

type callerKey struct{} // of the caller's address in the context of a request

// CallerAddress is the address of the caller in the context of a request: an IPv4
// address, or the /64 of an IPv6 address. It is the zero address where the network has
// none, and outside of requests.
func CallerAddress(ctx context.Context) netip.Addr {
	a, _ := ctx.Value(callerKey{}).(netip.Addr)
	return a
}

// maxKnown is how many addresses one generation of callers holds.
const maxKnown = 4096

// callers limit the calls of each address. They have two generations: when the young
// one is full, it replaces the old one. So the tables are bounded, and the least
// recently used entries are evicted.
type callers struct {
	limits Limits

	mu         sync.Mutex
	calls      int // at once
	young, old map[netip.Addr]*caller
}

// A caller is one address.
type caller struct {
	calls int // at once; guarded by the mutex of callers
	rate  *rate.Limiter
}

func newCallers(l Limits) *callers {
	return &callers{limits: l, young: map[netip.Addr]*caller{}}
}

// enter counts a call; leave must follow. Without a caller the call is refused: wait
// is then how long this address must wait, or 0 when all addresses together have too
// many calls.
func (t *callers) enter(from netip.Addr) (c *caller, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls >= t.limits.Calls {
		return nil, 0
	}
	c = t.find(from)
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

// find finds the caller of an address, or makes it. t.mu is held.
func (t *callers) find(from netip.Addr) *caller {
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
