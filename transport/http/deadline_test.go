package http_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
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

// waitingMux returns a mux whose method "wait" takes the requested time, or until its
// context ends.
func waitingMux() *transport.Mux {
	return serving(map[string]handler{"wait": func(ctx context.Context, _ string, m *text) (any, error) {
		took, err := time.ParseDuration(m.Text)
		if err != nil {
			return nil, err
		}
		select {
		case <-time.After(took):
			return m, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}})
}

func TestDeadlines(t *testing.T) {
	late := context.DeadlineExceeded
	answers := map[string]error{"0s": nil, "2.999999999s": nil, "3.000000001s": late, "1h": late}
	for _, tt := range []struct {
		name       string
		ctx, limit time.Duration
	}{
		{"of a context", 3 * time.Second, 0},
		{"of a limit", time.Hour, 3 * time.Second},
		{"of a context that ends before the limit", 3 * time.Second, 30 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, a *testAgent) {
				for took, want := range answers {
					ctx, cancel := context.WithTimeout(t.Context(), tt.ctx)
					start := time.Now()
					answer, _, err := a.client.Call(ctx, transport.Request{
						Endpoint: pipeEndpoint, Method: "wait", Params: &text{took}, Decode: textOf, Limit: tt.limit,
					})
					require.ErrorIs(t, err, want, "an answer after %v", took)
					if want == nil {
						require.Equal(t, &text{took}, answer)
					} else {
						require.Equal(t, 3*time.Second, time.Since(start))
					}
					cancel()
				}
			})
		})
	}
}

// A handler may take as long as a move, which is longer than the time limit of a request.
func TestHandlerMayTakeAsLongAsAMove(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, a *testAgent) {
		for _, took := range []string{"30s", "16s", "59s"} {
			answer, err := say(t.Context(), a.client, pipeEndpoint, "wait", took)
			require.NoError(t, err)
			require.Equal(t, took, answer)
		}
		require.Equal(t, 1, a.listener.Accepted(), "one connection for all calls")
	})
}

func TestEndlessHandlerIsCutOff(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, a *testAgent) {
		_, err := say(t.Context(), a.client, pipeEndpoint, "wait", "61s")
		require.Error(t, err)
		var answered *transport.Error
		require.NotErrorAs(t, err, &answered)
	})
}

// A person may take an hour for a move.
func TestHandlerOfAPatientServerMayTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen("agent.test:80")
		run(t, carrier.NewServer(waitingMux(), carrier.Config{MaxBody: maxBody, Patient: true}), l)
		client := newClient(t, l.Dial)
		for range 2 {
			answer, err := say(t.Context(), client, pipeEndpoint, "wait", "1h")
			require.NoError(t, err)
			require.Equal(t, "1h", answer)
		}
		require.Equal(t, 1, l.Accepted(), "one connection for all calls")
	})
}

func TestEndlessDialEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, failingDialer(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := say(ctx, client, pipeEndpoint, "wait", "")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.NotEqual(t, transport.Unreachable, transport.KindOf(err), "the client does not know whether a server listens")
	})
}

func TestIdleConnectionsAreClosedByTheClient(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, a *testAgent) {
		calls := func() {
			_, err := say(t.Context(), a.client, pipeEndpoint, "echo", "hi")
			require.NoError(t, err)
		}
		calls()
		time.Sleep(3 * time.Second)
		calls()
		require.Equal(t, 1, a.listener.Accepted(), "the connection stays open for a while")
		time.Sleep(5 * time.Second)
		calls()
		require.Equal(t, 2, a.listener.Accepted(), "then the client closes it")
	})
}

func TestShutdownLetsRunningCallsFinish(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, a *testAgent) {
		var running sync.WaitGroup
		running.Go(func() {
			answer, err := say(t.Context(), a.client, pipeEndpoint, "wait", "10s")
			answered(t, "10s", answer, err)
		})
		synctest.Wait()
		start := time.Now()
		running.Go(func() {
			time.Sleep(time.Second)
			_, err := say(t.Context(), a.client, pipeEndpoint, "echo", "hi")
			assert.Equal(t, transport.Unreachable, transport.KindOf(err), "new calls are refused during the shutdown")
		})
		require.NoError(t, a.server.Shutdown(t.Context()))
		require.Equal(t, 10*time.Second, time.Since(start).Truncate(time.Second))
		running.Wait()
		require.NoError(t, a.server.Shutdown(t.Context()), "a second shutdown does nothing")
	})
}

func TestShutdownCutsOffEndlessCalls(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, a *testAgent) {
		var running sync.WaitGroup
		start := time.Now()
		running.Go(func() {
			_, err := say(t.Context(), a.client, pipeEndpoint, "wait", "50s")
			assert.Equal(t, 3*time.Second, time.Since(start))
			var refused *transport.Error
			assert.True(t, err != nil && !errors.As(err, &refused), "nobody answered: %v", err)
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		require.ErrorIs(t, a.server.Shutdown(ctx), context.DeadlineExceeded)
		running.Wait()
	})
}

// echo calls an agent with a limit and returns the timing without the departure and the body.
func echo(t *testing.T, client *carrier.Client, limit time.Duration) (transport.Timing, error) {
	return echoAt(t, client, transport.Request{Endpoint: pipeEndpoint, Limit: limit})
}

func echoAt(t *testing.T, client *carrier.Client, r transport.Request) (transport.Timing, error) {
	r.Method, r.Params, r.Decode = "echo", &text{"hi"}, textOf
	_, timing, err := client.Call(t.Context(), r)
	if !assert.NotNil(t, timing) {
		return transport.Timing{}, err
	}
	timing.Departed, timing.Body = time.Time{}, nil
	return *timing, err
}

const (
	second = time.Second
	answer = `{"jsonrpc":"2.0","result":{"Text":"hi"},"id":1}`
)

// slowAnswer answers after one second, with a pause of two seconds in the middle.
func slowAnswer(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(second)
	_, _ = io.WriteString(w, answer[:20])
	_ = http.NewResponseController(w).Flush()
	time.Sleep(2 * second)
	_, _ = io.WriteString(w, answer[20:])
}

// slowDialer dials after some time.
func slowDialer(dial carrier.Dialer, took time.Duration) carrier.Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		select {
		case <-time.After(took):
			return dial(ctx, network, address)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func TestTimingOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := thirdParty(t, slowAnswer)
		client := newClient(t, slowDialer(l.Dial, 4*second))
		timing, err := echo(t, client, 0)
		require.NoError(t, err)
		require.Equal(t, transport.Timing{Connecting: 4 * second, Waiting: second, Reading: 2 * second}, timing)
		timing, err = echo(t, client, 0)
		require.NoError(t, err)
		require.Equal(t, transport.Timing{Waiting: second, Reading: 2 * second}, timing, "an idle connection needs no time")
		require.Equal(t, 1, l.Accepted())
	})
}

// The time in the queue of this side extends the limit of a call with ExtendByQueue, and of
// no other call.
func TestQueueExtendsTheLimit(t *testing.T) {
	for _, tt := range []struct {
		name         string
		after, limit time.Duration // the call begins so long after another, which takes three seconds
		extend       bool
		want         error
		took         time.Duration
	}{
		{"the limit begins when the request is sent", 0, 3500 * time.Millisecond, true, nil, 6 * second},
		{"the limit is exceeded after the request is sent", second, 2500 * time.Millisecond, true, context.DeadlineExceeded, 4500 * time.Millisecond},
		{"a request is not sent after its limit", 0, 2 * second, true, context.DeadlineExceeded, 2 * second},
		{"an ordinary limit begins with the call", 0, 4 * second, false, context.DeadlineExceeded, 4 * second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply, MaxConns: 1, Dial: thirdParty(t, slowAnswer).Dial})
				t.Cleanup(client.Close)
				var first sync.WaitGroup
				first.Go(func() {
					_, err := echo(t, client, 0)
					assert.NoError(t, err)
				})
				synctest.Wait()
				<-time.After(tt.after)
				began := time.Now()
				_, err := echoAt(t, client, transport.Request{Endpoint: pipeEndpoint, Limit: tt.limit, ExtendByQueue: tt.extend})
				require.ErrorIs(t, err, tt.want)
				require.Equal(t, tt.took, time.Since(began))
				first.Wait()
			})
		})
	}
}

func TestTimingOfCallsThatFail(t *testing.T) {
	never := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		dial   time.Duration
		want   transport.Timing
	}{
		{"before the request is sent", slowAnswer, time.Hour, transport.Timing{Connecting: 10 * second}},
		{"before the response", never, 4 * second, transport.Timing{Connecting: 4 * second, Waiting: 6 * second}},
		{"in the middle of the response", slowAnswer, 8 * second, transport.Timing{Connecting: 8 * second, Waiting: second, Reading: second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := thirdParty(t, tt.answer)
				timing, err := echo(t, newClient(t, slowDialer(l.Dial, tt.dial)), 10*second)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, tt.want, timing)
			})
		})
	}
	t.Run("without a listener", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := thirdParty(t, slowAnswer)
			timing, err := echoAt(t, newClient(t, slowDialer(l.Dial, second)), transport.Request{Endpoint: "http://elsewhere.test:80/mcp"})
			require.Error(t, err)
			require.Equal(t, transport.Timing{Connecting: second}, timing)
		})
	})
	t.Run("that were never made", func(t *testing.T) {
		_, timing, err := newClient(t, nil).Call(t.Context(), transport.Request{Endpoint: pipeEndpoint, Method: "echo", Params: func() {}})
		require.Error(t, err)
		require.Nil(t, timing)
	})
}
