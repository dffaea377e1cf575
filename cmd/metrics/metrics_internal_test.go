package metrics

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
)

func TestEachKindOfFailedCallHasAnOutcome(t *testing.T) {
	outcomes := map[transport.Kind]string{
		transport.Unknown:     "broken",
		transport.Failed:      "refused",
		transport.Refused:     "broken",
		transport.Unreadable:  "broken",
		transport.Closed:      "broken",
		transport.Broken:      "broken",
		transport.Unreachable: "unreachable",
		transport.Local:       "local",
		transport.Forbidden:   "forbidden",
		transport.Held:        "held",
		transport.Timeout:     "timeout",
		transport.Canceled:    "canceled",
	}
	page, err := os.ReadFile("../../docs/operators.md")
	require.NoError(t, err)
	_, listed, found := strings.Cut(string(page), "The outcome of a call is ")
	require.True(t, found)
	listed, _, _ = strings.Cut(listed, ".")
	for kind, outcome := range outcomes {
		assert.Contains(t, listed, "`"+outcome+"`", "docs/operators.md")
		assert.Equal(t, outcome, outcomeOf(&transport.CallError{Kind: kind}), "kind %d", kind)
	}
	assert.Equal(t, "ok", outcomeOf(nil))
	source, err := os.ReadFile("../../transport/callerror.go")
	require.NoError(t, err)
	kinds := regexp.MustCompile(`(?m)^\t[A-Z]\w+ +(Kind = iota )?// `).FindAll(source, -1)
	assert.Greater(t, len(kinds), 10)
	assert.Len(t, outcomes, len(kinds), "each kind of transport has an outcome above")
}

// The client library of Prometheus is not in the program: it costs each command time at its start. The
// text is the same, byte for byte.
func TestMetricsAreThoseOfTheClientLibrary(t *testing.T) {
	registry, s := prometheus.NewRegistry(), &Set{}
	add := func(c prometheus.Collector) { require.NoError(t, registry.Register(c)) }
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "calls_total", Help: "Calls."},
		[]string{"method", "outcome", "carrier"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "call_seconds", Help: "Time.",
		Buckets: []float64{.001, .5, 30}}, []string{"method"})
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "matches", Help: "Matches."}, []string{"state", "outcome"})
	plain := prometheus.NewCounter(prometheus.CounterOpts{Name: "slow_total", Help: "Times."})
	for _, c := range []prometheus.Collector{calls, took, gauge, plain,
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: "unused_total", Help: "Nothing."}, []string{"code"}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "appends_total", Help: "Events."},
			func() float64 { return 12345678 })} {
		add(c)
	}
	ours := s.add(&family{name: "calls_total", help: "Calls.", kind: "counter",
		labels: []string{"method", "outcome", "carrier"}})
	durations := s.add(&family{name: "call_seconds", help: "Time.", kind: "histogram", labels: []string{"method"},
		limits: []float64{.001, .5, 30}})
	s.add(&family{name: "unused_total", help: "Nothing.", kind: "counter", labels: []string{"code"}})
	s.Counter("appends_total", "Events.", func() float64 { return 12345678 })
	s.Count("slow_total", "Times.")
	s.Gauge("matches", "Matches.", []string{"state", "outcome"}, func(emit Emit) {
		emit(2.5, "running", "")
		emit(0, "recorded", "win")
	})
	gauge.WithLabelValues("running", "").Set(2.5)
	gauge.WithLabelValues("recorded", "win").Set(0)
	for i, method := range []string{"ping", "", `a "quoted\ line` + "\n", "register", "ping"} {
		for _, carrier := range []string{"nats", "http"} {
			calls.WithLabelValues(method, "ok", carrier).Inc()
			ours.add(1, method, "ok", carrier)
		}
		for _, seconds := range []float64{0, .001, .0011, 1.0 / 3, 31, float64(i)} {
			took.WithLabelValues(method).Observe(seconds)
			durations.add(seconds, method)
		}
	}
	serve := func(h http.Handler) *httptest.ResponseRecorder {
		r := httptest.NewRecorder()
		h.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		return r
	}
	want, got := serve(promhttp.HandlerFor(registry, promhttp.HandlerOpts{})), serve(s.Handler())
	assert.Equal(t, want.Body.String(), got.Body.String())
	assert.Contains(t, want.Header().Get("Content-Type"), got.Header().Get("Content-Type"))
}
