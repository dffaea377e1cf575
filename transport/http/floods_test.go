package http_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	carrier "evenodd/transport/http"
)

// credential is that of an honest agent in the tests of floods.
const credential = "tok-honest"

// honestCall is a call with the credential in its body.
const honestCall = `{"jsonrpc":"2.0","method":"echo","params":{"Text":"` + credential + `"},"id":1}`

// The connections of an attacker that hold slots: at the address of the honest agent, or at
// many.
func TestConnectionsWithoutACredentialAreClosedFirst(t *testing.T) {
	const slots, attackers = 8, 40
	attacks := map[string]string{
		"idle":                        "",
		"idle after a call":           "call",
		"sending a header for ever":   "POST /mcp HTTP/1.1\r\nHost: agent",
		"sending a body for ever":     "POST /mcp HTTP/1.1\r\nHost: agent.test\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		"sending endless small parts": "POST /mcp HTTP/1.1\r\nHost: agent.test\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
	}
	limits := map[string]carrier.Limits{"at its address": {ConnsPerAddress: slots}, "at many addresses": {Conns: slots}}
	for name, sent := range attacks {
		for where, limit := range limits {
			t.Run(name+", "+where, func(t *testing.T) {
				config := carrier.Config{Limits: limit, Identify: identify(credential)}
				withLimits(t, config, []string{"192.0.2.1:1"}, func(t *testing.T, l *addressedNetwork) {
					honest := l.connect(t)
					require.Equal(t, http.StatusOK, honest.callsAs(t, "", honestCall))
					for i := range attackers {
						if where == "at many addresses" {
							l.connectsFrom(fmt.Sprintf("192.0.2.%d:1", 2+i%20))
						}
						v := l.connect(t)
						if sent == "call" {
							v.calls(t)
						} else if sent != "" {
							_, err := io.WriteString(v, sent)
							require.NoError(t, err)
						}
						time.Sleep(time.Millisecond)
					}
					l.connectsFrom("192.0.2.1:1")
					start := time.Now()
					require.Equal(t, http.StatusOK, l.connect(t).callsAs(t, credential, say1), "a new connection with a bearer credential")
					require.Equal(t, http.StatusOK, l.connect(t).callsAs(t, "", honestCall), "a new connection with a credential in the body")
					require.Equal(t, http.StatusOK, honest.callsAs(t, "", honestCall), "its idle connection")
					require.Less(t, time.Since(start), time.Second)
				})
			})
		}
	}
}

// An agent with a valid credential opens connections without end, at the address of the honest
// agent or at others.
func TestConnectionsOfOneAgentDoNotCrowdOutOthers(t *testing.T) {
	const slots = 32
	for where, limits := range map[string]carrier.Limits{"at its address": {ConnsPerAddress: slots}, "at another address": {Conns: slots, ConnsPerAddress: slots}} {
		t.Run(where, func(t *testing.T) {
			config := carrier.Config{Limits: limits, Identify: identify(credential, "tok-attacker")}
			withLimits(t, config, []string{"192.0.2.1:1"}, func(t *testing.T, l *addressedNetwork) {
				idle := l.connect(t)
				require.Equal(t, http.StatusOK, idle.callsAs(t, credential, say1))
				attack := func(connections int) {
					if where == "at another address" {
						l.connectsFrom("192.0.2.2:1")
					}
					for range connections {
						require.Equal(t, http.StatusOK, l.connect(t).callsAs(t, "tok-attacker", say1))
						time.Sleep(time.Millisecond)
					}
					l.connectsFrom("192.0.2.1:1")
				}
				attack(3 * slots)
				honest := l.connect(t)
				attack(slots / 2) // while the request is on its way
				require.Equal(t, http.StatusOK, honest.callsAs(t, credential, say1), "a new connection")
				require.Equal(t, http.StatusOK, idle.callsAs(t, credential, say1), "an idle connection")
			})
		})
	}
}

// Callers without a credential use up the budget of an address, or of all addresses.
func TestCallsWithACredentialHaveTheirOwnBudget(t *testing.T) {
	for _, tt := range []struct {
		name    string
		limits  carrier.Limits
		flood   func(t *testing.T, l *addressedNetwork)
		refused int
	}{
		{"calls per second", carrier.Limits{Rate: 0.001, Burst: 2}, func(t *testing.T, l *addressedNetwork) {
			v := l.connect(t)
			for range 2 {
				v.calls(t)
			}
		}, http.StatusTooManyRequests},
		{"calls at once of an address", carrier.Limits{CallsPerAddress: 2}, hang, http.StatusTooManyRequests},
		{"calls at once of all", carrier.Limits{Calls: 2}, hang, http.StatusServiceUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := carrier.Config{Limits: tt.limits, Identify: identify(credential, "tok-other")}
			withLimits(t, config, []string{"192.0.2.1:1"}, func(t *testing.T, l *addressedNetwork) {
				tt.flood(t, l)
				v := l.connect(t)
				require.Equal(t, tt.refused, v.callsAs(t, "", say1))
				require.Equal(t, tt.refused, v.callsAs(t, "tok-forged", say1))
				require.Equal(t, http.StatusOK, v.callsAs(t, credential, say1))
				require.Equal(t, http.StatusOK, v.callsAs(t, "", honestCall))
				require.Equal(t, tt.refused, v.callsAs(t, "", say1), "a connection may carry calls of several callers")
				if tt.limits.Rate > 0 {
					require.Equal(t, tt.refused, v.callsAs(t, credential, say1), "the limit of one agent")
					require.Equal(t, http.StatusOK, v.callsAs(t, "tok-other", say1), "another agent has its own")
				}
			})
		})
	}
}

func hang(t *testing.T, l *addressedNetwork) {
	for range 2 {
		l.connect(t).sends(t, "wait", "10s")
	}
	synctest.Wait()
}

// A request that is not complete uses no budget of calls.
func TestSlowRequestsTakeNoSlotsOfCalls(t *testing.T) {
	withLimits(t, carrier.Config{Limits: carrier.Limits{CallsPerAddress: 2}}, []string{"192.0.2.1:1"}, func(t *testing.T, l *addressedNetwork) {
		for range 5 {
			_, err := io.WriteString(l.connect(t), "POST /mcp HTTP/1.1\r\nHost: agent.test\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
			require.NoError(t, err)
		}
		synctest.Wait()
		assert.Equal(t, http.StatusOK, l.connect(t).callsAs(t, "", say1))
	})
}

// streamLimits leave room for a few streams that may be slow.
var streamLimits = carrier.StreamLimits{Streams: 8, StreamsPerAddress: 4, Write: 5 * time.Second}

// open makes a request for a stream, which ends with ctx.
func open(ctx context.Context, t *testing.T, method, url, body string) *http.Response {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	require.NoError(t, err)
	q.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Body.Close() })
	return r
}

// listen is the request for a stream of MCP.
const listen = `{"jsonrpc":"2.0","method":"subscriptions/listen","id":1}`

// streaming is a handler of streams that end with their requests. It tells when it has begun one.
func streaming(opened func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		opened()
		<-r.Context().Done()
	})
}

// flooding is a handler of an endless stream. It returns the error that ended it.
func flooding(ended chan<- error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				ended <- err
				return
			}
		}
	})
}

// page is a mount that answers at once.
func page(quota *carrier.Quota) carrier.Mount {
	return carrier.Mount{Pattern: "GET /page", Handler: http.HandlerFunc(echoing), Quota: quota}
}

// events is a mount of streams.
func events(h http.Handler, quota *carrier.Quota) carrier.Mount {
	return carrier.Mount{Pattern: "GET /events", Handler: h, Quota: quota, Stream: true}
}

func TestRequestsOfAQuotaTakeNoCalls(t *testing.T) {
	quota := carrier.NewQuota(carrier.Limits{Rate: 0.001, Burst: 900}, streamLimits)
	base, _ := start(t, serving(nil), carrier.Config{
		MaxBody: maxBody, Limits: carrier.Limits{Rate: 0.001, Burst: 3}, Mounts: []carrier.Mount{page(quota)},
	})
	client := &http.Client{}
	defer client.CloseIdleConnections()
	statuses := map[int]int{}
	for range 1000 {
		r, err := client.Get(base + "/page")
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if statuses[r.StatusCode]++; r.StatusCode != http.StatusOK {
			assert.NotEmpty(t, r.Header.Get("Retry-After"))
		}
	}
	assert.Equal(t, map[int]int{http.StatusOK: 900, http.StatusTooManyRequests: 100}, statuses)
	for range 3 {
		assert.Equal(t, echoed, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).body)
	}
	assert.Equal(t, http.StatusTooManyRequests, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).status)
}

func TestStreamsOfAQuotaHaveSlotsOfTheirOwn(t *testing.T) {
	quota := carrier.NewQuota(carrier.Limits{CallsPerAddress: 1}, streamLimits)
	var opened sync.WaitGroup
	base, _ := start(t, serving(nil), carrier.Config{
		MaxBody: maxBody, Limits: carrier.Limits{CallsPerAddress: 1},
		Mounts: []carrier.Mount{events(streaming(opened.Done), quota), page(quota)},
	})
	ctx, end := context.WithCancel(t.Context())
	opened.Add(streamLimits.StreamsPerAddress)
	for range streamLimits.StreamsPerAddress {
		require.Equal(t, http.StatusOK, open(ctx, t, http.MethodGet, base+"/events", "").StatusCode)
	}
	opened.Wait()
	full := open(ctx, t, http.MethodGet, base+"/events", "")
	assert.Equal(t, http.StatusServiceUnavailable, full.StatusCode)
	assert.Equal(t, "1", full.Header.Get("Retry-After"))
	assert.Equal(t, http.StatusOK, send(t, http.MethodGet, base+"/page", nil, nil).status, "a page beside the streams")
	assert.Equal(t, echoed, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).body, "a call beside the streams")
	end()
}

func TestWriteDeadlineOfAQuotaEndsItsStream(t *testing.T) {
	limits := streamLimits
	limits.Write = 100 * time.Millisecond
	ended := make(chan error, 1)
	base, _ := start(t, serving(nil), carrier.Config{
		MaxBody: maxBody, Mounts: []carrier.Mount{events(flooding(ended), carrier.NewQuota(carrier.Limits{}, limits))},
	})
	open(t.Context(), t, http.MethodGet, base+"/events", "") // and read nothing
	select {
	case err := <-ended:
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	case <-time.After(30 * time.Second): // the deadline of all answers is 60 s
		assert.Fail(t, "the stream has no deadline of its own")
	}
}

func TestServerWithoutMuxHasItsMountsOnly(t *testing.T) {
	quota := carrier.NewQuota(carrier.Limits{}, streamLimits)
	base, _ := start(t, nil, carrier.Config{MaxBody: maxBody, Mounts: []carrier.Mount{page(quota)}})
	assert.Equal(t, http.StatusOK, send(t, http.MethodGet, base+"/page", nil, nil).status)
	assert.Equal(t, http.StatusNotFound, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).status)
}

func TestShutdownEndsTheStreamsOfAQuota(t *testing.T) {
	opened, ended := make(chan struct{}), make(chan struct{})
	stream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		streaming(func() { close(opened) }).ServeHTTP(w, r)
		close(ended)
	})
	server := carrier.NewServer(nil, carrier.Config{
		Mounts: []carrier.Mount{events(stream, carrier.NewQuota(carrier.Limits{}, streamLimits))},
	})
	l := loopback(t)
	var serving sync.WaitGroup
	serving.Go(func() { assert.NoError(t, server.Serve(l)) })
	open(t.Context(), t, http.MethodGet, "http://"+l.Addr().String()+"/events", "")
	<-opened
	assert.NoError(t, server.Shutdown(t.Context()))
	<-ended
	serving.Wait()
}
