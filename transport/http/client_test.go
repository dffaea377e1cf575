package http_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
	carrier "evenodd/transport/http"
)

// In virtual time, because net/http keeps no connection whose writer goroutine is 50 ms late.
func TestClientKeepsOneConnection(t *testing.T) {
	inVirtualTime(t, func() *transport.Mux { return serving(nil) }, func(t *testing.T, a *testAgent) {
		for n := range 100 {
			words := strings.Repeat("x", n*50)
			answer, err := say(t.Context(), a.client, pipeEndpoint, "echo", words)
			require.NoError(t, err)
			require.Equal(t, words, answer)
			_, err = say(t.Context(), a.client, pipeEndpoint, "no", words)
			require.Equal(t, &transport.Error{Code: transport.CodeMethodNotFound, Message: "Method not found", Status: http.StatusOK}, err)
		}
		require.Equal(t, 1, a.listener.Accepted())
	})
}

func TestManyCallsAtOnce(t *testing.T) {
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody})
	client := newClient(t, nil)
	var all sync.WaitGroup
	for c := range 16 {
		all.Go(func() {
			for n := range 30 {
				words := fmt.Sprint(c, " ", n)
				answer, err := say(context.Background(), client, base+"/mcp", "echo", words)
				if !answered(t, words, answer, err) {
					return
				}
			}
		})
	}
	all.Wait()
}

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

func TestParamsThatCannotBeEncoded(t *testing.T) {
	_, _, err := newClient(t, nil).Call(context.Background(), transport.Request{Endpoint: "http://127.0.0.1:1/mcp", Method: "join", Params: func() {}, Decode: textOf})
	require.Error(t, err)
	var unreachable *transport.UnreachableError
	require.NotErrorAs(t, err, &unreachable, "the call was never made")
}

// An unreadable response is an error, but no JSON-RPC error of the other side.
func TestUnreadableResponses(t *testing.T) {
	const response = `{"jsonrpc":"2.0","result":{"Text":"hi"},"id":1}`
	const refusal = `{"jsonrpc":"2.0","error":{"code":4004,"message":"INVALID"},"id":1}`
	large := `{"jsonrpc":"2.0","result":{"Text":"` + strings.Repeat("x", maxReply) + `"},"id":1}`
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string
		status int
	}{
		{"HTTP 500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
			"HTTP 500 Internal Server Error", http.StatusInternalServerError},
		{"HTTP 500 with a response", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, response)
		}, "HTTP 500 Internal Server Error", http.StatusInternalServerError},
		{"HTTP 503 with an error object", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, refusal)
		}, "HTTP 503 Service Unavailable", http.StatusServiceUnavailable},
		{"HTTP 404 with HTML", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<html>404</html>")
		}, "HTTP 404 Not Found", http.StatusNotFound},
		{"HTTP 422 with other JSON", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"detail":[{"loc":["body"],"msg":"field required"}]}`)
		}, `HTTP 422 Unprocessable Entity: [{"loc":["body"],"msg":"field required"}]`, http.StatusUnprocessableEntity},
		{"HTTP 418 with a word and control characters", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, `{"message":"tea\u001b[2J\nonly`+strings.Repeat("x", 1000)+`"}`)
		}, "HTTP 418 I'm a teapot: tea [2J only" + strings.Repeat("x", 186), http.StatusTeapot},
		{"HTTP 500 with a page of any size", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, large)
		}, "HTTP 500 Internal Server Error", http.StatusInternalServerError},
		{"HTTP 400 with an error of other letters", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"Error":{"code":1,"message":"M"}}`)
		}, "HTTP 400 Bad Request", http.StatusBadRequest},
		{"HTTP 400 with a null error", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":null,"result":{}}`)
		}, "HTTP 400 Bad Request", http.StatusBadRequest},
		{"HTTP 400 with a response", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, response)
		}, "HTTP 400 Bad Request", http.StatusBadRequest},
		{"HTTP 405 with nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
			"HTTP 405 Method Not Allowed", http.StatusMethodNotAllowed},
		{"HTML", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello</html>") }, "the answer is text/html, not JSON: ", 0},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, "EOF", 0},
		{"HTTP 204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "EOF", 0},
		{"half a response", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, response[:20]) }, "EOF", 0},
		{"bad UTF-8", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{\"result\":\"\xff\"}") }, "invalid UTF-8", 0},
		{"more than the limit", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(large)))
			_, _ = io.WriteString(w, large)
		}, "more than the 65536 allowed", 0},
		{"more than the limit, of unknown length", func(w http.ResponseWriter, _ *http.Request) {
			assert.NoError(t, http.NewResponseController(w).Flush())
			_, _ = io.WriteString(w, large)
		}, "more than the 65536 bytes allowed", 0},
		{"without end", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, large)
			}
		}, "more than the 65536 bytes allowed", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := newClient(t, nil).Call(context.Background(), transport.Request{Endpoint: serveHandler(t, tt.answer), Method: "join", Params: &text{}, Decode: textOf})
			require.ErrorContains(t, err, tt.want)
			var answered *transport.Error
			require.NotErrorAs(t, err, &answered, "the response is no JSON-RPC error")
			var unreachable *transport.UnreachableError
			require.NotErrorAs(t, err, &unreachable, "a server listens")
			var status *carrier.StatusError
			if tt.status == 0 {
				require.NotErrorAs(t, err, &status)
				return
			}
			require.ErrorAs(t, err, &status)
			require.Equal(t, tt.status, status.Status)
		})
	}
}

// A handler that raises an exception closes the connection in many servers.
func TestConnectionClosedWithoutAnswerIsExplained(t *testing.T) {
	url := serveHandler(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, _, err := newClient(t, nil).Call(context.Background(), transport.Request{Endpoint: url, Method: "join", Params: &text{}, Decode: textOf})
	var closed *transport.BrokenError
	require.ErrorAs(t, err, &closed)
	assert.True(t, closed.Closed)
	assert.True(t, protocol.Accepted(err))
	require.ErrorIs(t, err, io.EOF)
	failed := protocol.AsError(err)
	assert.Equal(t, protocol.ErrConnection, failed.Code)
	assert.Equal(t, protocol.ClosedUnanswered, failed.Detail)
}

// By the time of the close, net/http gives one of many errors.
func TestConnectionClosedAtOnceIsExplained(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "localhost:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	client := newClient(t, nil)
	for range 100 {
		_, _, err := client.Call(context.Background(), transport.Request{Endpoint: "http://" + l.Addr().String(), Method: "join", Params: &text{}, Decode: textOf})
		require.Equal(t, protocol.ClosedUnanswered, protocol.AsError(err).Detail)
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

func TestUnreadableResponseHasItsHTTPStatus(t *testing.T) {
	endpoint := serveHandler(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	_, err := say(context.Background(), newClient(t, nil), endpoint, "join", "")
	var unreadable *carrier.UnreadableError
	require.ErrorAs(t, err, &unreadable)
	assert.Equal(t, http.StatusOK, unreadable.HTTPStatus())
	assert.Contains(t, unreadable.Error(), "the answer is text/html, not JSON")
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
			endpoint := serveHandler(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			_, err := protocol.Ping.Call(t.Context(), newClient(t, nil), protocol.Peer{Endpoint: endpoint}, &protocol.ToolRequest{})
			assert.True(t, protocol.Answered(err))
			assert.Equal(t, test.vacant, protocol.Vacant(err))
		})
	}
}

func TestRefusalsWithAnErrorObject(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		want   transport.Error
		data   string
	}{
		{"400", http.StatusBadRequest, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params"},"id":1}`,
			transport.Error{Code: -32602, Message: "Invalid params"}, ""},
		{"400 for an invalid request", http.StatusBadRequest, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"},"id":null}`,
			transport.Error{Code: -32600, Message: "Invalid Request"}, ""},
		{"401 with data", http.StatusUnauthorized, `{"jsonrpc":"2.0","error":{"code":4001,"message":"AUTH_TOKEN_INVALID","data":{"error_code":"E012"}},"id":1}`,
			transport.Error{Code: 4001, Message: "AUTH_TOKEN_INVALID"}, `{"error_code":"E012"}`},
		{"404 for a method", http.StatusNotFound, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`,
			transport.Error{Code: -32601, Message: "Method not found"}, ""},
		{"400 with a bare word", http.StatusBadRequest, `{"error":"Unknown method"}`,
			transport.Error{Code: -32603, Message: "an error that is not a JSON-RPC error object"}, ""},
		{"500 for what failed inside", http.StatusInternalServerError, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Unknown tool: x"},"id":1}`,
			transport.Error{Code: -32603, Message: "Unknown tool: x"}, ""},
		{"200", http.StatusOK, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"},"id":null}`,
			transport.Error{Code: -32600, Message: "Invalid Request"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			endpoint := serveHandler(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			_, err := say(context.Background(), newClient(t, nil), endpoint, "join", "")
			var answered *transport.Error
			require.ErrorAs(t, err, &answered)
			data := ""
			if answered.Data != nil {
				data = fmt.Sprint(answered.Data)
			}
			assert.Equal(t, tt.data, data)
			assert.Equal(t, tt.want, transport.Error{Code: answered.Code, Message: answered.Message})
			assert.Equal(t, tt.status, answered.HTTPStatus())
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
			require.Equal(t, &carrier.StatusError{Status: status}, err)
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

// emptyNameServer connects to a name server that knows no names. It answers over a pipe as
// over TCP: a length of two bytes, then the message.
func emptyNameServer(context.Context, string, string) (net.Conn, error) {
	local, remote := net.Pipe()
	go func() {
		defer func() { _ = remote.Close() }()
		for {
			var length [2]byte
			if _, err := io.ReadFull(remote, length[:]); err != nil {
				return
			}
			message := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(remote, message); err != nil {
				return
			}
			const isResponse, recursionAvailable, nameError = 1 << 7, 1 << 7, 3
			message[2] |= isResponse
			message[3] = recursionAvailable | nameError
			if _, err := remote.Write(append(length[:], message...)); err != nil {
				return
			}
		}
	}()
	return local, nil
}

func TestUnreachable(t *testing.T) {
	resolving := &net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: emptyNameServer}}
	tests := []struct {
		name     string
		endpoint string
		dial     carrier.Dialer
	}{
		{"a refused connection", "http://" + quietAddress(t) + "/mcp", nil},
		{"an unknown host", "http://nobody.invalid:8101/mcp", resolving.DialContext},
		{"no address", "http://[::1/mcp", nil},
		{"control characters", "http://p\x00/mcp", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := say(context.Background(), newClient(t, tt.dial), tt.endpoint, "join", "")
			var unreachable *transport.UnreachableError
			require.ErrorAs(t, err, &unreachable)
			assert.Equal(t, tt.endpoint, unreachable.Endpoint)
			assert.True(t, unreachable.Unreachable())
			assert.Error(t, unreachable.Err)
		})
	}
}

// truncatedServer answers each request with the given bytes and closes the connection.
func truncatedServer(t *testing.T, answer string) (endpoint string) {
	t.Helper()
	l := loopback(t)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			request, err := http.ReadRequest(bufio.NewReader(c))
			if assert.NoError(t, err) {
				_, err = io.Copy(io.Discard, request.Body)
				assert.NoError(t, err)
			}
			_, _ = io.WriteString(c, answer)
			assert.NoError(t, c.Close())
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, l.Close())
		serving.Wait()
	})
	return "http://" + l.Addr().String() + "/mcp"
}

func TestBrokenConnections(t *testing.T) {
	tests := []struct{ name, answer string }{
		{"before the answer", ""},
		{"in the middle of the status line", "HTTP/1.1 20"},
		{"in the middle of the header", "HTTP/1.1 200 OK\r\nContent-Type: applic"},
		{"before the body", "HTTP/1.1 200 OK\r\nContent-Length: 48\r\n\r\n"},
		{"in the middle of the body", "HTTP/1.1 200 OK\r\nContent-Length: 48\r\n\r\n{\"jsonrpc\":\"2.0\",\"result\":{"},
		{"in the middle of a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n30\r\n{\"jsonrpc\":\"2.0\","},
		{"between chunks, after a whole response", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n{\"result\":{}}\r\n"},
		{"in the middle of a refusal", "HTTP/1.1 400 Bad Request\r\nContent-Length: 90\r\n\r\n{\"error\":{"},
		{"with text that is not HTTP", "hello\r\n\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := say(context.Background(), newClient(t, nil), truncatedServer(t, tt.answer), "join", "")
			require.Error(t, err)
			var answered *transport.Error
			require.NotErrorAs(t, err, &answered)
			var unreachable *transport.UnreachableError
			require.NotErrorAs(t, err, &unreachable)
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

func TestCanceledCallReturns(t *testing.T) {
	arrived, left := make(chan struct{}), make(chan struct{})
	base, _ := start(t, serving(map[string]handler{"wait": func(ctx context.Context, _ string, _ *text) (any, error) {
		close(arrived)
		<-ctx.Done() // the handler sees that the caller has left
		close(left)
		return nil, ctx.Err()
	}}), carrier.Config{MaxBody: maxBody})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-arrived; cancel() }()
	_, err := say(ctx, newClient(t, nil), base+"/mcp", "wait", "")
	require.ErrorIs(t, err, context.Canceled)
	<-left
}

func TestDecodeErrorIsReturned(t *testing.T) {
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody})
	want := &json.UnmarshalTypeError{}
	_, _, err := newClient(t, nil).Call(context.Background(), transport.Request{Endpoint: base + "/mcp", Method: "echo", Params: &text{"hi"}, Decode: func([]byte) (any, error) { return nil, want }})
	require.ErrorIs(t, err, want)
}
