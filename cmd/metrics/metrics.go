// Package metrics counts what a process does, for Prometheus. Every label has a bounded number of values, whatever
// other agents send. It must not depend on a role or a carrier.
package metrics

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league/protocol"
	"evenodd/transport"
)

// other is the value of a label for everything that no table of the program has.
const other = "other"

// A Set holds the metrics of one process. It is safe for concurrent use.
type Set struct {
	mu       sync.Mutex
	families []*family
	methods  map[string]string // the name of each method, by its names in requests

	calls, requests, refusals *family // counters
	took, queued, answering   *family // histograms
}

// New makes the metrics that every process has: those of its calls and its requests.
func New() *Set {
	s := &Set{methods: map[string]string{}}
	for _, m := range protocol.Methods() {
		for _, name := range slices.Concat(m.Aliases, []string{m.Name}) {
			s.methods[name] = m.Name
		}
	}
	counter := func(name, help string, labels ...string) *family {
		return s.add(&family{name: name, help: help, kind: "counter", labels: labels})
	}
	histogram := func(name, help string) *family {
		// in seconds: from a call on the same machine to the longest limit of a call
		return s.add(&family{name: name, help: help, kind: "histogram", labels: []string{"method"},
			limits: []float64{.001, .005, .02, .1, .5, 2, 10, 30}})
	}
	s.calls = counter("evenodd_calls_total", "Calls of this process to other agents.", "method", "outcome", "carrier")
	s.took = histogram("evenodd_call_duration_seconds", "Time of calls to other agents, with their wait in the queue.")
	s.queued = histogram("evenodd_call_queue_seconds", "Time that calls waited for a connection of this process.")
	s.requests = counter("evenodd_requests_total", "Requests of other agents that reached a handler.", "method", "outcome",
		"carrier")
	s.answering = histogram("evenodd_request_duration_seconds", "Time in which requests of other agents were answered.")
	s.refusals = counter("evenodd_refusals_total", "Requests refused, by the code of the error.", "code")
	return s
}

func (s *Set) add(f *family) *family {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.families = append(s.families, f)
	return f
}

// Handler serves the metrics in the text format, which each version of Prometheus reads.
func (s *Set) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(s.text()) // fails if the scraper has gone
	})
}

// text is all metrics in the text format, in the order of their names.
func (s *Set) text() []byte {
	s.mu.Lock()
	families := slices.Clone(s.families)
	s.mu.Unlock()
	slices.SortFunc(families, func(a, b *family) int { return strings.Compare(a.name, b.name) })
	var text bytes.Buffer
	for _, f := range families {
		f.write(&text)
	}
	return text.Bytes()
}

// method is the value of the label method.
func (s *Set) method(name string) string { return cmp.Or(s.methods[name], other) }

// Caller is next with its calls counted.
func (s *Set) Caller(next transport.Caller) transport.Caller { return &caller{s, next} }

type caller struct {
	*Set
	next transport.Caller
}

// Call implements transport.Caller.
func (c *caller) Call(ctx context.Context, r transport.Request) (any, *transport.Timing, error) {
	begun := time.Now()
	result, timing, err := c.next.Call(ctx, r)
	method := c.method(r.Method)
	c.calls.add(1, method, outcomeOf(err), carrierOf(r.Endpoint))
	if transport.KindOf(err) == transport.Held {
		return result, timing, err // no call was made
	}
	c.took.add(time.Since(begun).Seconds(), method)
	if timing != nil {
		c.queued.add(timing.Queued.Seconds(), method)
	}
	return result, timing, err
}

// outcomeOf is the value of the label outcome for a call.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	switch transport.KindOf(err) {
	case transport.Held:
		return "held" // by the breaker
	case transport.Failed:
		return "refused"
	case transport.Local:
		return "local"
	case transport.Forbidden:
		return "forbidden"
	case transport.Timeout:
		return "timeout"
	case transport.Canceled:
		return "canceled"
	case transport.Unreachable:
		return "unreachable"
	}
	return "broken"
}

// carrierOf is the value of the label carrier.
func carrierOf(endpoint string) string {
	switch scheme, _, _ := strings.Cut(endpoint, "://"); scheme {
	case "http", "https":
		return "http"
	case "nats", "memory":
		return scheme
	}
	return other
}

// Answered counts a request that a carrier brought: see transport.Answered. The caller bounds the names of carriers.
func (s *Set) Answered(carrier, name string, result any, err error, took time.Duration) {
	method, outcome := s.method(name), "ok"
	if answer, ok := result.(*protocol.LeagueQueryResponse); ok && err == nil && answer.Error != nil {
		err = &protocol.Error{Code: protocol.Code(answer.Error.ErrorCode)}
	}
	if err != nil {
		outcome = "refused"
		s.Refused(err)
	}
	s.requests.add(1, method, outcome, carrier)
	s.answering.add(took.Seconds(), method)
}

// Refused counts a request that was refused with an error.
func (s *Set) Refused(err error) {
	code := other
	if e := protocol.AsError(err); e != nil && e.Code.Name() != "" {
		code = string(e.Code)
	}
	s.refusals.add(1, code)
}

// Emit takes one value of a metric, with the values of its labels in their order.
type Emit = func(value float64, labels ...string)

// Gauge adds a metric whose values read tells at each scrape. The values of labels must be bounded.
func (s *Set) Gauge(name, help string, labels []string, read func(Emit)) {
	s.add(&family{name: name, help: help, kind: "gauge", labels: labels, read: read})
}

// Flag reads a metric that is 1 while a condition holds, else 0.
func Flag(holds func() bool) func(Emit) {
	return func(emit Emit) {
		value := 0.
		if holds() {
			value = 1
		}
		emit(value)
	}
}

// Counter is Gauge for a value that only grows.
func (s *Set) Counter(name, help string, read func() float64) {
	s.add(&family{name: name, help: help, kind: "counter", read: func(emit Emit) { emit(read()) }})
}

// Count adds a metric that counts the calls of the returned function.
func (s *Set) Count(name, help string) (count func()) {
	f := s.add(&family{name: name, help: help, kind: "counter"})
	f.add(0) // a counter that has not counted is 0, not missing
	return func() { f.add(1) }
}
