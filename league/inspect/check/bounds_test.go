package check_test

import (
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	conformance "evenodd/league/inspect/check"
)

// serveConnections handles each connection in its own way.
func serveConnections(n *network, do func(net.Conn, <-chan struct{})) (url string) {
	n.Helper()
	l := n.open()
	over := make(chan struct{})
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = c.Close() }()
				do(c, over)
			})
		}
	})
	n.Cleanup(func() {
		close(over)
		_ = l.Close()
		serving.Wait()
	})
	return urlOf(l)
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

func TestExaminationEndsInItsBudgetWhateverTheConnectionDoes(t *testing.T) {
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
				inVirtualTime(t, func(n *network) {
					began := time.Now()
					r := n.check(conformance.Options{Role: role, URL: serveConnections(n, do), Listener: n.open()})
					assert.False(n, r.Conforms())
					assert.Len(n, r.Findings, len(conformance.Catalogue(role)))
					assert.LessOrEqual(n, time.Since(began), 3*time.Minute+time.Second, "the budget")
				})
			})
		}
	}
}

func TestPlayerThatHangsLaterDoesNotConform(t *testing.T) {
	t.Parallel()
	for _, after := range []int64{1, 7, 30, 90, 150} {
		t.Run(fmt.Sprintf("after %d calls", after), func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, func(n *network) {
				m := newModel(n)
				var calls atomic.Int64
				m.first = func(_ nethttp.ResponseWriter, r *nethttp.Request, _ []byte) bool {
					if calls.Add(1) > after {
						m.gone(r)
						return true
					}
					return false
				}
				assert.False(n, alone(n, m).Conforms())
			})
		})
	}
}

// The agents of the kit can be called by anybody.
func TestKitBoundsTheMemoryThatItsCallersTake(t *testing.T) {
	for _, role := range []string{conformance.Player, conformance.Referee} {
		t.Run(role, func(t *testing.T) {
			inVirtualTime(t, func(n *network) { floodKit(n, role) })
		})
	}
}

func floodKit(n *network, role string) {
	agent := n.serve(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`)
	}))
	l := n.open()
	examined, end := context.WithCancel(n.Context())
	defer end()
	ended := make(chan error)
	go func() { // it waits for the agent to register
		_, err := conformance.Check(examined, conformance.Options{
			Role: role, URL: agent, Listener: l, Listen: n.listen, PlayerPort: playerPort, Dial: n.dial, Wait: time.Hour, Budget: time.Hour,
		})
		ended <- err
	}()
	client := n.client()
	post := func(body io.Reader) {
		q, err := nethttp.NewRequestWithContext(n.Context(), nethttp.MethodPost, urlOf(l), body)
		require.NoError(n, err)
		q.Header.Set("Content-Type", "application/json")
		if r, err := client.Do(q); err == nil { // it may close the connection
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
	}
	silent, err := n.dial(n.Context(), "", l.Addr().String())
	require.NoError(n, err)
	defer func() { _ = silent.Close() }()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	post(io.LimitReader(zeros{}, 100<<20))
	registration := `{"jsonrpc":"2.0","method":"register_player","id":1,"params":{"message_type":"LEAGUE_REGISTER_REQUEST","player_meta":{"contact_endpoint":"http://localhost:1/mcp"},"x":"` +
		strings.Repeat("y", 8<<10) + `"}}`
	for range 300 {
		post(strings.NewReader(registration))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(n, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(64<<20))
	end()
	assert.ErrorIs(n, <-ended, context.Canceled)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
