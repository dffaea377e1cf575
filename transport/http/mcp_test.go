package http_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	carrier "evenodd/transport/http"
)

// mcpServer answers every request with its body.
func mcpServer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, _ = io.WriteString(w, "MCP "+r.Header.Get("Accept")+" "+string(body))
}

func TestRequestsOfMCPGoToItsServer(t *testing.T) {
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, MCP: http.HandlerFunc(mcpServer)})
	version := http.Header{"Mcp-Protocol-Version": {"2025-11-25"}}
	call := func(method string) string { return `{"jsonrpc":"2.0","method":"` + method + `","params":{},"id":1}` }
	for _, tt := range []struct {
		name, body string
		header     http.Header
		want       bool
	}{
		{"initialize", call("initialize"), nil, true},
		{"tools/list", call("tools/list"), nil, true},
		{"server/discover", call("server/discover"), nil, true},
		{"resources/read", call("resources/read"), nil, true},
		{"prompts/list", call("prompts/list"), nil, true},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, true},
		{"another order of members", `{"id":1,"params":{"a":"b"},"method":"tools/list","jsonrpc":"2.0"}`, nil, true},
		{"tools/call", call("tools/call"), nil, false},
		{"tools/call of an MCP client", call("tools/call"), version, true},
		{"ping", call("ping"), nil, false},
		{"ping of an MCP client", call("ping"), version, true},
		{"a call of the league", say1, nil, false},
		{"an unknown method", call("other/list"), nil, false},
		{"a batch", "[" + call("initialize") + "]", nil, false},
		{"a batch of an MCP client", "[" + call("subscriptions/listen") + "]", version, false},
		{"a method that is repeated", `{"jsonrpc":"2.0","method":"ping","method":"subscriptions/listen","id":1}`, version, false},
		{"no method", `{"jsonrpc":"2.0","Method":"subscriptions/listen","id":1}`, version, false},
		{"no JSON", `{"method":"initialize"`, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := send(t, http.MethodPost, base+carrier.Path, strings.NewReader(tt.body), tt.header)
			if tt.want {
				assert.Equal(t, "MCP application/json, text/event-stream "+tt.body, got.body)
			} else {
				assert.NotContains(t, got.body, "MCP")
			}
		})
	}
}

func TestRequestsOfMCPMayHaveThePathInCapitals(t *testing.T) {
	none := func(context.Context, netip.Addr, []byte, carrier.Serve) []byte { return []byte(`{}`) }
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, MCP: http.HandlerFunc(mcpServer), Dialect: dialectFunc(none)})
	body := `{"jsonrpc":"2.0","method":"tools/list","params":{},"id":1}`
	assert.Contains(t, send(t, http.MethodPost, base+"/MCP", strings.NewReader(body), nil).body, "MCP ")
}

func TestRequestsOfMCPHaveTheGuardsOfTheServer(t *testing.T) {
	t.Parallel()
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, MCP: http.HandlerFunc(mcpServer), Hosts: []string{"agent.example"}})
	for _, body := range []string{say1, `{"jsonrpc":"2.0","method":"tools/list","id":1}`} {
		for name, tt := range map[string]struct {
			header http.Header
			body   string
			want   int
		}{
			"a page of another site":       {http.Header{"Sec-Fetch-Site": {"cross-site"}}, body, http.StatusForbidden},
			"another origin":               {http.Header{"Origin": {"http://evil.example"}}, body, http.StatusForbidden},
			"another host (DNS rebinding)": {http.Header{"Host": {"evil.example"}}, body, http.StatusMisdirectedRequest},
			"no JSON":                      {http.Header{"Content-Type": {"text/plain"}}, body, http.StatusUnsupportedMediaType},
			"a large body":                 {nil, body + strings.Repeat(" ", maxBody), http.StatusRequestEntityTooLarge},
			"a request":                    {nil, body, http.StatusOK},
		} {
			assert.Equal(t, tt.want, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(tt.body), tt.header).status, name)
		}
	}
}

// Streams of updates have slots of their own: they take none from calls, and calls none
// from them.
func TestStreamsTakeNoSlotsOfCalls(t *testing.T) {
	var opened sync.WaitGroup
	base, _ := start(t, serving(nil), carrier.Config{
		MaxBody: maxBody, MCP: streaming(opened.Done), Limits: carrier.Limits{CallsPerAddress: 1},
	})
	ctx, end := context.WithCancel(t.Context())
	const slots = 256
	opened.Add(slots)
	for range slots {
		require.Equal(t, http.StatusOK, open(ctx, t, http.MethodPost, base+carrier.Path, listen).StatusCode)
	}
	opened.Wait()
	assert.Equal(t, echoed, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).body, "a call beside the streams")
	full := open(ctx, t, http.MethodPost, base+carrier.Path, listen)
	assert.Equal(t, http.StatusServiceUnavailable, full.StatusCode, "one stream more")
	assert.Equal(t, "1", full.Header.Get("Retry-After"))
	end()
}

// A client that has stopped reading loses its stream at the deadline of a write.
func TestStreamOfAClientThatDoesNotReadEnds(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, MCP: flooding(ended)})
	open(t.Context(), t, http.MethodPost, base+carrier.Path, listen) // and read nothing
	assert.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
}

// echoing is a handler that returns the body of the request.
func echoing(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	_, _ = w.Write(body)
}

func TestMountsHaveTheGuardsOfTheServer(t *testing.T) {
	t.Parallel()
	t.Run("without a quota", func(t *testing.T) { checkGuards(t, nil) })
	t.Run("with a quota", func(t *testing.T) { checkGuards(t, carrier.NewQuota(carrier.Limits{}, streamLimits)) })
}

// checkGuards checks the guards of a mount.
func checkGuards(t *testing.T, quota *carrier.Quota) {
	t.Helper()
	base, _ := start(t, serving(nil), carrier.Config{
		MaxBody: maxBody, Hosts: []string{"agent.example"},
		Mounts: []carrier.Mount{{Pattern: "/page/", Handler: http.HandlerFunc(echoing), Quota: quota}},
	})
	json := http.Header{"Content-Type": {"application/json"}}
	with := func(name, value string) http.Header {
		h := json.Clone()
		h.Set(name, value)
		return h
	}
	for _, tt := range []struct {
		name, method, body string
		header             http.Header
		want               int
	}{
		{"a page", http.MethodGet, "", nil, http.StatusOK},
		{"JSON", http.MethodPost, `{"a":1}`, json, http.StatusOK},
		{"a form", http.MethodPost, "a=1", with("Content-Type", "application/x-www-form-urlencoded"), http.StatusUnsupportedMediaType},
		{"a large body", http.MethodPost, strings.Repeat(" ", maxBody+1), json, http.StatusRequestEntityTooLarge},
		{"another host (DNS rebinding)", http.MethodGet, "", http.Header{"Host": {"evil.example"}}, http.StatusMisdirectedRequest},
		{"a page of another site", http.MethodPost, "{}", with("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := send(t, tt.method, base+"/page/x", strings.NewReader(tt.body), tt.header)
			assert.Equal(t, tt.want, got.status)
			if tt.want == http.StatusOK {
				assert.Equal(t, tt.body, got.body)
			}
		})
	}
	assert.Equal(t, http.StatusOK, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), json).status, "calls still work")
}

// A monitor would take a busy agent for a dead one.
func TestMountsHaveNoLimitOfCalls(t *testing.T) {
	for name, quota := range map[string]*carrier.Quota{
		"without a quota": nil, "with a quota": carrier.NewQuota(carrier.Limits{}, streamLimits),
	} {
		t.Run(name, func(t *testing.T) {
			base, _ := start(t, serving(nil), carrier.Config{
				MaxBody: maxBody, Limits: carrier.Limits{Rate: 0.001, Burst: 1}, Mounts: []carrier.Mount{page(quota)},
			})
			for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
				assert.Equal(t, want, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).status)
				assert.Equal(t, http.StatusOK, send(t, http.MethodGet, base+"/page", nil, nil).status)
			}
		})
	}
}

// The server tells of requests that look like calls but reach no handler, and of nothing else.
func TestServerTellsOfMisdirectedRequests(t *testing.T) {
	var told []string
	base, _ := start(t, serving(nil), carrier.Config{
		MaxBody: maxBody, Mounts: []carrier.Mount{page(nil)},
		Misdirected: func(_ context.Context, method, path string) { told = append(told, method+" "+path) },
	})
	for _, tt := range []struct{ method, path, body, kind string }{
		{http.MethodPost, "/register", say1, "application/json"},
		{http.MethodPost, "/register", "a=1", "application/x-www-form-urlencoded"},
		{http.MethodPost, "/empty", "", ""},
		{http.MethodPost, "/page", say1, "application/json"},
		{http.MethodPut, carrier.Path, say1, "application/json"},
		{http.MethodPost, carrier.Path, say1, "application/json"}, // a call
		{http.MethodGet, "/page", "", "application/json"},         // a page
		{http.MethodGet, "/favicon.ico", "", ""},
		{http.MethodGet, carrier.Path, "", ""},
		{http.MethodDelete, "/", "", ""},
	} {
		send(t, tt.method, base+tt.path, strings.NewReader(tt.body), http.Header{"Content-Type": {tt.kind}})
	}
	assert.Equal(t, []string{"POST /register", "POST /register", "POST /empty", "POST /page", "PUT /mcp"}, told)
}
