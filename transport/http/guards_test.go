package http_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
	carrier "evenodd/transport/http"
	"evenodd/transport/pipenet"
)

// identify identifies the callers with one of the credentials, as a bearer or anywhere in a body.
func identify(credentials ...string) func(string, []byte) string {
	return func(bearer string, body []byte) string {
		for _, c := range credentials {
			if bearer == c || strings.Contains(string(body), c) {
				return c
			}
		}
		return ""
	}
}

const echoed = `{"jsonrpc":"2.0","result":{"Text":"hi"},"id":1}`

// say1 is a call of echo with the text hi.
const say1 = `{"jsonrpc":"2.0","method":"echo","params":{"Text":"hi"},"id":1}`

func TestOnlyJSONIsAccepted(t *testing.T) {
	refused := func(data string) string {
		return `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request","data":{"detail":"` + data + `"}},"id":null}`
	}
	wrongType, packed := refused("send the body with Content-Type: application/json"), refused("send the body as it is, without Content-Encoding")
	tests := []struct {
		name   string
		header http.Header
		want   string
	}{
		{"JSON", http.Header{"Content-Type": {"application/json"}}, echoed},
		{"JSON with its encoding", http.Header{"Content-Type": {"application/json; charset=utf-8"}}, echoed},
		{"JSON in other letters", http.Header{"Content-Type": {"Application/JSON"}}, echoed},
		{"nothing", http.Header{"Content-Type": nil}, wrongType},
		{"the type of a form", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, wrongType},
		{"text", http.Header{"Content-Type": {"text/plain"}}, wrongType},
		{"another JSON", http.Header{"Content-Type": {"application/json-rpc"}}, wrongType},
		{"an invalid type", http.Header{"Content-Type": {"application/json;;;="}}, wrongType},
		{"compressed", http.Header{"Content-Encoding": {"gzip"}}, packed},
		{"the encoding identity", http.Header{"Content-Encoding": {"identity"}}, echoed},
	}
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := send(t, http.MethodPost, base+"/mcp", strings.NewReader(say1), tt.header)
			assert.Equal(t, tt.want, got.body)
			if tt.want == echoed {
				assert.Equal(t, http.StatusOK, got.status)
			} else {
				assert.Equal(t, http.StatusUnsupportedMediaType, got.status)
			}
		})
	}
}

// DNS rebinding: the name of a web page resolves to this machine, and the page requests it.
func TestRequestsForOtherHostsAreRefused(t *testing.T) {
	const refused = http.StatusMisdirectedRequest
	names := []string{"Agent.Example", "::1"}
	for _, tt := range []struct {
		name  string
		names []string
		host  string
		want  int
	}{
		{"its name", names, "agent.example", http.StatusOK},
		{"its name in capitals, with a port and a dot", names, "AGENT.example.:8101", http.StatusOK},
		{"another of its names", names, "[::1]:8101", http.StatusOK},
		{"the address at which it arrives", names, "", http.StatusOK},
		{"that address with another port", names, "127.0.0.1:1", http.StatusOK},
		{"a forwarded address", names, "192.0.2.1:8101", http.StatusOK},
		{"an address of IPv6", names, "[2001:db8::1]", http.StatusOK},
		{"a link-local address", names, "[fe80::1]:8101", http.StatusOK},
		{"a decimal IPv4 address", names, "2130706433", refused},
		{"part of an address", names, "127.1", refused},
		{"a name that begins like an address", names, "127.0.0.1.evil.example", refused},
		{"another name", names, "evil.example", refused},
		{"a name that begins like its own", names, "agent.example.evil.example", refused},
		{"a name, if the server has none", []string{}, "agent.example", refused},
		{"any name, if all are allowed", nil, "evil.example", http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, Hosts: tt.names, Mounts: []carrier.Mount{carrier.Health(nil)}})
			header := http.Header{}
			if tt.host != "" {
				header.Set("Host", tt.host)
			}
			assert.Equal(t, tt.want, send(t, http.MethodPost, base+"/mcp", strings.NewReader(say1), header).status)
			assert.Equal(t, tt.want, send(t, http.MethodGet, base+"/healthz", nil, header).status)
		})
	}
}

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody})
	for _, tt := range []struct {
		name   string
		header http.Header
		want   int
	}{
		{"no browser", nil, http.StatusOK},
		{"a page of the same site", http.Header{"Sec-Fetch-Site": {"same-origin"}}, http.StatusOK},
		{"a page of another site", http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		{"a page of a sibling site", http.Header{"Sec-Fetch-Site": {"same-site"}}, http.StatusForbidden},
		{"an old browser's page of another site", http.Header{"Origin": {"https://evil.example"}}, http.StatusForbidden},
		{"a page with the origin null", http.Header{"Origin": {"null"}}, http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, send(t, http.MethodPost, base+"/mcp", strings.NewReader(say1), tt.header).status)
		})
	}
}

// An addressedNetwork is a pipe network whose connections have given remote addresses.
type addressedNetwork struct {
	*pipenet.Listener

	mu   sync.Mutex
	from []string // of the next connections; the last stays
}

func (l *addressedNetwork) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.from[0]
	if len(l.from) > 1 {
		l.from = l.from[1:]
	}
	return &addressedConn{c, from}, nil
}

// connectsFrom sets the address of the next connections.
func (l *addressedNetwork) connectsFrom(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.from = []string{address}
}

type addressedConn struct {
	net.Conn

	from string
}

func (c *addressedConn) RemoteAddr() net.Addr { return remote(c.from) }

type remote string

func (remote) Network() string  { return "tcp" }
func (r remote) String() string { return string(r) }

// withLimits runs a test of a server with limits, in virtual time. The connections to it
// have the addresses, in this order.
func withLimits(t *testing.T, config carrier.Config, from []string, test func(t *testing.T, l *addressedNetwork)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &addressedNetwork{Listener: pipenet.Listen("agent.test:80"), from: from}
		config.MaxBody = maxBody
		server := carrier.NewServer(waitingMux(), config)
		var serving sync.WaitGroup
		serving.Go(func() { assert.NoError(t, server.Serve(l)) })
		t.Cleanup(func() {
			ended, cancel := context.WithCancel(context.Background())
			cancel() // cuts off the running calls
			_ = server.Shutdown(ended)
			serving.Wait()
		})
		test(t, l)
	})
}

// A testConn is one connection to the server.
type testConn struct {
	net.Conn

	answers *bufio.Reader
}

func (l *addressedNetwork) connect(t *testing.T) *testConn {
	t.Helper()
	c, err := l.Dial(t.Context(), "tcp", "agent.test:80")
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &testConn{c, bufio.NewReader(c)}
}

// sends posts a call of a method.
func (v *testConn) sends(t *testing.T, method, words string) {
	t.Helper()
	v.posts(t, "", fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"Text":%q},"id":1}`, method, words))
}

// posts sends a body, with a credential unless it is "".
func (v *testConn) posts(t *testing.T, bearer, body string) {
	t.Helper()
	if bearer != "" {
		bearer = "Authorization: Bearer " + bearer + "\r\n"
	}
	_, err := fmt.Fprintf(v, "POST /mcp HTTP/1.1\r\nHost: agent.test\r\nContent-Type: application/json\r\n"+
		"%sContent-Length: %d\r\n\r\n%s", bearer, len(body), body)
	require.NoError(t, err)
}

// receives reads the response: status, Retry-After and body.
func (v *testConn) receives(t *testing.T) (status int, retryAfter, body string) {
	t.Helper()
	response, err := http.ReadResponse(v.answers, nil)
	require.NoError(t, err)
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header.Get("Retry-After"), string(answer)
}

// calls posts say1 and reads the response.
func (v *testConn) calls(t *testing.T) (status int, retryAfter, body string) {
	t.Helper()
	v.posts(t, "", say1)
	return v.receives(t)
}

// callsAs posts a body with a credential, and returns the status of the response.
func (v *testConn) callsAs(t *testing.T, bearer, body string) int {
	t.Helper()
	v.posts(t, bearer, body)
	status, _, _ := v.receives(t)
	return status
}

func TestRateLimit(t *testing.T) {
	for _, tt := range []struct {
		name    string
		limited func(time.Duration) error
		want    string
	}{
		{"error of the protocol", func(wait time.Duration) error {
			return &transport.Error{Code: 22, Message: "RATE_LIMITED", Data: wait.String()}
		}, `{"jsonrpc":"2.0","error":{"code":22,"message":"RATE_LIMITED","data":"1.5s"},"id":null}`},
		{"plain text", nil, "too many requests\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := carrier.Config{RateLimited: tt.limited, Limits: carrier.Limits{Rate: 0.5, Burst: 3}}
			from := []string{"192.0.2.1:1", "192.0.2.2:1"}
			withLimits(t, config, from, func(t *testing.T, l *addressedNetwork) {
				fast, other := l.connect(t), l.connect(t)
				for range 3 {
					require.Equal(t, http.StatusOK, fast.callsAs(t, "", say1))
				}
				time.Sleep(500 * time.Millisecond)
				status, retryAfter, body := fast.calls(t)
				require.Equal(t, http.StatusTooManyRequests, status)
				require.Equal(t, "2", retryAfter, "whole seconds, rounded up")
				require.Equal(t, tt.want, body)

				require.Equal(t, http.StatusOK, other.callsAs(t, "", say1), "another address has its own limit")
				time.Sleep(1500 * time.Millisecond)
				require.Equal(t, http.StatusOK, fast.callsAs(t, "", say1), "the next call succeeds after Retry-After")
			})
		})
	}
}

// The server remembers a bounded number of addresses. An evicted address has its full
// burst again.
func TestLeastRecentlyUsedCallersAreEvicted(t *testing.T) {
	t.Parallel()
	const others = 2*4096 + 2
	config := carrier.Config{Limits: carrier.Limits{Rate: 1e-6, Burst: 1}}
	withLimits(t, config, []string{""}, func(t *testing.T, l *addressedNetwork) {
		status := func(address int) int {
			l.connectsFrom(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(address >> 8), byte(address)}), 1).String())
			v := l.connect(t)
			defer func() { require.NoError(t, v.Close()) }()
			status, _, _ := v.calls(t)
			return status
		}
		require.Equal(t, http.StatusOK, status(0))
		require.Equal(t, http.StatusTooManyRequests, status(0))
		for address := 1; address < others; address++ {
			require.Equal(t, http.StatusOK, status(address))
		}
		require.Equal(t, http.StatusTooManyRequests, status(others-1), "the most recent addresses are remembered")
		require.Equal(t, http.StatusOK, status(0))
	})
}

// A batch counts as the number of its calls.
func TestRateLimitCountsCallsOfABatch(t *testing.T) {
	config := carrier.Config{Limits: carrier.Limits{Rate: 1, Burst: 10}}
	withLimits(t, config, []string{"192.0.2.1:1"}, func(t *testing.T, l *addressedNetwork) {
		v := l.connect(t)
		for _, calls := range []int{5, 8} { // the second is paid for later
			v.posts(t, "", "["+strings.Repeat(say1+",", calls-1)+say1+"]")
			status, _, body := v.receives(t)
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, calls, strings.Count(body, "result"))
		}
		status, retryAfter, _ := v.calls(t)
		require.Equal(t, http.StatusTooManyRequests, status)
		require.Equal(t, "4", retryAfter)
		time.Sleep(4 * time.Second)
		require.Equal(t, http.StatusOK, v.callsAs(t, "", say1))
	})
}

// Only few untrusted callers may send large requests at once: a thousand megabytes are
// too much for an agent's machine. Trusted callers do not wait for them.
func TestFewUntrustedLargeRequestsAtOnce(t *testing.T) {
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: 1 << 20, Identify: identify("manager")})
	large := say1 + strings.Repeat(" ", 11<<10)
	send1 := func(body io.Reader, bearer string) int {
		header := http.Header{}
		if bearer != "" {
			header.Set("Authorization", "Bearer "+bearer)
		}
		return send(t, http.MethodPost, base+"/mcp", body, header).status
	}
	unsized := func() io.Reader { return io.MultiReader(strings.NewReader(large)) }
	require.Equal(t, http.StatusOK, send1(strings.NewReader(large), ""))
	require.Equal(t, http.StatusOK, send1(unsized(), ""))

	rest, end := io.Pipe()
	statuses := make(chan int)
	var sending sync.WaitGroup
	defer sending.Wait()
	for range 3 {
		sending.Go(func() {
			header := http.Header{"Connection": {"close"}} // the server then answers before the end of the body
			statuses <- send(t, http.MethodPost, base+"/mcp", io.MultiReader(strings.NewReader(large), rest), header).status
		})
	}
	require.Equal(t, http.StatusServiceUnavailable, <-statuses, "the third request; the others are being read")
	assert.Equal(t, http.StatusServiceUnavailable, send1(strings.NewReader(large), ""))
	assert.Equal(t, http.StatusServiceUnavailable, send1(unsized(), ""))
	assert.Equal(t, http.StatusOK, send1(strings.NewReader(say1), ""), "a small request is always read")
	assert.Equal(t, http.StatusOK, send1(io.MultiReader(strings.NewReader(say1)), ""), "also without a length")
	assert.Equal(t, http.StatusOK, send1(strings.NewReader(large), "manager"))
	require.NoError(t, end.Close())
	assert.Equal(t, []int{http.StatusOK, http.StatusOK}, []int{<-statuses, <-statuses})
	assert.Equal(t, http.StatusOK, send1(strings.NewReader(large), ""))
}

func TestAddressesThatCountAsOneCaller(t *testing.T) {
	for _, tt := range []struct {
		name, first, second string
		same                bool
	}{
		{"one address", "192.0.2.1:1", "192.0.2.1:2", true},
		{"two addresses", "192.0.2.1:1", "192.0.2.2:1", false},
		{"one address in both families", "192.0.2.1:1", "[::ffff:192.0.2.1]:1", true},
		{"one household", "[2001:db8:0:1::1]:1", "[2001:db8:0:1:ffff::2]:1", true},
		{"two households", "[2001:db8:0:1::1]:1", "[2001:db8:0:2::1]:1", false},
		{"one link", "[fe80::1%eth0]:1", "[fe80::1%eth1]:1", true},
		{"a network without addresses", "pipe", "another", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := carrier.Config{Limits: carrier.Limits{Rate: 1, Burst: 1}}
			withLimits(t, config, []string{tt.first, tt.second}, func(t *testing.T, l *addressedNetwork) {
				first, second := l.connect(t), l.connect(t)
				require.Equal(t, http.StatusOK, first.callsAs(t, "", say1))
				require.Equal(t, tt.same, second.callsAs(t, "", say1) == http.StatusTooManyRequests)
			})
		})
	}
}

func TestTooManyCallsAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits carrier.Limits
		want   int
	}{
		{"of one address", carrier.Limits{CallsPerAddress: 2}, http.StatusTooManyRequests},
		{"of all together", carrier.Limits{Calls: 2}, http.StatusServiceUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withLimits(t, carrier.Config{Limits: tt.limits}, []string{"192.0.2.1:1"}, func(t *testing.T, l *addressedNetwork) {
				busy := []*testConn{l.connect(t), l.connect(t)}
				for _, v := range busy {
					v.sends(t, "wait", "10s")
				}
				synctest.Wait()
				next := l.connect(t)
				status, retryAfter, _ := next.calls(t)
				require.Equal(t, tt.want, status)
				require.Equal(t, "1", retryAfter)
				for _, v := range busy {
					status, _, _ := v.receives(t)
					require.Equal(t, http.StatusOK, status)
				}
				require.Equal(t, http.StatusOK, next.callsAs(t, "", say1), "a slot is free after the call")
			})
		})
	}
}

func TestTooManyConnections(t *testing.T) {
	t.Run("of one address are closed while the others have calls", func(t *testing.T) {
		config := carrier.Config{Limits: carrier.Limits{ConnsPerAddress: 2}}
		from := []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.2:1"}
		withLimits(t, config, from, func(t *testing.T, l *addressedNetwork) {
			first, second := l.connect(t), l.connect(t)
			for _, v := range []*testConn{first, second} {
				v.sends(t, "wait", "10s")
			}
			synctest.Wait()
			third, other := l.connect(t), l.connect(t)
			_, err := third.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, http.StatusOK, other.callsAs(t, "", say1), "another address may connect")
			require.NoError(t, first.Close())
			synctest.Wait()
			l.connectsFrom("192.0.2.1:4")
			require.Equal(t, http.StatusOK, l.connect(t).callsAs(t, "", say1), "a closed connection frees its slot")
			status, _, _ := second.receives(t)
			require.Equal(t, http.StatusOK, status, "no call is cut off")
		})
	})
	t.Run("of all together wait outside", func(t *testing.T) {
		config := carrier.Config{Limits: carrier.Limits{Conns: 4}}
		withLimits(t, config, []string{"192.0.2.1:1"}, func(t *testing.T, l *addressedNetwork) {
			inside := []*testConn{l.connect(t), l.connect(t), l.connect(t), l.connect(t)}
			for _, v := range inside {
				v.sends(t, "wait", "3s")
				go func() { _, _ = io.Copy(io.Discard, v) }() // a pipe has no buffer
			}
			synctest.Wait() // a connection without a call would be replaced
			start := time.Now()
			require.Equal(t, http.StatusOK, l.connect(t).callsAs(t, "", say1)) // waits for a slot
			require.Equal(t, 3*time.Second, time.Since(start).Truncate(time.Second), "the first response frees its slot, before the idle timeout")
		})
	})
}

// The server stops reading an endless body, with and without a length.
func TestEndlessBodiesAreCutOff(t *testing.T) {
	const head = "POST /mcp HTTP/1.1\r\nHost: agent.test\r\nContent-Type: application/json\r\n"
	for _, tt := range []struct {
		name, header, piece string
		every               time.Duration
		want                string
	}{
		{"byte by byte", "Content-Length: 1000\r\n\r\n", "x", time.Second, "400 Bad Request"},
		{"in chunks", "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", time.Second, "400 Bad Request"},
		{"in chunks, fast", "Transfer-Encoding: chunked\r\n\r\n", "400\r\n" + strings.Repeat("x", 1024) + "\r\n", time.Millisecond,
			"413 Request Entity Too Large"},
		{"with extensions of chunks", "Transfer-Encoding: chunked\r\n\r\n", "1;" + strings.Repeat("e", 500) + "\r\nx\r\n", time.Millisecond, "400 Bad Request"},
		{"half", "Content-Length: 1000\r\n\r\n", "", time.Second, "400 Bad Request"},
		{"with two lengths", "Content-Length: 1000\r\nContent-Length: 10\r\n\r\n", "x", time.Second, "400 Bad Request"},
		{"with a length that is none", "Content-Length: -1\r\n\r\n", "x", time.Second, "400 Bad Request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withLimits(t, carrier.Config{}, []string{"192.0.2.1:1"}, func(t *testing.T, l *addressedNetwork) {
				v := l.connect(t)
				var sending sync.WaitGroup
				start := time.Now()
				sending.Go(func() {
					_, err := io.WriteString(v, head+tt.header)
					for err == nil && time.Since(start) < time.Minute {
						time.Sleep(tt.every)
						_, err = io.WriteString(v, tt.piece)
					}
				})
				answer, _ := io.ReadAll(v)
				require.Contains(t, string(answer), "HTTP/1.1 "+tt.want)
				require.Less(t, time.Since(start), 17*time.Second)
				require.NoError(t, v.Close())
				sending.Wait()
				require.Equal(t, http.StatusOK, l.connect(t).callsAs(t, "", say1), "other clients are served")
			})
		})
	}
}

// An error with a time to wait also sets Retry-After.
func TestRetryAfterOfErrors(t *testing.T) {
	busy := func(after time.Duration) handler {
		return func(context.Context, string, *text) (any, error) {
			return nil, fmt.Errorf("wrapped: %w", &transport.CallError{
				Kind: transport.Failed, After: after, Err: &transport.Error{Code: 22, Message: "RATE_LIMITED"}})
		}
	}
	base, _ := start(t, serving(map[string]handler{"busy": busy(1500 * time.Millisecond), "angry": busy(0)}), carrier.Config{MaxBody: maxBody})
	call := func(method, id string) string {
		return `{"jsonrpc":"2.0","method":"` + method + `","params":{}` + id + `}`
	}
	for _, tt := range []struct {
		name, body string
		status     int
		retryAfter string
	}{
		{"a call", call("busy", `,"id":1`), http.StatusTooManyRequests, "2"},
		{"a call in another form", ` ` + call("busy", `,"id":"x"`), http.StatusTooManyRequests, "2"},
		{"one that names no time", call("angry", `,"id":1`), http.StatusOK, ""},
		{"a batch", "[" + call("busy", `,"id":1`) + "]", http.StatusOK, ""},
		{"a notification", call("busy", ""), http.StatusNoContent, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := send(t, http.MethodPost, base+"/mcp", strings.NewReader(tt.body), nil)
			assert.Equal(t, tt.status, got.status)
			assert.Equal(t, tt.retryAfter, got.header.Get("Retry-After"))
		})
	}
	t.Run("as its caller sees it", func(t *testing.T) {
		_, err := say(context.Background(), newClient(t, nil), base+"/mcp", "busy", "")
		require.Equal(t, &transport.CallError{Kind: transport.Failed, Status: http.StatusTooManyRequests, After: 2 * time.Second,
			Err: &transport.Error{Code: 22, Message: "RATE_LIMITED"}}, err)
	})
}

// A browser gets the headers with each answer that is not for an agent: pages, redirects, refusals and errors.
func TestAllAnswersToBrowsersHaveTheSecurityHeaders(t *testing.T) {
	page := carrier.Mount{Pattern: "GET /page/", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "its own")
	})}
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, Hosts: []string{"agent.example"}, Mounts: []carrier.Mount{page, carrier.Health(nil)}})
	for _, tt := range []struct {
		name, method, path, policy string
		header                     http.Header
		want                       int
	}{
		{"a page with headers of its own", http.MethodGet, "/page/", "its own", nil, http.StatusOK},
		{"a redirect to the usual form of a path", http.MethodGet, "/page", "", nil, http.StatusTemporaryRedirect},
		{"no page", http.MethodGet, "/none", "", nil, http.StatusNotFound},
		{"another method", http.MethodGet, "/mcp", "", nil, http.StatusMethodNotAllowed},
		{"a form for another path", http.MethodPost, "/none", "", nil, http.StatusNotFound},
		{"another host", http.MethodGet, "/page/", "", http.Header{"Host": {"evil.example"}}, http.StatusMisdirectedRequest},
		{"the page of another site", http.MethodPost, "/page/", "", http.Header{"Origin": {"http://evil.example"}}, http.StatusForbidden},
		{"the health", http.MethodGet, "/healthz", "", nil, http.StatusOK},
		{"behind a proxy with TLS", http.MethodGet, "/healthz", "", http.Header{"X-Forwarded-Proto": {"https"}}, http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := send(t, tt.method, base+tt.path, nil, tt.header)
			assert.Equal(t, tt.want, got.status)
			policy := got.header.Get("Content-Security-Policy")
			if tt.policy == "" {
				tt.policy = "default-src 'none'; frame-ancestors 'none'"
			}
			assert.Equal(t, tt.policy, policy)
			assert.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
			assert.Equal(t, "no-referrer", got.header.Get("Referrer-Policy"))
			assert.Equal(t, "no-store", got.header.Get("Cache-Control"))
			assert.Equal(t, tt.header.Get("X-Forwarded-Proto") == "https", got.header.Get("Cross-Origin-Opener-Policy") != "",
				"browsers complain of it without TLS")
		})
	}
}
