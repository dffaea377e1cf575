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

// A Breaker is a circuit breaker for each endpoint: calls to one that keeps failing
// fail at once, until a trial call is due. It is safe for concurrent use.
type Breaker struct {
	next      Caller
	essential func(method string) bool
	log       zerolog.Logger

	mu       sync.Mutex
	circuits map[string]*circuit // by endpoint; only those whose last call failed
}

var _ Caller = (*Breaker)(nil)

const (
	maxFailures = 5           // failures in a row that open a circuit
	openFor     = time.Minute // until the trial call
	maxCircuits = 4096        // failing endpoints that a breaker tracks; calls to others always pass
)

// A circuit is the state of one endpoint.
type circuit struct {
	circuitbreaker.CircuitBreaker[any]
	failed time.Time // the last time; guarded by the breaker's mutex
}

// NewBreaker makes a breaker in front of next. Calls of essential methods always pass,
// but count: a success closes the circuit.
func NewBreaker(next Caller, essential func(method string) bool, log zerolog.Logger) *Breaker {
	return &Breaker{next: next, essential: essential, log: log, circuits: map[string]*circuit{}}
}

// An OpenError says that a call was not made, because the calls before it failed.
type OpenError struct {
	Endpoint string
	Until    time.Time // when the trial call is due
}

// Error names the endpoint and the time of the trial call.
func (e *OpenError) Error() string {
	return fmt.Sprintf("%s has failed too often; the next try is at %s", e.Endpoint, e.Until.UTC().Format(time.RFC3339))
}

// Call makes the call, unless the circuit is open: then the error is an *OpenError.
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
		c.Open() // the trial said nothing, so another one is due
		c.HalfOpen()
	}
	return result, timing, err
}

func (b *Breaker) find(endpoint string) *circuit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.circuits[endpoint]
}

// close closes the circuit of an endpoint that has answered.
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

// add makes a circuit. If there are too many, it drops those that have not failed for a
// while, or returns nil. b.mu is held.
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
		WithFailureThreshold(maxFailures).
		WithSuccessThreshold(1).
		WithDelay(openFor).
		Build()}
	b.circuits[endpoint] = c
	return c
}

// A health is what a call says about its endpoint.
type health int

const (
	unknown health = iota
	good
	bad
)

// healthBy judges an endpoint by the error of a call. An endpoint that answers with an
// error, or asks to wait, is healthy. A local failure says nothing about it.
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
