package http_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
	carrier "evenodd/transport/http"
)

// Only a trusted proxy names the address of a caller: the last one in the header that is not of such a proxy. The
// address is sure if no other proxy is between.
func TestCallerBehindATrustedProxy(t *testing.T) {
	loopback, inner := netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8")
	for _, tt := range []struct {
		name      string
		trusted   []netip.Prefix
		forwarded []string
		want      string
	}{
		{"no proxy", nil, nil, "127.0.0.1 127.0.0.1 127.0.0.1"},
		{"no trusted proxy", nil, []string{"203.0.113.7"}, "127.0.0.1 127.0.0.1 -"},
		{"a proxy that is not trusted", []netip.Prefix{inner}, []string{"203.0.113.7"}, "127.0.0.1 127.0.0.1 -"},
		{"a trusted proxy", []netip.Prefix{loopback}, []string{"203.0.113.7"}, "203.0.113.7 203.0.113.7 203.0.113.7"},
		{"without the header", []netip.Prefix{loopback}, nil, "127.0.0.1 127.0.0.1 -"},
		{"an address that the caller made up", []netip.Prefix{loopback}, []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7 203.0.113.7 203.0.113.7"},
		{"in a header of its own", []netip.Prefix{loopback}, []string{"198.51.100.1", "203.0.113.7"}, "203.0.113.7 203.0.113.7 203.0.113.7"},
		{"two proxies", []netip.Prefix{loopback, inner}, []string{"203.0.113.7, 10.1.2.3"}, "203.0.113.7 203.0.113.7 203.0.113.7"},
		{"only proxies", []netip.Prefix{loopback, inner}, []string{"10.1.2.4, 10.1.2.3"}, "127.0.0.1 127.0.0.1 -"},
		{"no address", []netip.Prefix{loopback}, []string{"203.0.113.7, unknown"}, "127.0.0.1 127.0.0.1 -"},
		{"IPv6", []netip.Prefix{loopback}, []string{"2001:db8:0:1::7"}, "2001:db8:0:1:: 2001:db8:0:1::7 2001:db8:0:1::7"},
		{"with a port", []netip.Prefix{loopback}, []string{"[2001:db8:0:1::7]:4711"}, "2001:db8:0:1:: 2001:db8:0:1::7 2001:db8:0:1::7"},
		{"IPv4-mapped", []netip.Prefix{loopback}, []string{"::ffff:203.0.113.7"}, "203.0.113.7 203.0.113.7 203.0.113.7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			mux := serving(map[string]handler{"echo": func(ctx context.Context, _ string, m *text) (any, error) {
				sure := "-"
				if a := carrier.SureAddress(ctx); a.IsValid() {
					sure = a.String()
				}
				got = carrier.CallerAddress(ctx).String() + " " + carrier.RemoteAddress(ctx).String() + " " + sure
				return m, nil
			}})
			base, _ := start(t, mux, carrier.Config{MaxBody: maxBody, TrustedProxies: tt.trusted})
			answer := send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), http.Header{"X-Forwarded-For": tt.forwarded})
			assert.Equal(t, http.StatusOK, answer.status)
			assert.Equal(t, tt.want, got)
		})
	}
}

// Callers behind a trusted proxy have limits of their own, also for mounts, and the proxy may have any number of
// connections.
func TestCallersBehindATrustedProxyShareNoLimit(t *testing.T) {
	limits := transport.Limits{ConnsPerAddress: 2, Rate: 1e-6, Burst: 2}
	quota := carrier.NewQuota(limits, carrier.StreamLimits{})
	page := carrier.Mount{Pattern: "GET /page", Quota: quota, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, Limits: limits, Mounts: []carrier.Mount{page},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	for _, path := range []string{"POST " + carrier.Path, "GET /page"} {
		method, path, _ := strings.Cut(path, " ")
		ask := func(from string) int {
			body := ""
			if method == http.MethodPost {
				body = say1
			}
			return send(t, method, base+path, strings.NewReader(body), http.Header{"X-Forwarded-For": {from}}).status
		}
		assert.Equal(t, []int{200, 200, 429, 200}, []int{ask("203.0.113.7"), ask("203.0.113.7"), ask("203.0.113.7"), ask("203.0.113.8")})
		assert.Equal(t, http.StatusTooManyRequests, ask("203.0.113.9, 203.0.113.7"), "who makes up an address gains nothing")
	}
	var open []net.Conn
	for range 4 {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
		require.NoError(t, err)
		defer func() { _ = c.Close() }() // the server may have closed it
		open = append(open, c)
	}
	for i, c := range open { // none was closed for another one
		_, err := fmt.Fprintf(c, "GET /page HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 203.0.113.1%d\r\n\r\n", i)
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err = c.Read(make([]byte, 10))
		require.NoError(t, err)
	}
}

// A client knows the addresses to which it has connected, not those at which nothing listens.
func TestClientKnowsTheAddressesThatItReached(t *testing.T) {
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody})
	client := carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply})
	defer client.Close()
	hostPort := strings.TrimPrefix(base, "http://")
	assert.Empty(t, client.Reached(hostPort))
	_, _, err := client.Call(t.Context(), transport.Request{Endpoint: base + carrier.Path, Method: "echo", Params: &text{"hi"}, Decode: textOf})
	require.NoError(t, err)
	assert.Equal(t, []netip.Addr{netip.MustParseAddr("127.0.0.1")}, client.Reached(hostPort))
	gone := loopback(t)
	require.NoError(t, gone.Close())
	_, _, err = client.Call(t.Context(), transport.Request{Endpoint: "http://" + gone.Addr().String() + carrier.Path, Method: "echo", Params: &text{"hi"}, Decode: textOf})
	require.Error(t, err)
	assert.Empty(t, client.Reached(gone.Addr().String()))
}
