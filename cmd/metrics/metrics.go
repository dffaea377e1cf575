// Package metrics counts what a process does, for Prometheus. Every label has a bounded number of values, whatever
// other agents send. Only this package imports the Prometheus client. It must not depend on a role or a carrier.
package metrics

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"evenodd/league/protocol"
	"evenodd/transport"
)

// other is the value of a label for everything that no table of the program has.
const other = "other"

// A Set holds the metrics of one process. It is safe for concurrent use.
type Set struct {
	registry *prometheus.Registry
	methods  map[string]string // the name of each method, by its names in requests

	calls, requests, refusals *prometheus.CounterVec
	took, queued, answering   *prometheus.HistogramVec
}

// New makes the metrics that every process has: those of its calls and its requests.
func New() *Set {
	s := &Set{registry: prometheus.NewRegistry(), methods: map[string]string{}}
	for _, m := range protocol.Methods() {
		for _, name := range slices.Concat(m.Aliases, []string{m.Name}) {
			s.methods[name] = m.Name
		}
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register(s, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		// in seconds: from a call on the same machine to the longest limit of a call
		o := prometheus.HistogramOpts{Name: name, Help: help, Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 30}}
		return register(s, prometheus.NewHistogramVec(o, []string{"method"}))
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

func register[C prometheus.Collector](s *Set, c C) C {
	s.registry.MustRegister(c)
	return c
}

// Handler serves the metrics in the format that the scraper asks for.
func (s *Set) Handler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{})
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
	c.calls.WithLabelValues(method, outcomeOf(err), carrierOf(r.Endpoint)).Inc()
	if transport.KindOf(err) == transport.Held {
		return result, timing, err // no call was made
	}
	c.took.WithLabelValues(method).Observe(time.Since(begun).Seconds())
	if timing != nil {
		c.queued.WithLabelValues(method).Observe(timing.Queued.Seconds())
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
	s.requests.WithLabelValues(method, outcome, carrier).Inc()
	s.answering.WithLabelValues(method).Observe(took.Seconds())
}

// Refused counts a request that was refused with an error.
func (s *Set) Refused(err error) {
	code := other
	if e := protocol.AsError(err); e != nil && e.Code.Name() != "" {
		code = string(e.Code)
	}
	s.refusals.WithLabelValues(code).Inc()
}

// Emit takes one value of a metric, with the values of its labels in their order.
type Emit = func(value float64, labels ...string)

// Gauge adds a metric whose values read tells at each scrape. The values of labels must be bounded.
func (s *Set) Gauge(name, help string, labels []string, read func(Emit)) {
	desc := prometheus.NewDesc(name, help, labels, nil)
	register(s, prometheus.CollectorFunc(func(out chan<- prometheus.Metric) {
		read(func(value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
		})
	}))
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
	register(s, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

// Count adds a metric that counts the calls of the returned function.
func (s *Set) Count(name, help string) (count func()) {
	return register(s, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})).Inc
}
