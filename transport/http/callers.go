package http

import (
	"cmp"
	"context"
	"maps"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound what callers can use, for all addresses together and for
// each: an IPv4 address, or the /64 of an IPv6 address, which is what one household
// has. 0 means the default. The defaults leave room for a whole class behind one address.
//
// A caller with a valid credential has the limits of an address for itself, so that
// callers without one cannot use them up, also at the same address.
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

type connKey struct{} // of the connection in the context of a request

// connOf is the connection of a request; nil outside of requests.
func connOf(ctx context.Context) *admittedConn {
	c, _ := ctx.Value(connKey{}).(*admittedConn)
	return c
}

// CallerAddress is the address of the caller in the context of a request: an IPv4
// address, or the /64 of an IPv6 address. It is the zero address where the network has
// none, and outside of requests.
func CallerAddress(ctx context.Context) netip.Addr {
	if c := connOf(ctx); c != nil {
		return c.from
	}
	return netip.Addr{}
}

// RemoteAddress is the whole address of the caller in the context of a request, as CallerAddress.
func RemoteAddress(ctx context.Context) netip.Addr {
	if c := connOf(ctx); c != nil {
		return plainAddress(c.RemoteAddr().String())
	}
	return netip.Addr{}
}

// maxKnown is how many callers one generation holds.
const maxKnown = 4096

// callers limit the calls of each caller. They have two generations: when the young
// one is full, it replaces the old one. So the tables are bounded, and the least
// recently used entries without a call are evicted.
type callers struct {
	limits Limits

	mu         sync.Mutex
	unnamed    int // calls at once that count for an address
	named      int // calls at once that count for a name
	young, old map[callerID]*caller
}

// A callerID is the name of a caller with a valid credential, or an address.
type callerID struct {
	name    string
	address netip.Addr // for no name
}

// A caller is one address, or one agent with a valid credential.
type caller struct {
	total *int // the count of all callers of this kind
	calls int  // at once; guarded by the mutex of callers
	rate  *rate.Limiter
}

func newCallers(l Limits) *callers {
	return &callers{limits: l, young: map[callerID]*caller{}, old: map[callerID]*caller{}}
}

// enter counts a call; leave must follow. Without a caller the call is refused: wait
// is then how long this caller must wait, or 0 when all callers of its kind together have
// too many calls.
func (t *callers) enter(id callerID) (c *caller, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c = t.find(id)
	if *c.total >= t.limits.Calls {
		return nil, 0
	}
	if c.calls >= t.limits.CallsPerAddress {
		return nil, time.Second
	}
	now := time.Now()
	if next := c.rate.ReserveN(now, 1); next.DelayFrom(now) > 0 {
		wait = next.DelayFrom(now)
		next.CancelAt(now)
		return nil, wait
	}
	*c.total++
	c.calls++
	return c, 0
}

func (t *callers) leave(c *caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*c.total--
	c.calls--
}

// find finds a caller, or makes it. t.mu is held.
func (t *callers) find(id callerID) *caller {
	if c := t.young[id]; c != nil {
		return c
	}
	c := t.old[id]
	if c == nil {
		c = &caller{total: &t.unnamed, rate: rate.NewLimiter(rate.Limit(t.limits.Rate), t.limits.Burst)}
		if id.name != "" {
			c.total = &t.named
		}
	}
	if len(t.young) >= maxKnown {
		maps.DeleteFunc(t.old, func(_ callerID, c *caller) bool { return c.calls == 0 })
		t.young, t.old = t.old, t.young
	}
	t.young[id] = c
	return c
}

// A Quota bounds what mounts can use, apart from the calls of the agent: neither uses up what
// the other has. It belongs to one server.
type Quota struct {
	callers *callers
	streams *streams
}

// NewQuota makes a quota. It takes the limits of calls from limits, not those of connections,
// which all handlers of a server share.
func NewQuota(limits Limits, streams StreamLimits) *Quota {
	return &Quota{newCallers(limits.orDefault()), newStreams(streams)}
}

// limited is the handler of a mount with the limits of its quota, which counts addresses only.
func (q *Quota) limited(next http.Handler, stream bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := connOf(r.Context())
		caller, wait := q.callers.enter(callerID{address: conn.from})
		if caller == nil {
			refuse(w, wait, nil)
			return
		}
		conn.call()
		if stream {
			q.callers.leave(caller)
			q.streams.serve(w, r, next)
			return
		}
		defer q.callers.leave(caller)
		next.ServeHTTP(w, r)
	})
}
