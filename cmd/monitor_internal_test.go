package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	stdhttp "net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/http"
	"evenodd/transport/memory"
)

// installed returns the path of a program that continuous integration has from a package of Debian.
func installed(t *testing.T, program, pkg, tested string) (path string) {
	t.Helper()
	for _, name := range []string{program, "/usr/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	NotTested(t, tested+", which is not there (on Debian: apt-get install "+pkg+")")
	return ""
}

// NotTested skips a test for which this machine lacks something. Continuous integration has all.
func NotTested(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal("continuous integration runs this test: " + why)
	}
	t.Skip("NOT TESTED: " + why)
}

// promtool runs Debian's promtool, if it is there.
func promtool(t *testing.T, input string, args ...string) {
	t.Helper()
	t.Run("promtool", func(t *testing.T) {
		path := installed(t, "promtool", "prometheus", "metrics and alert rules by promtool")
		check := exec.CommandContext(t.Context(), path, args...)
		check.Stdin = strings.NewReader(input)
		out, err := check.CombinedOutput()
		require.NoError(t, err, "promtool %v: %s", args, out)
	})
}

// callerOf fails or succeeds as an error says.
type callerOf struct{ err error }

func (c callerOf) Call(context.Context, transport.Request) (any, *transport.Timing, error) {
	return nil, &transport.Timing{}, c.err
}

// waitingManager makes a manager of a league that has not begun, for up to 1,001 players.
func waitingManager(t *testing.T, log zerolog.Logger) (*manager.Manager, *transport.Mux) {
	t.Helper()
	m, err := manager.New(manager.Options{
		Created: journal.Created{LeagueID: "made-up", GameType: "even_odd", Configuration: journal.Configuration{
			Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(),
			Participants: journal.Participants{Players: 1001, Referees: 1},
		}},
		Games: games(), Caller: memory.NewBus(), Clock: protocol.SystemClock(), Log: log, CallerAddress: callerAddress,
	})
	require.NoError(t, err)
	mux := transport.NewMux(zerolog.Nop())
	m.Mount(mux)
	return m, mux
}

// application is the registration of a player.
func application(name string) *protocol.LeagueRegisterRequest {
	stamp := protocol.NewStamp("player:"+name, protocol.SystemClock())
	return &protocol.LeagueRegisterRequest{
		Envelope: stamp.Envelope(protocol.TypeLeagueRegisterRequest, "conv-1"),
		PlayerMeta: protocol.PlayerMeta{AgentMeta: protocol.AgentMeta{DisplayName: name, Version: "1.0.0",
			GameTypes: []string{"even_odd"}, ContactEndpoint: "http://" + name + ":8101/mcp"}},
	}
}

// Neither the size of a league nor what other agents send adds series: 1,000 players, 10,000 calls and requests with
// made-up methods, codes and names, and on top of that each call that is possible with each outcome.
func TestMetricsHaveAFewSeriesWhateverOthersSend(t *testing.T) {
	t.Parallel()
	n, err := newNode(nodeOptions{maxReply: maxReply, log: zerolog.Nop()})
	require.NoError(t, err)
	defer n.close()
	m, mux := waitingManager(t, zerolog.Nop())
	leagueMetrics(n.metrics, m.Status)
	journalMetrics(n.metrics, m.JournalWork)
	leaderMetrics(n.metrics, func() bool { return true })
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a := &address{host: "127.0.0.1", local: true}
	stop, err := n.serve(a, listener, "", mux, m.Stamp, http.Config{MaxBody: maxRequest, Mounts: probes(n.metrics, nil)})
	require.NoError(t, err)
	defer stop()

	ask := func(method string, params any) (answer transport.Answer) {
		body, err := transport.EncodeRequest(method, params, 1)
		require.NoError(t, err)
		return mux.Serve(t.Context(), "", body)
	}
	for i := range 1000 {
		require.NoError(t, ask("register_player", application(fmt.Sprint("made-up-", i))).Err)
	}
	for i := range 5000 {
		name := fmt.Sprint("made-up-", i)
		ask(name, map[string]string{"message_type": name, "sender": name})
		_, _, _ = n.metrics.Caller(callerOf{&protocol.Error{Code: protocol.Code(name)}}).Call(t.Context(),
			transport.Request{Method: name, Endpoint: name + "://" + name})
		n.metrics.Refused(&protocol.Error{Code: protocol.Code(name)})
	}
	outcomes := []error{nil, &transport.CallError{Kind: transport.Held}, &transport.Error{}, &transport.CallError{Kind: transport.Local, Err: io.EOF},
		&transport.CallError{Kind: transport.Forbidden}, context.DeadlineExceeded, context.Canceled, &transport.CallError{Kind: transport.Unreachable}, io.EOF}
	for _, method := range append(protocol.Methods(), protocol.MethodRow{Name: "other"}) {
		for _, outcome := range outcomes {
			for _, carrier := range []string{"http", "https", "nats", "memory", "other"} {
				_, _, _ = n.metrics.Caller(callerOf{outcome}).Call(t.Context(),
					transport.Request{Method: method.Name, Endpoint: carrier + "://x"})
			}
		}
		for _, carrier := range []string{"http", "nats"} {
			n.metrics.Answered(carrier, method.Name, nil, nil, 0)
			n.metrics.Answered(carrier, method.Name, nil, io.EOF, 0)
		}
	}
	for i := range 100 {
		n.metrics.Refused(protocol.Fault(protocol.Code(fmt.Sprintf("E%03d", i)), "x"))
	}

	r, err := stdhttp.Get("http://" + listener.Addr().String() + "/metrics")
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, errors.Join(err, r.Body.Close()))
	require.Equal(t, stdhttp.StatusOK, r.StatusCode)
	text := string(body)
	series := len(regexp.MustCompile(`(?m)^[^#\n]`).FindAllString(text, -1))
	t.Logf("%d series, %d bytes", series, len(text))
	assert.LessOrEqual(t, series, 2000)
	assert.LessOrEqual(t, len(text), 300<<10)
	assert.NotContains(t, text, "made-up")
	for _, line := range []string{`evenodd_agents{state="registered"} 1000`, `evenodd_refusals_total{code="other"} 10`,
		`evenodd_requests_total{carrier="nats",method="register_player",outcome="ok"} 1001`, `evenodd_requests_total{carrier="nats",method="other",outcome="refused"} 5001`,
		`evenodd_calls_total{carrier="other",method="other",outcome="refused"} 5001`} {
		assert.Contains(t, text, line)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint() // what promtool does, for machines without it
	require.NoError(t, err)
	assert.Empty(t, problems)
	promtool(t, text, "check", "metrics")
}

// rowsOf returns a table of the matches of a pattern in files: two groups are the cells of a row.
func rowsOf(t *testing.T, head string, pattern *regexp.Regexp, files ...string) string {
	t.Helper()
	var table strings.Builder
	table.WriteString(head + "\n| --- | --- |\n")
	for _, file := range files {
		for _, row := range pattern.FindAllStringSubmatch(readFile(t, file), -1) {
			fmt.Fprintf(&table, "| `%s` | %s |\n", row[1], row[2])
		}
	}
	return table.String()
}

// The tables of docs/operators.md are those of the sources: 'go test ./cmd -run TestGeneratedTables -update' writes
// them.
func TestGeneratedTablesOfTheOperatorsPage(t *testing.T) {
	for name, table := range map[string]string{
		"metrics": rowsOf(t, "| metric | meaning |", regexp.MustCompile(`"(evenodd_\w+)",\s*"([^"]+)\."`),
			"metrics/metrics.go", "monitor.go", "page.go", "agent.go"),
		"addresses": rowsOf(t, "| network | service |", regexp.MustCompile(`(?m)^\t"([\da-f.:]+/\d+)", +// (.+)$`),
			"../transport/http/addresses.go"),
	} {
		assert.Greater(t, strings.Count(table, "\n"), 12, name)
		checkGenerated(t, "../docs/operators.md", name, table)
	}
}

// docs/examples has six alert rules, about metrics that this program has.
func TestAlertRulesOfTheDocumentation(t *testing.T) {
	const file = "../docs/examples/alerts.yaml"
	rules, page := readFile(t, file), readFile(t, "../docs/operators.md")
	assert.Equal(t, 6, strings.Count(rules, "- alert: "))
	for _, metric := range regexp.MustCompile(`evenodd_\w+`).FindAllString(rules, -1) {
		assert.Contains(t, page, "| `"+metric+"` |", "a rule names a metric that is not in the table")
	}
	promtool(t, "", "check", "rules", file)
}
