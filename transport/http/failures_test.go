package http_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
	carrier "evenodd/transport/http"
	"evenodd/transport/pipenet"
)

// thirdParty serves any handler in virtual time.
func thirdParty(t *testing.T, h http.HandlerFunc) *pipenet.Listener {
	t.Helper()
	l := pipenet.Listen("agent.test:80")
	serveOn(t, l, h)
	return l
}

func TestRetryAfterIsRead(t *testing.T) {
	const refusal = `{"jsonrpc":"2.0","error":{"code":22,"message":"RATE_LIMITED"},"id":null}`
	for _, tt := range []struct {
		name   string
		status int
		said   string
		body   string
		want   time.Duration
	}{
		{"seconds", 429, "7", "", 7 * time.Second},
		{"seconds of a server that is down", 503, "7", "", 7 * time.Second},
		{"a date", 429, "Sat, 01 Jan 2000 00:01:30 GMT", "", 90 * time.Second},
		{"a date that has passed", 429, "Fri, 31 Dec 1999 23:00:00 GMT", "", 0},
		{"a date far away", 429, "Sat, 01 Jan 2000 01:00:00 GMT", "", 10 * time.Minute},
		{"too many seconds", 429, "9223372036854775807", "", 10 * time.Minute},
		{"seconds that overflow", 429, "99999999999999999999", "", 0},
		{"negative seconds", 429, "-7", "", 0},
		{"words", 429, "later", "", 0},
		{"nothing", 429, "", "", 0},
		{"another status", 500, "7", "", 0},
		{"an error beside it", 429, "7", refusal, 7 * time.Second},
		{"an error alone", 429, "", refusal, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // from the beginning of the year 2000
				l := thirdParty(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", tt.said)
					w.WriteHeader(tt.status)
					_, _ = io.WriteString(w, tt.body)
				})
				_, err := say(t.Context(), newClient(t, l.Dial), pipeEndpoint, "echo", "")
				var e *transport.CallError
				require.ErrorAs(t, err, &e)
				require.Equal(t, []any{tt.status, tt.want}, []any{e.Status, e.After})
				answered, _ := errors.AsType[*transport.Error](err)
				if tt.body == "" {
					require.Equal(t, transport.Refused, e.Kind)
					require.Nil(t, answered)
				} else {
					require.Equal(t, transport.Failed, e.Kind)
					require.Equal(t, &transport.Error{Code: 22, Message: "RATE_LIMITED"}, answered)
				}
			})
		})
	}
}

func TestServerWithoutTLSCalledByHTTPS(t *testing.T) {
	endpoint := serveHandler(t, func(http.ResponseWriter, *http.Request) {})
	_, err := say(context.Background(), newClient(t, nil), strings.Replace(endpoint, "http:", "https:", 1), "join", "")
	require.ErrorIs(t, err, http.ErrSchemeMismatch)
	require.True(t, protocol.Foreign(err))
}

func TestCertificateThatIsNotTrustedIsForeign(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	known := x509.NewCertPool()
	known.AddCert(server.Certificate())
	for _, tt := range []struct {
		name, host string
		roots      *x509.CertPool
		want       string
	}{
		{"of an unknown authority", "127.0.0.1", x509.NewCertPool(), "unknown authority; --tls-ca names one to trust"},
		{"of another host", "localhost", known, "not localhost"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := carrier.NewClient(carrier.ClientConfig{MaxReply: 1 << 10, Roots: tt.roots})
			t.Cleanup(client.Close)
			_, err := say(t.Context(), client, strings.Replace(server.URL, "127.0.0.1", tt.host, 1), "join", "")
			require.ErrorContains(t, err, tt.want)
			require.True(t, protocol.Foreign(err))
		})
	}
}

// The answer of another program stays what it is. An agent that is down, busy or killed may answer later.
func TestAnswersOfOtherProgramsAreForeign(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		foreign      bool
	}{
		{"no such path", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", true},
		{"no such method", "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n", true},
		{"files alone, as python -m http.server", "HTTP/1.0 501 Unsupported method ('POST')\r\nContent-Type: text/html\r\n\r\n", true},
		{"a redirect", "HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", true},
		{"a password", `HTTP/1.1 401 Unauthorized` + "\r\nContent-Length: 16\r\n\r\n" + `{"error":"token"}`, true},
		{"a page", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>", true},
		{"other JSON", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n" + `{"ok":true}`, true},
		{"SSH", "SSH-2.0-OpenSSH_9.2\r\n", true},
		{"a file of a megabyte", "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n", true},

		{"nothing", "", false},
		{"half an answer", "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{", false},
		{"half a status", "HTTP/1.", false},
		{"a busy server", "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n", false},
		{"an error inside", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", false},
		{"a gateway whose agent is down", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>", false},
		{"a manager that stands by", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", false},
		{"an error of an agent", "HTTP/1.1 400 Bad Request\r\n\r\n" + `{"error":{"code":7,"message":"no"},"id":1}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := say(t.Context(), newClient(t, nil), truncatedServer(t, tt.answer), "join", "")
			require.Error(t, err)
			require.Equal(t, tt.foreign, protocol.Foreign(err), "%v", err)
		})
	}
}

func TestEndlessHeaderIsNotRead(t *testing.T) {
	endpoint := truncatedServer(t, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 70<<10)+"\r\nContent-Length: 0\r\n\r\n")
	_, err := say(context.Background(), newClient(t, nil), endpoint, "join", "")
	require.ErrorContains(t, err, "header")
}

func TestLocalFailures(t *testing.T) {
	for _, missing := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL} {
		t.Run(missing.Error(), func(t *testing.T) {
			client := newClient(t, failingDialer(func(context.Context) error {
				return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", missing)}
			}))
			_, err := say(context.Background(), client, pipeEndpoint, "join", "")
			require.Equal(t, transport.Local, transport.KindOf(err))
			require.ErrorIs(t, err, missing)
			require.NotEqual(t, transport.Unreachable, transport.KindOf(err))
		})
	}
}

func TestForbiddenAddresses(t *testing.T) {
	base, l := start(t, serving(nil), carrier.Config{MaxBody: maxBody})
	var asked []netip.Addr
	client := func(allowed bool) *carrier.Client {
		c := carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply, Allow: func(a netip.Addr) bool {
			asked = append(asked, a)
			return allowed
		}})
		t.Cleanup(c.Close)
		return c
	}
	loopback := netip.MustParseAddr("127.0.0.1")
	t.Run("one that is", func(t *testing.T) {
		_, err := say(context.Background(), client(false), base+"/mcp", "echo", "hi")
		require.Equal(t, &transport.CallError{Kind: transport.Forbidden, Endpoint: base + "/mcp", Address: loopback}, err)
		require.NotEqual(t, transport.Unreachable, transport.KindOf(err))
		require.EqualError(t, err, base+"/mcp is at 127.0.0.1, an address that must not be called")
	})
	t.Run("one in other clothes", func(t *testing.T) {
		port := l.Addr().(*net.TCPAddr).AddrPort().Port()
		endpoint := "http://" + netip.AddrPortFrom(netip.MustParseAddr("::ffff:127.0.0.1"), port).String() + "/mcp"
		_, err := say(context.Background(), client(false), endpoint, "echo", "hi")
		require.Equal(t, &transport.CallError{Kind: transport.Forbidden, Endpoint: endpoint, Address: loopback}, err)
	})
	require.Zero(t, l.accepted.Load(), "no connection was made")
	t.Run("one that is not", func(t *testing.T) {
		answer, err := say(context.Background(), client(true), base+"/mcp", "echo", "hi")
		require.NoError(t, err)
		require.Equal(t, "hi", answer)
	})
	require.Equal(t, []netip.Addr{loopback, loopback, loopback}, asked)
}

// A slow endpoint has a bounded number of connections. Only calls to the same endpoint wait
// for one of them.
func TestSlowEndpointDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := thirdParty(t, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Second)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":{"Text":"hi"},"id":1}`)
		})
		client := carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply, MaxConns: 2, Dial: slow.Dial})
		t.Cleanup(client.Close)
		start := time.Now()
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				answer, err := say(t.Context(), client, pipeEndpoint, "echo", "hi")
				answered(t, "hi", answer, err)
			})
		}
		all.Wait()
		require.Equal(t, 3*time.Second, time.Since(start), "two at a time")
		require.Equal(t, 2, slow.Accepted())
	})
}
