package cmd_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// metric is the value of a metric in the exposition of an agent.
func metric(t *testing.T, text, series string) (value float64) {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(text)
	require.NotNil(t, found, "no %s in\n%s", series, text)
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return value
}

// get returns the status and the body of the answer to GET. Host "" is that of the URL.
func get(t *testing.T, url, host string) (status int, body string) {
	t.Helper()
	answer, text := ask(t, http.MethodGet, url, host, http.NoBody)
	return answer.StatusCode, string(text)
}

// Each process of a league counts its part: the numbers agree with each other.
func TestProcessesOfALeagueServeTheirMetrics(t *testing.T) {
	t.Parallel()
	debug := "localhost:" + freePort(t)
	m := startManager(t, "--players", "2", "--referees", "1", "--debug-addr", debug)
	manager := strings.TrimSuffix(m.url, "/mcp")
	read := func(base string) string {
		status, text := get(t, base+"/metrics", "")
		require.Equal(t, http.StatusOK, status)
		return text
	}
	referee, player := m.join(t, "referee"), m.join(t, "player", "--strategy", "even")
	referee.await(t, `"event_type":"REGISTERED"`)
	judging := referee.await(t, `"endpoint":"(http://localhost:\d+)/mcp".*"event_type":"LISTENING"`)[1]
	playing := player.await(t, `"endpoint":"(http://localhost:\d+)/mcp".*"event_type":"LISTENING"`)[1]
	for _, base := range []string{manager, judging, playing} {
		status, body := get(t, base+"/livez", "")
		assert.Equal(t, []any{http.StatusOK, `{"status":"ok"}` + "\n"}, []any{status, body})
		status, _ = get(t, base+"/debug/pprof/heap", "")
		assert.NotEqual(t, http.StatusOK, status, "no profiles beside the calls")
	}
	assert.Zero(t, metric(t, read(judging), `evenodd_matches{outcome="",state="conducted"}`))
	assert.InDelta(t, 1, metric(t, read(judging), `evenodd_calls_total{carrier="http",method="register_referee",outcome="ok"}`), 0)
	assert.Zero(t, metric(t, read(playing), `evenodd_matches{outcome="win",state="recorded"}`))

	status, profile := get(t, "http://"+debug+"/debug/pprof/heap", "")
	assert.Equal(t, http.StatusOK, status)
	assert.NotEmpty(t, profile)
	status, _ = get(t, "http://"+debug+"/debug/pprof/", "evil.example")
	assert.Equal(t, http.StatusMisdirectedRequest, status)
	for _, at := range []string{":0", "0.0.0.0:0"} {
		code, _, problem := run(t.Context(), "player", "--debug-addr", at)
		assert.Equal(t, 2, code)
		assert.Contains(t, problem, "only a loopback address is allowed")
	}

	status, _ = fetch(t, http.MethodPost, m.url, strings.NewReader(`{"jsonrpc":"2.0","method":"league_query","params":{},"id":1}`))
	require.Equal(t, http.StatusOK, status)
	m.join(t, "player", "--strategy", "odd")
	m.await(t, "The league is over; the manager answers queries")
	text := read(manager)
	recorded := 0.0
	for _, outcome := range []string{"win", "draw", "technical_loss", "annulled"} {
		recorded += metric(t, text, `evenodd_matches{outcome="`+outcome+`",state="recorded"}`)
	}
	assert.InDelta(t, 1, recorded, 0)
	assert.InDelta(t, 1, metric(t, text, `evenodd_requests_total{carrier="http",method="report_match_result",outcome="ok"}`), 0)
	assert.InDelta(t, 1, metric(t, text, `evenodd_refusals_total{code="E003"}`), 0)
	assert.InDelta(t, 1, metric(t, text, "evenodd_leader"), 0)
	assert.Zero(t, metric(t, text, `evenodd_agents{state="suspended"}`))
	appends, syncs := metric(t, text, "evenodd_journal_appends_total"), metric(t, text, "evenodd_journal_syncs_total")
	assert.Positive(t, syncs)
	assert.GreaterOrEqual(t, appends, syncs)
	assert.Positive(t, metric(t, text, "evenodd_journal_sync_seconds_total"))
	assert.InDelta(t, 1, metric(t, text, `evenodd_call_queue_seconds_count{method="start_match"}`), 0)
}
