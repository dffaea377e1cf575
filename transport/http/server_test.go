package http_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
	carrier "evenodd/transport/http"
	"evenodd/transport/pipenet"
)

// An exchange is an HTTP response.
type exchange struct {
	status int
	header http.Header
	body   string
}

// send makes a plain HTTP request and reads the whole answer. The request offers to keep its
// connection: the server then reads the rest of a small body before it answers. Otherwise it
// closes the connection half a second after its answer, and a slow machine may lose that answer.
func send(t *testing.T, method, url string, body io.Reader, header http.Header) exchange {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, url, body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	for name, values := range header {
		request.Header[name] = values
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	carrier := &http.Transport{}
	defer carrier.CloseIdleConnections()
	response, err := carrier.RoundTrip(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return exchange{response.StatusCode, response.Header, string(answer)}
}

func TestServerAnswersPosts(t *testing.T) {
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody})
	for _, tt := range []struct{ name, body, want string }{
		{"a call", `{"jsonrpc":"2.0","method":"echo","params":{"Text":"hi"},"id":"a"}`, `{"jsonrpc":"2.0","result":{"Text":"hi"},"id":"a"}`},
		{"a batch", `[{"jsonrpc":"2.0","method":"echo","params":{"Text":"hi"},"id":1}]`, `[{"jsonrpc":"2.0","result":{"Text":"hi"},"id":1}]`},
		{"a method that does not exist", `{"jsonrpc":"2.0","method":"no","id":1}`,
			`{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`},
		{"no JSON", `hello`, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}`},
		{"nothing", ``, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}`},
		{"a notification", `{"jsonrpc":"2.0","method":"echo","params":{}}`, ``},
		{"a batch of notifications", `[{"jsonrpc":"2.0","method":"echo","params":{}}]`, ``},
	} {
		for length, body := range map[string]io.Reader{
			"":                    strings.NewReader(tt.body),
			", of unknown length": io.MultiReader(strings.NewReader(tt.body)),
		} {
			t.Run(tt.name+length, func(t *testing.T) {
				got := send(t, http.MethodPost, base+"/mcp", body, nil)
				assert.Equal(t, tt.want, got.body)
				if tt.want == "" {
					assert.Equal(t, http.StatusNoContent, got.status)
				} else {
					assert.Equal(t, http.StatusOK, got.status)
					assert.Equal(t, "application/json", got.header.Get("Content-Type"))
				}
			})
		}
	}
}

func TestServerRoutes(t *testing.T) {
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, Mounts: []carrier.Mount{carrier.Health(nil)}})
	const allowed = `{"jsonrpc":"2.0","method":"echo","params":{"Text":"hi"},"id":1}`
	for _, tt := range []struct {
		name, method, path string
		status             int
		allow              string
	}{
		{"POST of a call", http.MethodPost, "/mcp", http.StatusOK, ""},
		{"GET of the path of calls", http.MethodGet, "/mcp", http.StatusMethodNotAllowed, "POST"},
		{"PUT", http.MethodPut, "/mcp", http.StatusMethodNotAllowed, "POST"},
		{"DELETE", http.MethodDelete, "/mcp", http.StatusMethodNotAllowed, "POST"},
		{"GET of the health", http.MethodGet, "/healthz", http.StatusOK, ""},
		{"POST of the health", http.MethodPost, "/healthz", http.StatusMethodNotAllowed, "GET, HEAD"},
		{"a path below", http.MethodPost, "/mcp/", http.StatusNotFound, ""},
		{"the root", http.MethodPost, "/", http.StatusNotFound, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := send(t, tt.method, base+tt.path, strings.NewReader(allowed), nil)
			assert.Equal(t, tt.status, got.status)
			assert.Equal(t, tt.allow, got.header.Get("Allow"))
		})
	}
}

func TestHealth(t *testing.T) {
	for _, tt := range []struct {
		name   string
		health func() any
		status int
		want   string
	}{
		{"by default", nil, http.StatusOK, `{"status":"ok"}` + "\n"},
		{"of the agent", func() any { return map[string]any{"status": "ok", "role": "player"} }, http.StatusOK, `{"role":"player","status":"ok"}` + "\n"},
		{"that cannot be encoded", func() any { return func() {} }, http.StatusInternalServerError, "no health\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, Mounts: []carrier.Mount{carrier.Health(tt.health)}})
			got := send(t, http.MethodGet, base+"/healthz", nil, nil)
			assert.Equal(t, tt.status, got.status)
			assert.Equal(t, tt.want, got.body)
			if tt.status == http.StatusOK {
				assert.Equal(t, "application/json", got.header.Get("Content-Type"))
			}
		})
	}
}

func TestOnlyBearerSchemeIsRead(t *testing.T) {
	base, _ := start(t, serving(map[string]handler{
		"who": func(_ context.Context, bearer string, _ *text) (any, error) { return bearer, nil },
	}), carrier.Config{MaxBody: maxBody})
	for _, tt := range []struct {
		name   string
		header http.Header
		want   string
	}{
		{"none", nil, ""},
		{"a bearer", http.Header{"Authorization": {"Bearer tok-1"}}, "tok-1"},
		{"the scheme in lower case", http.Header{"Authorization": {"bearer tok-1"}}, "tok-1"},
		{"another scheme", http.Header{"Authorization": {"Basic dXNlcjpwYXNz"}}, ""},
		{"no scheme", http.Header{"Authorization": {"tok-1"}}, ""},
		{"the scheme alone", http.Header{"Authorization": {"Bearer"}}, ""},
		{"the scheme with an empty credential", http.Header{"Authorization": {"Bearer "}}, ""},
		{"a scheme that begins like it", http.Header{"Authorization": {"BearerX tok-1"}}, ""},
		{"another header", http.Header{"X-Auth-Token": {"tok-1"}, "Proxy-Authorization": {"Bearer tok-1"}, "Cookie": {"bearer=tok-1"}}, ""},
		{"the address", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := send(t, http.MethodPost, base+"/mcp?access_token=tok-1",
				strings.NewReader(`{"jsonrpc":"2.0","method":"who","params":{"access_token":"tok-1"},"id":1}`), tt.header)
			assert.Equal(t, `{"jsonrpc":"2.0","result":"`+tt.want+`","id":1}`, got.body)
		})
	}
}

// tooLarge is the error for a large request.
func tooLarge(_ context.Context, limit int64) error {
	type data struct {
		ErrorCode string `json:"error_code"`
		Limit     int64  `json:"limit"`
	}
	return &transport.Error{Code: 23, Message: "MESSAGE_TOO_LARGE", Data: data{"E023", limit}}
}

// callOf is a call of echo whose body has the given number of bytes.
func callOf(bytes int) string {
	const head, tail = `{"jsonrpc":"2.0","method":"echo","params":{"Text":"`, `"},"id":1}`
	return head + strings.Repeat("x", bytes-len(head)-len(tail)) + tail
}

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	const (
		small = 1000
		large = 5000
	)
	refusal := func(limit string) string {
		return `{"jsonrpc":"2.0","error":{"code":23,"message":"MESSAGE_TOO_LARGE","data":{"error_code":"E023","limit":` + limit + `}},"id":null}`
	}
	bearer := http.Header{"Authorization": {"Bearer tok-1"}}
	trusts := identify("tok-1")
	plain := carrier.Config{MaxBody: small, TooLarge: tooLarge}
	trusting := carrier.Config{MaxBody: small, MaxBearerBody: large, Identify: trusts, TooLarge: tooLarge}
	for _, tt := range []struct {
		name    string
		config  carrier.Config
		bytes   int
		header  http.Header
		refused string // "" when it is answered
	}{
		{"at the limit", plain, small, nil, ""},
		{"over the limit", plain, small + 1, nil, refusal("1000")},
		{"far over the limit", plain, 100_000, nil, refusal("1000")},
		{"over the limit, plain text", carrier.Config{MaxBody: small}, small + 1, nil, "the request is too large\n"},
		{"a bearer's own limit", trusting, large, bearer, ""},
		{"over a bearer's own limit", trusting, large + 1, bearer, refusal("5000")},
		{"a bearer's limit without a bearer", trusting, small + 1, nil, refusal("1000")},
		{"another credential", trusting, small + 1, http.Header{"Authorization": {"Basic dXNl"}}, refusal("1000")},
		{"another bearer", trusting, small + 1, http.Header{"Authorization": {"Bearer tok-2"}}, refusal("1000")},
		{"a bearer's limit if no bearer is trusted", carrier.Config{MaxBody: small, MaxBearerBody: large, TooLarge: tooLarge}, small + 1, bearer, refusal("1000")},
		{"a bearer without a limit of its own", plain, small + 1, bearer, refusal("1000")},
		{"a smaller limit of a bearer is ignored", carrier.Config{MaxBody: large, MaxBearerBody: small, Identify: trusts, TooLarge: tooLarge}, large, bearer, ""},
	} {
		base, _ := start(t, serving(nil), tt.config)
		for name, body := range map[string]io.Reader{
			"":                    strings.NewReader(callOf(tt.bytes)),
			", of unknown length": io.MultiReader(strings.NewReader(callOf(tt.bytes))),
		} {
			t.Run(tt.name+name, func(t *testing.T) {
				got := send(t, http.MethodPost, base+"/mcp", body, tt.header)
				if tt.refused == "" {
					assert.Equal(t, http.StatusOK, got.status)
					assert.Contains(t, got.body, `"result":{"Text":"xxx`)
					return
				}
				assert.Equal(t, http.StatusRequestEntityTooLarge, got.status)
				assert.Equal(t, tt.refused, got.body)
			})
		}
	}
}

func TestClientReadsTheRefusalOfALargeBody(t *testing.T) {
	t.Parallel()
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, TooLarge: tooLarge})
	client := newClient(t, nil)
	_, err := say(context.Background(), client, base+"/mcp", "echo", strings.Repeat("x", maxBody))
	var refused *transport.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, 23, refused.Code)
	assert.Equal(t, "MESSAGE_TOO_LARGE", refused.Message)
	assert.JSONEq(t, `{"error_code":"E023","limit":10240}`, fmt.Sprint(refused.Data))

	answer, err := say(context.Background(), client, base+"/mcp", "echo", "hi")
	require.NoError(t, err, "the next call succeeds")
	require.Equal(t, "hi", answer)
}

// A dialectFunc is a dialect made of one function.
type dialectFunc func(ctx context.Context, from netip.Addr, body []byte, serve carrier.Serve) []byte

func (f dialectFunc) Serve(ctx context.Context, from netip.Addr, _ string, body []byte, serve carrier.Serve) (
	int, transport.Answer,
) {
	return http.StatusOK, transport.Answer{Body: f(ctx, from, body, serve)}
}

// A dialect may call serve after it has returned its response.
func TestDialectMayCallAfterItsResponse(t *testing.T) {
	asked := make(chan string, 1)
	late := func(ctx context.Context, _ netip.Addr, body []byte, serve carrier.Serve) []byte {
		go func() { asked <- string(serve(context.WithoutCancel(ctx), body).Body) }()
		return serve(ctx, body).Body
	}
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, Dialect: dialectFunc(late)})
	assert.Equal(t, echoed, send(t, http.MethodPost, base+"/mcp", strings.NewReader(say1), nil).body)
	assert.Equal(t, echoed, <-asked)
}

// A request to a path of the dialect needs neither a body nor a Content-Type. The path of
// the protocol needs both.
func TestThirdPartyPathNeedsNoBody(t *testing.T) {
	with := func(config carrier.Config) func(path string, body string, kind []string) int {
		base, _ := start(t, serving(nil), config)
		return func(path, body string, kind []string) int {
			return send(t, http.MethodPost, base+path, strings.NewReader(body), http.Header{"Content-Type": kind}).status
		}
	}
	empty := func(context.Context, netip.Addr, []byte, carrier.Serve) []byte { return []byte(`{}`) }
	ask := with(carrier.Config{MaxBody: maxBody, Dialect: dialectFunc(empty)})
	assert.Equal(t, http.StatusOK, ask("/create_schedule", "", nil))
	assert.Equal(t, http.StatusUnsupportedMediaType, ask("/create_schedule", "{}", nil))
	assert.Equal(t, http.StatusUnsupportedMediaType, ask("/create_schedule", "", []string{"text/plain"}))
	assert.Equal(t, http.StatusUnsupportedMediaType, ask("/mcp", "", nil))
	assert.Equal(t, http.StatusUnsupportedMediaType, ask("/MCP", "", nil))
	plain := with(carrier.Config{MaxBody: maxBody})
	assert.Equal(t, http.StatusNotFound, plain("/create_schedule", "", nil))
}

func TestDialectIsToldTheAddressOfTheCaller(t *testing.T) {
	var caller netip.Addr
	record := func(_ context.Context, from netip.Addr, _ []byte, _ carrier.Serve) []byte {
		caller = from
		return []byte(`{}`)
	}
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, Dialect: dialectFunc(record)})
	send(t, http.MethodPost, base+"/mcp", strings.NewReader(`{}`), nil)
	assert.True(t, caller.IsLoopback())
}

func TestTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil) // for its certificate, which is one of example.com
	certified.Close()
	roots := x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen("example.com:80")
		limits := carrier.Limits{Conns: 8}
		server := carrier.NewServer(waitingMux(), carrier.Config{MaxBody: maxBody, TLS: certified.TLS, Limits: limits})
		run(t, server, l)
		calls := func(roots *x509.CertPool, endpoint string) (*transport.Timing, error) {
			client := carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply, Roots: roots, Dial: slowDialer(l.Dial, second)})
			defer client.Close()
			_, timing, err := client.Call(t.Context(), transport.Request{Endpoint: endpoint, Method: "wait", Params: &text{"2s"}, Decode: textOf})
			timing.Departed, timing.Body = time.Time{}, nil
			return timing, err
		}
		const endpoint = "https://example.com:80/mcp"
		for range 10 { // more than there are places: each gives its own back
			timing, err := calls(roots, endpoint)
			require.NoError(t, err)
			require.Equal(t, &transport.Timing{Connecting: second, Waiting: 2 * second}, timing)

			timing, err = calls(nil, endpoint)
			require.ErrorContains(t, err, "signed by unknown authority; --tls-ca names one to trust")
			require.Equal(t, &transport.Timing{Connecting: second}, timing, "the handshake has begun")

			_, err = calls(roots, "http://example.com:80/mcp")
			require.EqualError(t, err, "HTTP 400 Bad Request: the server needs HTTPS: call it by https://")
		}
		browser := &http.Transport{DialContext: l.Dial, TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com:80/", nil)
		require.NoError(t, err)
		page, err := browser.RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, page.Body.Close())
		require.Equal(t, "same-origin", page.Header.Get("Cross-Origin-Opener-Policy"))
	})
}

// A standby, and a leader that loses the right to answer while it works, send their callers elsewhere.
func TestServerThatMayNotAnswerSendsCallersElsewhere(t *testing.T) {
	var open atomic.Bool
	mux := serving(map[string]handler{"close": func(context.Context, string, *text) (any, error) {
		open.Store(false)
		return &text{"secret"}, nil
	}})
	mux.Gate(open.Load)
	base, _ := start(t, mux, carrier.Config{MaxBody: maxBody, Mounts: []carrier.Mount{carrier.Ready(mux.Open)}})
	for _, opened := range []bool{false, true} {
		open.Store(opened)
		ready := send(t, http.MethodGet, base+"/readyz", nil, nil).status
		assert.Equal(t, map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[opened], ready)
		got := send(t, http.MethodPost, base+carrier.Path, strings.NewReader(`{"jsonrpc":"2.0","method":"close","params":{},"id":1}`), nil)
		assert.Equal(t, http.StatusServiceUnavailable, got.status)
		assert.Equal(t, "1", got.header.Get("Retry-After"))
		assert.NotContains(t, got.body, "secret")
	}
}
