package check

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

func postTo(t *testing.T, url, body string) (int, members) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	var text bytes.Buffer
	_, err = text.ReadFrom(r.Body)
	require.NoError(t, err)
	return r.StatusCode, objectOf(text.Bytes())
}

// openTestManager serves a fake manager for an agent at a URL.
func openTestManager(t *testing.T, agent string) *playerExam {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "localhost:0")
	require.NoError(t, err)
	x := newPlayerExam(t, &Options{Role: Player, URL: agent, Listener: l})
	x.manager = x.openManager(t.Context(), func(c *call) response { return answerPing(c, "league_manager") })
	t.Cleanup(x.manager.fakes.close)
	return x
}

// newPlayerExam makes an examination that makes no calls.
func newPlayerExam(t *testing.T, o *Options) *playerExam {
	t.Helper()
	o.Game = evenodd.Game{}
	x := &playerExam{exam: newExam(t.Context(), o), times: map[string][]time.Duration{}}
	x.use(x.table())
	return x
}

func TestFakeManagerTakesEveryForm(t *testing.T) {
	const message = `{"protocol":"league.v2","timestamp":"2026-11-22T10:00:00Z","message_type":"LEAGUE_REGISTER_REQUEST","sender":"player:P03","conversation_id":"c",` +
		`"player_meta":{"display_name":"P03","version":"1.0.0","game_types":["even_odd"],"contact_endpoint":"http://localhost:8101/mcp"}}`
	inResult := func(m members) members { return objectOf(m["result"]) }
	tests := []struct {
		name, body string
		result     func(members) members
		form       string // what a finding calls it
	}{
		{"by its method", `{"jsonrpc":"2.0","method":"register_player","params":` + message + `,"id":7}`, inResult, ""},
		{"by its type", `{"jsonrpc":"2.0","method":"LEAGUE_REGISTER_REQUEST","params":` + message + `,"id":7}`, inResult,
			"LEAGUE_REGISTER_REQUEST instead of register_player"},
		{"by mcp_message", `{"jsonrpc":"2.0","method":"mcp_message","params":` + message + `,"id":7}`, inResult,
			"mcp_message instead of register_player"},
		{"by handle_message", `{"jsonrpc":"2.0","method":"handle_message","params":{"message":` + message + `},"id":7}`, inResult,
			"handle_message with the message in message instead of register_player"},
		{"alone", message, func(m members) members { return m }, "the message without JSON-RPC instead of register_player"},
		{"as a tool", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"register_player","arguments":` + message + `},"id":7}`,
			func(m members) members {
				var result struct{ Content []struct{ Text string } }
				_ = json.Unmarshal(m["result"], &result, json.MatchCaseInsensitiveNames(true))
				require.NotEmpty(t, result.Content)
				return objectOf([]byte(result.Content[0].Text))
			}, "tools/call register_player instead of register_player"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := openTestManager(t, "http://127.0.0.1:8101/mcp").manager
			_, answer := postTo(t, g.url, tt.body)
			result := tt.result(answer)
			assert.Empty(t, result.has("player_id", "P03"))
			assert.Empty(t, result.has("status", "ACCEPTED"))
			assert.Empty(t, result.has("conversation_id", "c"))
			assert.Empty(t, result.has("auth_token", g.token))
			assert.True(t, g.wait(t.Context(), time.Minute))
			assert.Equal(t, "P03", g.agentID())
			own, others := g.applications()
			require.Len(t, own, 1)
			assert.Equal(t, tt.form, own[0].form)
			assert.Empty(t, others)
		})
	}
}

func TestFakeManagerAnswersQueriesAndErrors(t *testing.T) {
	url := openTestManager(t, "http://127.0.0.1:8101/mcp").manager.url
	_, answer := postTo(t, url, `{"jsonrpc":"2.0","method":"league_query","params":{"query_type":"GET_STANDINGS"},"id":3}`)
	assert.Equal(t, "3", string(answer["id"]))
	result := objectOf(answer["result"])
	assert.Equal(t, "true", string(result["success"]))
	assert.Empty(t, result.has("query_type", "GET_STANDINGS"))
	assert.NotEmpty(t, objectOf(result["data"])["standings"])

	_, answer = postTo(t, url, `{"jsonrpc":"2.0","method":"league_query","params":{"query_type":"GET_RICH"},"id":3}`)
	assert.Empty(t, objectOf(objectOf(answer["result"])["error"]).has("error_code", "E016"))

	_, answer = postTo(t, url, `{"jsonrpc":"2.0","method":"no_such","id":5}`)
	assert.Equal(t, "-32601", string(objectOf(answer["error"])["code"]))
	status, _ := postTo(t, url, strings.Repeat(" ", maxCall+1))
	assert.Equal(t, http.StatusRequestEntityTooLarge, status)
	status, _ = postTo(t, url, `{"jsonrpc":"2.0","method":"ping","params":{}}`)
	assert.Equal(t, http.StatusNoContent, status)
}

func TestPlayerThatRegistersAnotherPortIsRejected(t *testing.T) {
	x := openTestManager(t, "http://127.0.0.1:8101/mcp")
	_, answer := postTo(t, x.manager.url, `{"jsonrpc":"2.0","method":"register_player","params":{"message_type":"LEAGUE_REGISTER_REQUEST","player_meta":{"contact_endpoint":"http://localhost:8102/mcp"}},"id":1}`)
	assert.Empty(t, objectOf(answer["result"]).has("status", "REJECTED"))
	assert.Nil(t, objectOf(answer["result"])["auth_token"])
	assert.False(t, x.manager.wait(t.Context(), time.Nanosecond))
	x.recordRegistration()
	f := x.findings["P-REG-08"]
	assert.Equal(t, Fail, f.Verdict)
	assert.Equal(t, `contact_endpoint is "http://localhost:8102/mcp", but http://127.0.0.1:8101/mcp is examined`, f.Detail)
	assert.Contains(t, f.Exchanges[0].Request, "8102")
	assert.Equal(t, Skipped, x.findings["P-REG-09"].Verdict)
}

func TestEndpointsWithTheSamePortAndPathAreTheSame(t *testing.T) {
	tests := []struct {
		a, b string
		same bool
	}{
		{"http://localhost:8101/mcp", "http://127.0.0.1:8101/mcp", true},
		{"http://[::1]:8101/mcp/", "http://my-host:8101/mcp", true},
		{"https://a/mcp", "https://a:443/mcp", true},
		{"http://a/mcp", "http://a:80/mcp", true},
		{"http://localhost:8101/mcp", "http://localhost:8102/mcp", false},
		{"http://localhost:8101/mcp", "http://localhost:8101/", false},
		{"localhost:8101", "http://localhost:8101/mcp", false},
		{"", "", false},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.same, sameEndpoint(tt.a, tt.b), "%s %s", tt.a, tt.b)
	}
}

func TestTimesOfAnswersAreJudgedByPercentiles(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100-i) * time.Millisecond
	}
	assert.Equal(t, 50*time.Millisecond, percentile(hundred, 50))
	assert.Equal(t, 95*time.Millisecond, percentile(hundred, 95))
	assert.Equal(t, 99*time.Millisecond, percentile(hundred, 99))
	assert.Equal(t, 3*time.Second, percentile([]time.Duration{3 * time.Second}, 50))
	assert.Equal(t, "100 calls: p50 50ms, p95 95ms, p99 99ms", latencies(hundred))

	judged := func(invitations, questions, others []time.Duration) map[string]Verdict {
		x := newPlayerExam(t, &Options{Role: Player, URL: "http://127.0.0.1:8101/mcp"})
		for method, times := range map[string][]time.Duration{
			protocol.Invite.Name: invitations, protocol.ChooseParity.Name: questions, protocol.NotifyMatchResult.Name: others,
		} {
			if times != nil {
				x.times[method] = times
			}
		}
		x.recordTimes()
		found := map[string]Verdict{}
		for id, f := range x.findings {
			found[id] = f.Verdict
			assert.NotEmpty(t, f.Detail)
		}
		return found
	}
	slow := []time.Duration{time.Millisecond, 2600 * time.Millisecond}
	slower := []time.Duration{16 * time.Second, 16 * time.Second}
	assert.Equal(t, map[string]Verdict{"P-LAT-01": Fail, "P-LAT-02": Fail, "P-LAT-03": Fail},
		judged(slow, slower, slower))
	assert.Equal(t, map[string]Verdict{"P-LAT-01": Pass, "P-LAT-02": Pass, "P-LAT-03": Pass},
		judged(hundred, slow, hundred))
	assert.Empty(t, judged(nil, nil, nil))
}

// The kit's manager answers a call that it cannot read as a manager does, and the author of the agent learns why
// it is not registered.
func TestRegistrationByAnUnknownMethodIsAFinding(t *testing.T) {
	for body, want := range map[string][2]string{
		`{"jsonrpc":"2.0","method":"join_league","params":{},"id":1}`: {"-32601", "the unknown method join_league"},
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"join_league","arguments":{}},"id":1}`: {
			"-32601", "the unknown method tools/call join_league"},
		`{"display_name":"Alpha","endpoint":"http://localhost:8101/mcp"}`: {"-32600", "JSON without a method and a message_type"},
	} {
		x := openTestManager(t, "http://127.0.0.1:8101/mcp")
		for _, harmless := range []string{"ping", "initialize", "tools/list", "get_standings"} {
			postTo(t, x.manager.url, `{"jsonrpc":"2.0","method":"`+harmless+`","params":{},"id":1}`)
		}
		_, answer := postTo(t, x.manager.url, body)
		assert.Equal(t, want[0], string(objectOf(answer["error"])["code"]), body)
		x.recordRegistration()
		for _, id := range []string{"P-REG-01", "P-FRM-03"} {
			assert.Equal(t, Fail, x.findings[id].Verdict, id)
			assert.Equal(t, want[1], x.findings[id].Detail)
		}
		assert.Contains(t, x.findings["P-REG-09"].Detail, "; it calls "+want[1])
	}
}

// The kit's manager has the paths of a manager. An agent that registers at another one finds that out, and so
// does its author.
func TestRegistrationAtAnotherPathIsAFinding(t *testing.T) {
	x := openTestManager(t, "http://127.0.0.1:8101/mcp")
	url := strings.TrimSuffix(x.manager.url, "/mcp") + "/register"
	status, answer := postTo(t, url, `{"display_name":"Alpha","endpoint":"http://localhost:8101/mcp"}`)
	assert.Equal(t, http.StatusNotFound, status)
	assert.Empty(t, answer)
	status, _ = postTo(t, url, `{"jsonrpc":"2.0","method":"register_player","params":{"message_type":"LEAGUE_REGISTER_REQUEST","player_meta":{"contact_endpoint":"http://localhost:8101/mcp"}},"id":1}`)
	assert.Equal(t, http.StatusNotFound, status)
	assert.False(t, x.manager.wait(t.Context(), time.Nanosecond))
	x.recordRegistration()
	for _, id := range []string{"P-REG-01", "P-FRM-03"} {
		f := x.findings[id]
		assert.Equal(t, Fail, f.Verdict, id)
		assert.Equal(t, "POST /register instead of POST /mcp", f.Detail)
		assert.Equal(t, url, f.Exchanges[0].To)
		assert.Equal(t, http.StatusNotFound, f.Exchanges[0].Status)
	}
	assert.Contains(t, x.findings["P-REG-09"].Detail, "within 0s; it calls POST /register instead of POST /mcp")
}
