package transport

import (
	"cmp"
	"maps"
	"math"
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

// OrDefault is l without zeros.
func (l Limits) OrDefault() Limits {
	return Limits{
		cmp.Or(l.Conns, 4096), cmp.Or(l.ConnsPerAddress, 1024), cmp.Or(l.Calls, 2048), cmp.Or(l.CallsPerAddress, 512),
		cmp.Or(l.Rate, 1000), cmp.Or(l.Burst, 4000),
	}
}

// maxBudgets is how many callers one generation holds.
const maxBudgets = 4096

// Budgets limit the calls of each caller of a server. They have two generations: when the young
// one is full, it replaces the old one. So the tables are bounded, and the least
// recently used entries without a call are evicted. They are safe for concurrent use.
type Budgets struct {
	limits Limits

	mu         sync.Mutex
	unnamed    int // calls at once that count for an address
	named      int // calls at once that count for a name
	young, old map[CallerID]*Budget
}

// A CallerID is the name of a caller with a valid credential, or an address.
type CallerID struct {
	Name    string
	Address netip.Addr // for no name
}

// A Budget is what one address has left, or one caller with a name.
type Budget struct {
	total *int // the count of all callers of this kind
	calls int  // at once; guarded by the mutex of Budgets
	rate  *rate.Limiter
}

// NewBudgets makes the budgets of a server.
func NewBudgets(l Limits) *Budgets {
	return &Budgets{limits: l, young: map[CallerID]*Budget{}, old: map[CallerID]*Budget{}}
}

// Enter counts a call; Leave must follow. Without a budget the call is refused: wait
// is then how long this caller must wait, or 0 when all callers of its kind together have
// too many calls.
func (t *Budgets) Enter(id CallerID) (c *Budget, wait time.Duration) {
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

// Leave ends a call.
func (t *Budgets) Leave(c *Budget) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*c.total--
	c.calls--
}

// Unnamed returns how many calls of addresses are in progress.
func (t *Budgets) Unnamed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unnamed
}

// Batch counts the further calls of a batch.
func (b *Budget) Batch(calls int) { b.rate.ReserveN(time.Now(), min(calls-1, b.rate.Burst())) }

// find finds a budget, or makes it. t.mu is held.
func (t *Budgets) find(id CallerID) *Budget {
	if c := t.young[id]; c != nil {
		return c
	}
	c := t.old[id]
	if c == nil {
		c = &Budget{total: &t.unnamed, rate: rate.NewLimiter(rate.Limit(t.limits.Rate), t.limits.Burst)}
		if id.Name != "" {
			c.total = &t.named
		}
	}
	if len(t.young) >= maxBudgets {
		maps.DeleteFunc(t.old, func(_ CallerID, c *Budget) bool { return c.calls == 0 })
		t.young, t.old = t.old, t.young
	}
	t.young[id] = c
	return c
}
