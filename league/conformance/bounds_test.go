package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/conformance"
)

// rude is a server of connections that does with each what it wants.
func rude(t *testing.T, do func(net.Conn, <-chan struct{})) string {
	t.Helper()
	l := openPort(t)
	over, ended := make(chan struct{}), make(chan struct{})
	var serving atomic.Int64
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Add(1)
			go func() {
				defer func() { _ = c.Close(); serving.Add(-1) }()
				do(c, over)
			}()
		}
	}()
	t.Cleanup(func() {
		close(over)
		_ = l.Close()
		<-ended
		assert.Eventually(t, func() bool { return serving.Load() == 0 }, 10*time.Second, time.Millisecond)
	})
	return at(l)
}

// request reads a request, as much of it as comes at once.
func request(c net.Conn) bool {
	_, err := c.Read(make([]byte, 64<<10))
	return err == nil
}

// endless writes the same until the other has enough.
func endless(c net.Conn, head, again string) {
	_, err := io.WriteString(c, head)
	for err == nil {
		_, err = io.WriteString(c, again)
	}
}

// Whatever an agent does with a connection, an examination ends in its time, and
// needs no more memory for it than it has to.
func TestRudeAgentsAreExaminedInTime(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	agents := map[string]func(net.Conn, <-chan struct{}){
		"says nothing": func(_ net.Conn, over <-chan struct{}) { <-over },
		"sends headers alone": func(c net.Conn, over <-chan struct{}) {
			if request(c) {
				_, _ = io.WriteString(c, ok+"Content-Length: 500\r\n\r\n")
			}
			<-over
		},
		"stops in the middle": func(c net.Conn, over <-chan struct{}) {
			if request(c) {
				_, _ = io.WriteString(c, ok+"Content-Length: 500\r\n\r\n{\"jsonrpc\"")
			}
			<-over
		},
		"never stops talking": func(c net.Conn, _ <-chan struct{}) {
			if request(c) {
				endless(c, ok+"Connection: close\r\n\r\n", strings.Repeat("x", 1<<20))
			}
		},
		"has endless headers": func(c net.Conn, _ <-chan struct{}) {
			if request(c) {
				endless(c, "HTTP/1.1 200 OK\r\n", "X-More: "+strings.Repeat("x", 1<<16)+"\r\n")
			}
		},
		"is always about to answer": func(c net.Conn, _ <-chan struct{}) {
			if request(c) {
				endless(c, "", "HTTP/1.1 102 Processing\r\n\r\n")
			}
		},
		"sends everybody on": func(c net.Conn, _ <-chan struct{}) {
			for request(c) {
				if _, err := fmt.Fprintf(c, "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://%s/mcp\r\nContent-Length: 0\r\n\r\n", c.LocalAddr()); err != nil {
					return
				}
			}
		},
		"hangs up": func(c net.Conn, _ <-chan struct{}) { request(c) },
	}
	for name, do := range agents {
		for _, role := range []string{conformance.Player, conformance.Referee, conformance.Manager} {
			t.Run(name+"/"+role, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				r, err := conformance.Check(t.Context(), conformance.Options{
					Role: role, URL: rude(t, do), Listener: openPort(t), Patience: 100 * time.Millisecond, Wait: 20 * time.Millisecond, Budget: 3 * time.Second,
				})
				require.NoError(t, err)
				assert.False(t, r.Conforms())
				assert.Len(t, r.Findings, len(conformance.Catalogue(role)))
				assert.Less(t, time.Since(began), 20*time.Second) // its budget, and a machine that is busy
			})
		}
	}
}

// One that answers as it should for a while, and then no more, is given up too.
func TestAgentsThatHangLater(t *testing.T) {
	t.Parallel()
	for _, after := range []int64{1, 7, 30, 90, 150} {
		t.Run(fmt.Sprintf("after %d calls", after), func(t *testing.T) {
			t.Parallel()
			m := newModel(t)
			var calls atomic.Int64
			m.first = func(_ nethttp.ResponseWriter, r *nethttp.Request, _ []byte) bool {
				if calls.Add(1) > after {
					m.gone(r)
					return true
				}
				return false
			}
			r := alone(t, m, func(o *conformance.Options) { o.Patience, o.Budget = 100*time.Millisecond, 10*time.Second })
			assert.False(t, r.Conforms())
			assert.Less(t, r.TookMS, int64(30_000))
		})
	}
}

// The kit's own agents are strangers' doors as well.
func TestTheKitWithstandsItsCallers(t *testing.T) {
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`)
	}))
	t.Cleanup(server.Close)
	for _, role := range []string{conformance.Player, conformance.Referee} {
		t.Run(role, func(t *testing.T) {
			l := openPort(t)
			url, address := at(l), l.Addr().String()
			examined, end := context.WithCancel(t.Context())
			defer end()
			ended := make(chan error)
			go func() { // it waits for the agent to register
				_, err := conformance.Check(examined, conformance.Options{Role: role, URL: server.URL + "/mcp", Listener: l, Wait: time.Minute, Budget: time.Minute})
				ended <- err
			}()
			client := &nethttp.Client{Transport: &nethttp.Transport{DisableKeepAlives: true}}
			post := func(body io.Reader) {
				q, err := nethttp.NewRequestWithContext(t.Context(), nethttp.MethodPost, url, body)
				require.NoError(t, err)
				q.Header.Set("Content-Type", "application/json")
				if r, err := client.Do(q); err == nil { // it may well hang up
					_, _ = io.Copy(io.Discard, r.Body)
					_ = r.Body.Close()
				}
			}
			silent, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			require.NoError(t, err)
			defer func() { _ = silent.Close() }()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			post(io.LimitReader(zeros{}, 100<<20))
			registration := `{"jsonrpc":"2.0","method":"register_player","id":1,"params":{"message_type":"LEAGUE_REGISTER_REQUEST","player_meta":{"contact_endpoint":"http://localhost:1/mcp"},"x":"` +
				strings.Repeat("y", 8<<10) + `"}}`
			for range 300 {
				post(bytes.NewReader([]byte(registration)))
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(64<<20))
			end()
			assert.ErrorIs(t, <-ended, context.Canceled)
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
