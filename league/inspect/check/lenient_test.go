package check_test

import (
	"bytes"
	"net"
	nethttp "net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"

	"evenodd/league/inspect/check"
)

// These agents keep to the protocol in their own way: JSON over many lines, unknown
// members, times with fractions and +00:00, errors with HTTP status 400, and a connection
// for each call.

var whole = regexp.MustCompile(`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z`)

// otherwise changes an answer, and its status.
func otherwise(w nethttp.ResponseWriter, status *int, body []byte) []byte {
	w.Header().Set("Connection", "close")
	if len(bytes.TrimSpace(body)) == 0 {
		return body
	}
	if bytes.Contains(body, []byte(`"error":{"code"`)) && bytes.HasPrefix(body, []byte("{")) {
		*status = nethttp.StatusBadRequest
	}
	body = whole.ReplaceAll(body, []byte("$1.123456+00:00"))
	body = bytes.ReplaceAll(body, []byte(`"message_type"`), []byte(`"x_comment":{"by":["somebody",null]},"message_type"`))
	spread := jsontext.Value(body)
	if spread.Indent(jsontext.WithIndent("  ")) != nil {
		return body
	}
	return append(spread, '\n')
}

func TestPlayerWithUnusualValidJSONConforms(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		m.bytes = otherwise
		m.first = func(w nethttp.ResponseWriter, _ *nethttp.Request, _ []byte) bool {
			w.Header().Set("Connection", "close")
			return false
		}
		r := examine(n, m)
		assert.Empty(n, verdicts(r, check.Fail, check.Skipped))
		assert.Equal(n, map[string]string{"P-HTTP-03": "HTTP status 400"}, verdicts(r, check.Warn))
		assert.True(n, r.Conforms())
	})
}

func TestPlayerThatLimitsTheRateOfCallsConforms(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		var calls, refused atomic.Int64
		m.first = func(w nethttp.ResponseWriter, _ *nethttp.Request, _ []byte) bool {
			if calls.Add(1)%10 != 0 {
				return false
			}
			refused.Add(1)
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(nethttp.StatusTooManyRequests)
			return true
		}
		r := examine(n, m, func(o *check.Options) {
			o.Selection.Only = []string{"P-RPC", "P-INV", "P-CHO", "P-OVR", "P-NOT", "P-LOAD"}
		})
		assert.Empty(n, verdicts(r, check.Fail, check.Warn, check.Skipped))
		assert.Positive(n, refused.Load())
	})
}

// post sends a body to the kit's manager, and returns the answer; none if the examination ends before.
func post(n *network, url, body string) (status int, answer object) {
	n.Helper()
	q, err := nethttp.NewRequestWithContext(n.Context(), nethttp.MethodPost, url, strings.NewReader(body))
	if !assert.NoError(n, err) {
		return 0, nil
	}
	q.Header.Set("Content-Type", "application/json")
	r, err := n.client().Do(q)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = r.Body.Close() }()
	_ = json.UnmarshalRead(r.Body, &answer) // nil if it is no JSON
	return r.StatusCode, answer
}

// whileItWaits talks to the kit's manager while the kit waits for a player to register.
func whileItWaits(t *testing.T, talk func(n *network, manager net.Listener, player string), judge func(*network, *check.Report)) {
	t.Helper()
	inVirtualTime(t, func(n *network) {
		manager, player := n.open(), n.serve(newModel(n))
		talked := make(chan struct{})
		go func() {
			defer close(talked)
			talk(n, manager, player)
		}()
		r := n.check(check.Options{
			Role: check.Player, URL: player, Listener: manager, Wait: time.Second,
			Selection: check.Selection{Only: []string{"P-REG", "P-FRM-03"}},
		})
		<-talked
		judge(n, r)
	})
}

func TestPlayerThatRegistersAnotherPortIsRejected(t *testing.T) {
	whileItWaits(t, func(n *network, manager net.Listener, _ string) {
		registration := (&model{id: "P03"}).registration("http://localhost:9999/mcp")
		_, answer := post(n, urlOf(manager), string(marshal(registration)))
		assert.Equal(n, "REJECTED", inner(answer, "result")["status"])
		assert.Nil(n, inner(answer, "result")["auth_token"])
	}, func(n *network, r *check.Report) {
		f := finding(n, r, "P-REG-08")
		assert.Equal(n, check.Fail, f.Verdict)
		assert.Equal(n, `contact_endpoint is "http://localhost:9999/mcp", but `+r.URL+` is examined`, f.Detail)
		assert.Contains(n, f.Exchanges[0].Request, "9999")
		assert.Equal(n, check.Skipped, finding(n, r, "P-REG-09").Verdict)
	})
}

// A registration in a third-party form is a registration, and a finding about its form alone.
func TestRegistrationInAThirdPartyFormIsAFindingAboutItsForm(t *testing.T) {
	var own string
	whileItWaits(t, func(n *network, manager net.Listener, player string) {
		own = player
		status, answer := post(n, "http://"+manager.Addr().String()+"/register", `{"display_name":"Alpha","endpoint":"`+own+`"}`)
		assert.Equal(n, 200, status)
		assert.Equal(n, "ACCEPTED", answer["status"])
	}, func(n *network, r *check.Report) {
		assert.Equal(n, "the message without JSON-RPC instead of register_player, members at the top level instead of player_meta, "+
			"POST /register instead of POST /mcp", verdicts(r, check.Warn)["P-FRM-03"])
		for _, id := range []string{"P-REG-04", "P-REG-05", "P-REG-06", "P-REG-07", "P-REG-08"} {
			assert.Empty(n, verdicts(r, check.Fail, check.Warn)[id], id)
		}
	})
}

// The kit's manager answers a call that it cannot read as a manager does, and the author of the agent learns why
// it is not registered.
func TestRegistrationThatNoManagerReadsIsAFinding(t *testing.T) {
	const own = `{"display_name":"Alpha","endpoint":"http://localhost:8101/mcp"}`
	for name, test := range map[string]struct {
		path, body string
		status     int
		code       any
		want       string
	}{
		"method": {"/mcp", `{"jsonrpc":"2.0","method":"join_league","params":{},"id":1}`, 200, -32601.0, "the unknown method join_league"},
		"tool": {"/mcp", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"join_league","arguments":{}},"id":1}`, 200, -32601.0,
			"the unknown method tools/call join_league"},
		"JSON": {"/mcp", own, 200, -32600.0, "JSON without a method and a message_type"},
		"path": {"/join", own, 404, nil, "POST /join instead of POST /mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			whileItWaits(t, func(n *network, manager net.Listener, _ string) {
				for _, harmless := range []string{"ping", "initialize", "tools/list", "get_standings"} {
					status, _ := post(n, urlOf(manager), `{"jsonrpc":"2.0","method":"`+harmless+`","params":{},"id":1}`)
					assert.Equal(n, 200, status)
				}
				status, answer := post(n, "http://"+manager.Addr().String()+test.path, test.body)
				assert.Equal(n, test.status, status)
				assert.Equal(n, test.code, inner(answer, "error")["code"])
			}, func(n *network, r *check.Report) {
				for _, id := range []string{"P-REG-01", "P-FRM-03"} {
					assert.Equal(n, test.want, verdicts(r, check.Fail, check.Warn)[id], id)
				}
				assert.Contains(n, finding(n, r, "P-REG-09").Detail, "within 1s; it calls "+test.want)
			})
		})
	}
}
