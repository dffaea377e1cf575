package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/rs/zerolog"
)

// A Breaker spares endpoints that keep failing, and whoever calls them: their
// calls fail at once until it is time to try again. Safe for concurrent use.
type Breaker struct {
	next      Caller
	essential func(method string) bool
	log       zerolog.Logger

	mu       sync.Mutex
	circuits map[string]*circuit // by endpoint; only those whose last call failed
}

var _ Caller = (*Breaker)(nil)

const (
	patience    = 5           // so many failures in a row open a circuit
	openFor     = time.Minute // it stays open so long before the next try
	maxCircuits = 4096        // failing endpoints that a breaker knows; others are called as if there was none
)

// A circuit is the state of one endpoint.
type circuit struct {
	circuitbreaker.CircuitBreaker[any]
	failed time.Time // the last time; guarded by the breaker's mutex
}

// NewBreaker makes a breaker before next. Essential tells the methods that are
// never held back. They count all the same: one that succeeds closes the breaker.
func NewBreaker(next Caller, essential func(method string) bool, log zerolog.Logger) *Breaker {
	return &Breaker{next: next, essential: essential, log: log, circuits: map[string]*circuit{}}
}

// An OpenError says that a call was not made, because the calls before it
// failed.
type OpenError struct {
	Endpoint string
	Until    time.Time // of the next try
}

// Error says when the next try is.
func (e *OpenError) Error() string {
	return fmt.Sprintf("%s has failed too often; the next try is at %s", e.Endpoint, e.Until.UTC().Format(time.RFC3339))
}

// Call makes the call, unless it is held back.
func (b *Breaker) Call(ctx context.Context, r Request) (any, *Timing, error) {
	permitted := true
	c := b.find(r.Endpoint)
	if c != nil {
		permitted = c.TryAcquirePermit()
	}
	if !permitted && !b.essential(r.Method) {
		return nil, nil, &OpenError{r.Endpoint, time.Now().Add(c.RemainingDelay())}
	}
	result, timing, err := b.next.Call(ctx, r)
	switch health := healthBy(err); {
	case health == good && c != nil:
		b.close(r.Endpoint)
	case health == bad:
		b.fail(r.Endpoint, err)
	case health == unknown && c != nil && permitted && c.IsHalfOpen():
		c.Open() // gives the trial back, which told nothing
		c.HalfOpen()
	}
	return result, timing, err
}

func (b *Breaker) find(endpoint string) *circuit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.circuits[endpoint]
}

// close forgets an endpoint that has answered.
func (b *Breaker) close(endpoint string) {
	b.mu.Lock()
	c := b.circuits[endpoint]
	delete(b.circuits, endpoint)
	b.mu.Unlock()
	if c != nil && !c.IsClosed() {
		b.log.Info().Str("endpoint", endpoint).Str("event_type", eventEndpointBack).Msg("the endpoint answers again")
	}
}

// fail records a failure.
func (b *Breaker) fail(endpoint string, err error) {
	b.mu.Lock()
	c := b.circuits[endpoint]
	if c == nil {
		c = b.add(endpoint)
	}
	if c == nil {
		b.mu.Unlock()
		return
	}
	c.failed = time.Now()
	wasClosed := c.IsClosed()
	c.RecordFailure()
	opened := wasClosed && c.IsOpen()
	b.mu.Unlock()
	if opened {
		b.log.Warn().Str("endpoint", endpoint).Err(err).Dur("delay_ms", openFor).
			Str("event_type", eventEndpointFailing).Msg("the endpoint keeps failing: notices to it are held back")
	}
}

// add begins a circuit, in the place of those that have not failed for a
// while; nil when there is none.
func (b *Breaker) add(endpoint string) *circuit {
	if len(b.circuits) >= maxCircuits {
		for endpoint, c := range b.circuits {
			if time.Since(c.failed) > openFor {
				delete(b.circuits, endpoint)
			}
		}
	}
	if len(b.circuits) >= maxCircuits {
		return nil
	}
	c := &circuit{CircuitBreaker: circuitbreaker.NewBuilder[any]().
		WithFailureThreshold(patience).
		WithSuccessThreshold(1).
		WithDelay(openFor).
		Build()}
	b.circuits[endpoint] = c
	return c
}

// A health is what a call tells of its endpoint.
type health int

const (
	unknown health = iota
	good
	bad
)

// healthBy judges an endpoint by the outcome of a call. Whoever answers with an
// error, or asks to wait, is there; what happened at this side tells nothing of
// the other.
func healthBy(err error) health {
	var answered rpcError
	var local interface{ Local() bool }
	var forbidden *ForbiddenError
	switch {
	case err == nil, errors.As(err, &answered), retryAfter(err) > 0:
		return good
	case errors.As(err, &local) && local.Local(), errors.As(err, &forbidden), errors.Is(err, context.Canceled):
		return unknown
	}
	return bad
}
