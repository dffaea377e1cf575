package http_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"evenodd/transport"
	carrier "evenodd/transport/http"
	"evenodd/transport/pipenet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	maxBody  = 10 << 10
	maxReply = 64 << 10
)

// A text is the message of these tests.
type text struct{ Text string }

func textOf(raw []byte) (any, error) {
	m := new(text)
	return m, json.Unmarshal(raw, m)
}

// A handler of a method in the tests.
type handler = func(ctx context.Context, bearer string, m *text) (any, error)

// serving is a mux with one handler per method, and echo.
func serving(handlers map[string]handler) *transport.Mux {
	mux := transport.NewMux(zerolog.Nop())
	handle := func(method string, h handler) {
		mux.Handle(method, textOf, func(ctx context.Context, bearer string, params any) (any, error) {
			return h(ctx, bearer, params.(*text))
		})
	}
	handle("echo", func(_ context.Context, _ string, m *text) (any, error) { return m, nil })
	for method, h := range handlers {
		handle(method, h)
	}
	return mux
}

// A countingListener counts the connections it accepts.
type countingListener struct {
	net.Listener

	accepted atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return c, err
}

// loopback listens on a port of this machine.
func loopback(t testing.TB) *countingListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return &countingListener{Listener: l}
}

// run serves calls on a listener until the test ends.
func run(t testing.TB, server *carrier.Server, l net.Listener) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() { assert.NoError(t, server.Serve(l)) })
	t.Cleanup(func() {
		assert.NoError(t, server.Shutdown(context.Background()))
		serving.Wait()
	})
}

// start serves mux on loopback until the test ends, and returns where.
func start(t testing.TB, mux *transport.Mux, config carrier.Config) (base string, l *countingListener) {
	t.Helper()
	l = loopback(t)
	run(t, carrier.NewServer(mux, config), l)
	return "http://" + l.Addr().String(), l
}

// serveHandler serves any handler on loopback, like a third-party agent.
func serveHandler(t *testing.T, h http.HandlerFunc) (endpoint string) {
	t.Helper()
	l := loopback(t)
	serveOn(t, l, h)
	return "http://" + l.Addr().String() + carrier.Path
}

// serveOn serves any handler until the test ends.
func serveOn(t *testing.T, l net.Listener, h http.HandlerFunc) {
	t.Helper()
	var serving sync.WaitGroup // also handlers whose caller has left
	counted := func(w http.ResponseWriter, r *http.Request) {
		serving.Add(1)
		defer serving.Done()
		h(w, r)
	}
	server := &http.Server{Handler: http.HandlerFunc(counted), ReadHeaderTimeout: time.Minute}
	serving.Go(func() { assert.ErrorIs(t, server.Serve(l), http.ErrServerClosed) })
	t.Cleanup(func() {
		assert.NoError(t, server.Close())
		serving.Wait()
	})
}

// answering is a handler with one response.
func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// newClient returns a client that is closed at the end of the test.
func newClient(t testing.TB, dial carrier.Dialer) *carrier.Client {
	t.Helper()
	client := carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply, Dial: dial})
	t.Cleanup(client.Close)
	return client
}

// say calls a method with a text and returns the text of the answer.
func say(ctx context.Context, client *carrier.Client, endpoint, method, words string) (string, error) {
	q := transport.Request{Endpoint: endpoint, Method: method, Params: &text{words}, Decode: textOf}
	r, _, err := client.Call(ctx, q)
	if err != nil {
		return "", err
	}
	return r.(*text).Text, nil
}

// answered checks an answer, in any goroutine of a test.
func answered(t *testing.T, want, answer string, err error) bool {
	t.Helper()
	return assert.NoError(t, err) && assert.Equal(t, want, answer)
}

// A testAgent is a server with a client, in virtual time.
type testAgent struct {
	client   *carrier.Client
	server   *carrier.Server
	listener *pipenet.Listener
}

const pipeEndpoint = "http://agent.test:80" + carrier.Path

// inVirtualTime runs a test of an agent with a waitingMux in virtual time.
func inVirtualTime(t *testing.T, test func(t *testing.T, a *testAgent)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen("agent.test:80")
		server := carrier.NewServer(waitingMux(), carrier.Config{MaxBody: maxBody})
		run(t, server, l)
		test(t, &testAgent{newClient(t, l.Dial), server, l})
	})
}

// failingDialer returns a dialer that makes no connection and returns the error of dial.
func failingDialer(dial func(ctx context.Context) error) carrier.Dialer {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, dial(ctx) }
}
