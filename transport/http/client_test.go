package http_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
	carrier "evenodd/transport/http"
)

func TestClientRequestFormat(t *testing.T) {
	type request struct {
		header http.Header
		length int64
		body   string
	}
	var requests []request
	endpoint := serveHandler(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, http.MethodPost, r.Method)
		requests = append(requests, request{r.Header, r.ContentLength, string(body)})
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":{},"id":1}`) // id 1 whatever is asked
	})
	client := newClient(t, nil)
	for _, bearer := range []string{"", "tok-1"} {
		_, _, err := client.Call(context.Background(), transport.Request{Endpoint: endpoint, Bearer: bearer, Method: "join", Params: &text{"hi"}, Decode: textOf})
		require.NoError(t, err)
	}
	require.Len(t, requests, 2)
	for i, r := range requests {
		want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"join","params":{"Text":"hi"},"id":%d}`, i+1)
		assert.Equal(t, want, r.body)
		assert.EqualValues(t, len(r.body), r.length)
	}
	assert.Equal(t, "application/json", requests[0].header.Get("Content-Type"))
	assert.Equal(t, "application/json, text/event-stream", requests[0].header.Get("Accept"))
	assert.NotContains(t, requests[0].header, "Authorization")
	assert.Equal(t, "Bearer tok-1", requests[1].header.Get("Authorization"))
}

// An unreadable response is an error, but no JSON-RPC error of the other side. The error names
// the cause.
func TestUnreadableResponses(t *testing.T) {
	const response = `{"jsonrpc":"2.0","result":{"Text":"hi"},"id":1}`
	const refusal = `{"jsonrpc":"2.0","error":{"code":4004,"message":"INVALID"},"id":1}`
	const html = "<html>hello</html>"
	large := `{"jsonrpc":"2.0","result":{"Text":"` + strings.Repeat("x", maxReply) + `"},"id":1}`
	for _, tt := range []struct {
		status       int
		header, body string
		want         string
	}{
		{500, "", "", "HTTP 500 Internal Server Error"},
		{500, "", response, "HTTP 500 Internal Server Error"},
		{500, "", large, "HTTP 500 Internal Server Error"},
		{503, "", refusal, "HTTP 503 Service Unavailable"},
		{503, "Retry-After: 3", "", "HTTP 503 Service Unavailable: try again after 3s"},
		{503, "Date: Thu, 01 Jan 2026 10:00:00 GMT\r\nRetry-After: Thu, 01 Jan 2026 10:00:05 GMT", "",
			"HTTP 503 Service Unavailable: try again after 5s"},
		{503, "Date: Tue, 01 Jan 2075 10:00:00 GMT\r\nRetry-After: Tue, 01 Jan 2075 10:00:05 GMT", "",
			"HTTP 503 Service Unavailable: try again after 5s"},
		{404, "", html, "HTTP 404 Not Found"},
		{405, "", "", "HTTP 405 Method Not Allowed"},
		{422, "", `{"detail":[{"loc":["body"],"msg":"field required"}]}`, `HTTP 422 Unprocessable Entity: [{"loc":["body"],"msg":"field required"}]`},
		{418, "", `{"message":"tea\u001b[2J\nonly` + strings.Repeat("x", 1000) + `"}`, "HTTP 418 I'm a teapot: tea [2J only" + strings.Repeat("x", 186)},
		{400, "", `{"Error":{"code":1,"message":"M"}}`, "HTTP 400 Bad Request"},
		{400, "", `{"error":null,"result":{}}`, "HTTP 400 Bad Request"},
		{400, "", response, "HTTP 400 Bad Request"},
		{400, "", "Client sent an HTTP request to an HTTPS server.", "HTTP 400 Bad Request: the server needs HTTPS: call it by https://"},
		{302, "Location: /elsewhere", "", "HTTP 302 Found: a redirect, which is not followed; call the agent at its own URL"},
		{302, "Location: http://[", "", "HTTP 302 Found: a redirect, which is not followed"},
		{421, "", "", "HTTP 421 Misdirected Request: the agent does not have this host name; its operator can allow it by --allowed-host"},
		{200, "", html, "the answer is text/html, not JSON: "},
		{200, "Content-Type: application/json", html, "the answer is not JSON: "},
		{200, "", "", "EOF"},
		{204, "", "", "EOF"},
		{200, "", response[:20], "EOF"},
		{200, "", "{\"result\":\"\xff\"}", "invalid UTF-8"},
		{200, "Content-Length: " + strconv.Itoa(len(large)), large, "more than the 65536 allowed"},
		{200, "", large, "more than the 65536 bytes allowed"},
		{200, "", "without end", "more than the 65536 bytes allowed"},
	} {
		t.Run(fmt.Sprintf("%d %.40s", tt.status, tt.want), func(t *testing.T) {
			endpoint := serveHandler(t, func(w http.ResponseWriter, r *http.Request) {
				for line := range strings.SplitSeq(tt.header, "\r\n") {
					if name, value, ok := strings.Cut(line, ": "); ok {
						w.Header().Set(name, value)
					}
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
				for tt.body == "without end" && r.Context().Err() == nil {
					_, _ = io.WriteString(w, large)
				}
			})
			_, _, err := newClient(t, nil).Call(context.Background(), transport.Request{Endpoint: endpoint, Method: "join", Params: &text{}, Decode: textOf})
			require.ErrorContains(t, err, tt.want)
			var answered *transport.Error
			require.NotErrorAs(t, err, &answered, "the response is no JSON-RPC error")
			require.NotEqual(t, transport.Unreachable, transport.KindOf(err), "a server listens")
			kind := transport.Refused
			if tt.status < 300 {
				kind = transport.Unreadable
			}
			require.Equal(t, kind, transport.KindOf(err))
			require.Equal(t, tt.status, transport.StatusOf(err))
		})
	}
}

func TestResponseAtTheLimitIsRead(t *testing.T) {
	const head, tail = `{"jsonrpc":"2.0","result":{"Text":"`, `"},"id":1}`
	words := strings.Repeat("x", maxReply-len(head)-len(tail))
	for _, tt := range []struct {
		name   string
		length bool
	}{{"of known length", true}, {"of unknown length", false}} {
		t.Run(tt.name, func(t *testing.T) {
			endpoint := serveHandler(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.length {
					w.Header().Set("Content-Length", strconv.Itoa(maxReply))
				}
				_, _ = io.WriteString(w, head+words+tail)
			})
			answer, err := say(context.Background(), newClient(t, nil), endpoint, "join", "")
			require.NoError(t, err)
			require.Equal(t, words, answer)
		})
	}
}

// A bare HTTP 404 or 405 says that there is no agent at a path. Some agents answer so to
// an unknown method, with a text of their own or in JSON-RPC.
func TestVacantPathIsReported(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		vacant bool
	}{
		{404, "", true},
		{404, "404 page not found", true},
		{404, `{"detail":"Not Found"}`, true},
		{404, `{"error":"not found"}`, true},
		{404, `{"status":404,"error":"Not Found","path":"/a"}`, true},
		{405, `{"detail":"Method Not Allowed"}`, true},
		{405, "405: Method Not Allowed", true},
		{404, `{"detail":"no such method"}`, false},
		{404, `{"status":"unknown_message_type"}`, false},
		{404, `{"error":"Unknown method"}`, false},
		{404, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Not Found"},"id":1}`, false},
		{405, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":null}`, false},
		{400, "", false},
		{500, `{"detail":"Not Found"}`, false},
		{501, "", false},
	} {
		t.Run(fmt.Sprint(test.status, " ", test.body), func(t *testing.T) {
			endpoint := serveHandler(t, answering(test.status, test.body))
			_, err := protocol.Ping.Call(t.Context(), newClient(t, nil), protocol.Peer{Endpoint: endpoint}, &protocol.ToolRequest{})
			assert.True(t, protocol.Answered(err))
			assert.Equal(t, test.vacant, protocol.Vacant(err))
		})
	}
}

func TestRefusalsWithAnErrorObject(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		status     int
		want       transport.Error
	}{
		{"400", `{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params"},"id":1}`, 400,
			transport.Error{Code: -32602, Message: "Invalid params"}},
		{"400 with the id null", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"},"id":null}`, 400,
			transport.Error{Code: -32600, Message: "Invalid Request"}},
		{"401 with data", `{"jsonrpc":"2.0","error":{"code":4001,"message":"INVALID","data":{"a":"b"}},"id":1}`, 401,
			transport.Error{Code: 4001, Message: "INVALID", Data: jsontext.Value(`{"a":"b"}`)}},
		{"404 for a method", `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`, 404,
			transport.Error{Code: -32601, Message: "Method not found"}},
		{"400 with a bare word", `{"error":"Unknown method"}`, 400,
			transport.Error{Code: -32603, Message: "an error that is not a JSON-RPC error object"}},
		{"500 for what failed inside", `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Unknown tool: x"},"id":1}`, 500,
			transport.Error{Code: -32603, Message: "Unknown tool: x"}},
		{"200", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"},"id":null}`, 200,
			transport.Error{Code: -32600, Message: "Invalid Request"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			endpoint := serveHandler(t, answering(tt.status, tt.body))
			_, err := say(context.Background(), newClient(t, nil), endpoint, "join", "")
			var answered *transport.Error
			require.ErrorAs(t, err, &answered)
			assert.Equal(t, &tt.want, answered)
			assert.Equal(t, tt.status, transport.StatusOf(err))
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var followed atomic.Int64
	elsewhere := serveHandler(t, func(w http.ResponseWriter, _ *http.Request) {
		followed.Add(1)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":{},"id":1}`)
	})
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			endpoint := serveHandler(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, status) })
			_, _, err := newClient(t, nil).Call(context.Background(), transport.Request{Endpoint: endpoint, Bearer: "tok-1", Method: "join", Params: &text{}, Decode: textOf})
			require.Equal(t, transport.Refused, transport.KindOf(err))
			require.Equal(t, status, transport.StatusOf(err))
			require.Zero(t, followed.Load(), "the credential is not sent to another server")
		})
	}
}

// quietAddress returns an address where no server can listen during the test: the local
// end of an open connection.
func quietAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c.LocalAddr().String()
}

func TestUnreachable(t *testing.T) {
	resolving := &net.Dialer{Resolver: &net.Resolver{PreferGo: true}} // which asks nobody for a name that cannot exist
	for _, tt := range []struct {
		name     string
		endpoint string
		dial     carrier.Dialer
	}{
		{"a refused connection", "http://" + quietAddress(t) + "/mcp", nil},
		{"an unknown host", "http://nobody..invalid:8101/mcp", resolving.DialContext},
		{"no address", "http://[::1/mcp", nil},
		{"control characters", "http://p\x00/mcp", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := say(context.Background(), newClient(t, tt.dial), tt.endpoint, "join", "")
			var unreachable *transport.CallError
			require.ErrorAs(t, err, &unreachable)
			require.Equal(t, transport.Unreachable, unreachable.Kind)
			assert.Equal(t, tt.endpoint, unreachable.Endpoint)
			assert.Error(t, unreachable.Err)
		})
	}
}

// truncatedServer answers each request with the given bytes and closes the connection.
func truncatedServer(t *testing.T, answer string) (endpoint string) {
	t.Helper()
	return serveHandler(t, func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		assert.NoError(t, err)
		c, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			_, _ = io.WriteString(c, answer)
			assert.NoError(t, c.Close())
		}
	})
}

func TestBrokenConnections(t *testing.T) {
	for _, tt := range []struct{ name, answer string }{
		{"before the answer", ""},
		{"in the middle of the status line", "HTTP/1.1 20"},
		{"in the middle of the header", "HTTP/1.1 200 OK\r\nContent-Type: applic"},
		{"before the body", "HTTP/1.1 200 OK\r\nContent-Length: 48\r\n\r\n"},
		{"in the middle of the body", "HTTP/1.1 200 OK\r\nContent-Length: 48\r\n\r\n{\"jsonrpc\":\"2.0\",\"result\":{"},
		{"in the middle of a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n30\r\n{\"jsonrpc\":\"2.0\","},
		{"between chunks, after a whole response", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n{\"result\":{}}\r\n"},
		{"in the middle of a refusal", "HTTP/1.1 400 Bad Request\r\nContent-Length: 90\r\n\r\n{\"error\":{"},
		{"with text that is not HTTP", "hello\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := say(context.Background(), newClient(t, nil), truncatedServer(t, tt.answer), "join", "")
			require.Error(t, err)
			var answered *transport.Error
			require.NotErrorAs(t, err, &answered)
			require.NotEqual(t, transport.Unreachable, transport.KindOf(err))
		})
	}
}

// The client never repeats a call: the carrier does not know whether the method is idempotent.
func TestCallIsNotRepeated(t *testing.T) {
	var calls atomic.Int64
	endpoint := serveHandler(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":{},"id":1}`)
			return
		}
		_, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		panic(http.ErrAbortHandler) // hangs up on a connection that was kept
	})
	client := newClient(t, nil)
	_, err := say(context.Background(), client, endpoint, "join", "")
	require.NoError(t, err)
	_, err = say(context.Background(), client, endpoint, "join", "")
	require.Error(t, err)
	require.EqualValues(t, 2, calls.Load())
}
