package cmd

import (
	"context"
	"net"
	stdhttp "net/http"
	"net/http/pprof"

	"github.com/spf13/pflag"

	"evenodd/cmd/metrics"
	"evenodd/league/manager"
	"evenodd/league/store/appendfile"
	"evenodd/transport/http"
)

// probes are the mounts by which monitors watch a process: its health, whether it answers at all, and its metrics.
// A scrape costs more than a refusal, and so has a quota.
func probes(m *metrics.Set, health func() any) []http.Mount {
	quota := http.NewQuota(http.Limits{Calls: 8, CallsPerAddress: 4, Rate: 5, Burst: 20}, http.StreamLimits{})
	live := http.Health(nil) // takes no lock
	live.Pattern = "GET /livez"
	return []http.Mount{http.Health(health), live, {Pattern: "GET /metrics", Handler: m.Handler(), Quota: quota}}
}

// matchMetrics adds the matches that a process knows. read emits a number with a state and an outcome.
func matchMetrics(m *metrics.Set, read func(metrics.Emit)) {
	m.Gauge("evenodd_matches", "Matches by state, and those with a result by outcome.", []string{"state", "outcome"}, read)
}

// leagueMetrics adds the metrics of a league.
func leagueMetrics(m *metrics.Set, status func() manager.Status) {
	matchMetrics(m, func(emit metrics.Emit) {
		s := status()
		o := &s.Outcomes
		emit(float64(max(0, s.Matches-s.Announced)), "waiting", "")
		emit(float64(s.Announced-s.Recorded), "running", "")
		emit(float64(o.Wins), "recorded", "win")
		emit(float64(o.Draws), "recorded", "draw")
		emit(float64(o.TechnicalLosses), "recorded", "technical_loss")
		emit(float64(s.Recorded-o.Wins-o.Draws-o.TechnicalLosses), "recorded", "annulled")
	})
	m.Gauge("evenodd_agents", "Players and referees by the state of their lifecycle.", []string{"state"},
		func(emit metrics.Emit) {
			a := status().Agents
			emit(float64(a.Registered), "registered")
			emit(float64(a.Active), "active")
			emit(float64(a.Suspended), "suspended")
			emit(float64(a.Shutdown), "shutdown")
		})
}

// journalMetrics adds the metrics of a journal.
func journalMetrics(m *metrics.Set, work func() appendfile.Work) {
	m.Counter("evenodd_journal_appends_total", "Events appended to the journal of the league.",
		func() float64 { return float64(work().Lines) })
	m.Counter("evenodd_journal_syncs_total", "Syncs of the journal, each for a group of events.",
		func() float64 { return float64(work().Syncs) })
	m.Counter("evenodd_journal_sync_seconds_total", "Time of these syncs, with the writes before them.",
		func() float64 { return work().Syncing.Seconds() })
}

// leaderMetrics adds whether this manager leads its league. One without standby always does.
func leaderMetrics(m *metrics.Set, leads func() bool) {
	m.Gauge("evenodd_leader", "1 if this manager leads its league, 0 if it stands by.", nil, metrics.Flag(leads))
}

// debugFlag defines the flag of the commands that run for long.
func debugFlag(f *pflag.FlagSet, at *string) {
	f.StringVar(at, "debug-addr", "", "`host:port` of the profiles of package net/http/pprof, such as localhost:6060: "+
		"only an address that other machines cannot reach (default: none)")
}

// debugged runs a command that serves its profiles at an address meanwhile; "" serves none.
func debugged(ctx context.Context, at string, run func() error) error {
	if at == "" {
		return run()
	}
	a := &address{}
	l, err := a.listenOn(ctx, "debug-addr", at)
	if err != nil {
		return err
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		_ = l.Close() // nobody has connected
		return usage("--debug-addr %q: other machines reach this address; profiles show what the process does, so that "+
			"only a loopback address is allowed, such as localhost:6060", at)
	}
	profile := func(path string, serve stdhttp.HandlerFunc) http.Mount {
		return http.Mount{Pattern: "GET /debug/pprof/" + path, Handler: serve}
	}
	defer http.NewServer(nil, http.Config{Hosts: a.names(l), Mounts: []http.Mount{
		profile("", pprof.Index), profile("profile", pprof.Profile), profile("trace", pprof.Trace),
	}}).ServeUntil(l, 0)()
	return run()
}
