package transport

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// A Breaker is a circuit breaker for each endpoint: calls to one that keeps failing
// fail at once, until a trial call is due. It is safe for concurrent use.
type Breaker struct {
	next      Caller
	essential func(method string) bool
	log       zerolog.Logger

	mu       sync.Mutex
	circuits map[string]circuit // by endpoint; only those whose last call failed
}

var _ Caller = (*Breaker)(nil)

const (
	maxFailures = 5           // failures in a row that open a circuit
	openFor     = time.Minute // until the trial call
	maxCircuits = 4096        // failing endpoints that a breaker tracks; calls to others always pass
)

// A circuit is the state of one endpoint.
type circuit struct {
	failures int       // in a row
	until    time.Time // when the trial call is due; zero while the circuit is closed
}

// NewBreaker makes a breaker in front of next. Calls of essential methods always pass,
// but count: a success closes the circuit.
func NewBreaker(next Caller, essential func(method string) bool, log zerolog.Logger) *Breaker {
	return &Breaker{next: next, essential: essential, log: log, circuits: map[string]circuit{}}
}

// Call makes the call, unless the circuit is open: then the error is of the kind Held.
func (b *Breaker) Call(ctx context.Context, r Request) (any, *Timing, error) {
	if !b.essential(r.Method) {
		if until := b.openUntil(r.Endpoint); !until.IsZero() {
			return nil, nil, &CallError{Kind: Held, Endpoint: r.Endpoint,
				Err: fmt.Errorf("the next try is at %s", until.UTC().Format(time.RFC3339))}
		}
	}
	result, timing, err := b.next.Call(ctx, r)
	b.note(r.Endpoint, healthBy(err), err)
	return result, timing, err
}

// Failing returns how many endpoints have failed since they last answered, and for how many of them the circuit
// is open.
func (b *Breaker) Failing() (failing, open int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.circuits {
		if !c.until.IsZero() {
			open++
		}
	}
	return len(b.circuits), open
}

// openUntil returns the time of the trial call, if a call must not be made; else the zero time.
// A call that may be made to a failing endpoint is the only trial for a while.
func (b *Breaker) openUntil(endpoint string) (until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, now := b.circuits[endpoint], time.Now()
	switch {
	case now.Before(c.until):
		return c.until
	case !c.until.IsZero():
		c.until = now.Add(openFor)
		b.circuits[endpoint] = c
	}
	return time.Time{}
}

// note records what a call says about its endpoint.
func (b *Breaker) note(endpoint string, h health, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, known := b.circuits[endpoint]
	switch {
	case h == good && known:
		delete(b.circuits, endpoint)
		if !c.until.IsZero() {
			b.log.Info().Str("endpoint", endpoint).Str("event_type", "BREAKER_CLOSED").Msg("the endpoint answers again")
		}
	case h == bad && (known || len(b.circuits) < maxCircuits):
		if c.failures++; c.failures == maxFailures {
			b.log.Warn().Str("endpoint", endpoint).Err(err).Dur("delay_ms", openFor).
				Str("event_type", "BREAKER_OPEN").Msg("the endpoint keeps failing: notices to it are held back")
		}
		if c.failures >= maxFailures {
			c.until = time.Now().Add(openFor)
		}
		b.circuits[endpoint] = c
	}
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
	if err == nil || is[RPCError](err) || retryAfter(err) > 0 {
		return good
	}
	switch KindOf(err) {
	case Local, Forbidden, Canceled:
		return unknown
	}
	return bad
}
