package http_test

import (
	"context"
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
)

// echo calls an agent with a limit and returns the timing, whose departure is left out.
func echo(t *testing.T, client *carrier.Client, limit time.Duration) (transport.Timing, error) {
	return echoAt(t, client, transport.Request{Endpoint: pipeEndpoint, Limit: limit})
}

func echoAt(t *testing.T, client *carrier.Client, r transport.Request) (transport.Timing, error) {
	r.Method, r.Params, r.Decode = "echo", &text{"hi"}, textOf
	_, timing, err := client.Call(t.Context(), r)
	if !assert.NotNil(t, timing) {
		return transport.Timing{}, err
	}
	timing.Departed = time.Time{}
	return *timing, err
}

const (
	second = time.Second
	answer = `{"jsonrpc":"2.0","result":{"Text":"hi"},"id":1}`
)

// unhurried answers after a second, with a pause of two in the middle.
func unhurried(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(second)
	_, _ = io.WriteString(w, answer[:20])
	_ = http.NewResponseController(w).Flush()
	time.Sleep(2 * second)
	_, _ = io.WriteString(w, answer[20:])
}

// dialling takes its time before it dials.
func dialling(dial carrier.Dialer, took time.Duration) carrier.Dialer {
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
		l := thirdParty(t, unhurried)
		client := newClient(t, dialling(l.Dial, 4*second))
		timing, err := echo(t, client, 0)
		require.NoError(t, err)
		require.Equal(t, transport.Timing{Connecting: 4 * second, Waiting: second, Reading: 2 * second}, timing)
		timing, err = echo(t, client, 0)
		require.NoError(t, err)
		require.Equal(t, transport.Timing{Waiting: second, Reading: 2 * second}, timing, "a connection that was kept is there at once")
		require.Equal(t, 1, l.Accepted())
	})
}

func TestDepartureOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, dialling(thirdParty(t, unhurried).Dial, 4*second))
		began := time.Now()
		_, timing, err := client.Call(t.Context(), transport.Request{Endpoint: pipeEndpoint, Method: "echo", Params: &text{"hi"}, Decode: textOf})
		require.NoError(t, err)
		require.Equal(t, began.Add(4*second), timing.Departed)
	})
}

func TestTimeInTheQueueOfAnEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := thirdParty(t, unhurried)
		client := carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply, MaxConns: 1, Dial: dialling(l.Dial, 4*second)})
		t.Cleanup(client.Close)
		var timings [3]transport.Timing
		var all sync.WaitGroup
		for i := range timings {
			all.Go(func() {
				timing, err := echo(t, client, 0)
				assert.NoError(t, err)
				timings[i] = timing
			})
			synctest.Wait()
		}
		all.Wait()
		for i, want := range []transport.Timing{{Connecting: 4 * second}, {Queued: 7 * second}, {Queued: 10 * second}} {
			want.Waiting, want.Reading = second, 2*second
			assert.Equal(t, want, timings[i])
		}
	})
}

// The time that a request is queued at this side is added to the limit of a call that
// asks for it, and to no other's.
func TestQueueExtendsTheLimit(t *testing.T) {
	tests := []struct {
		name         string
		after, limit time.Duration // the call begins so long after another, which takes three seconds
		extend       bool
		want         error
		took         time.Duration
	}{
		{"the window begins when the request leaves", 0, 3500 * time.Millisecond, true, nil, 6 * second},
		{"and lasts no longer", second, 2500 * time.Millisecond, true, context.DeadlineExceeded, 4500 * time.Millisecond},
		{"a request that does not leave in its window is not sent", 0, 2 * second, true, context.DeadlineExceeded, 2 * second},
		{"an ordinary limit begins with the call", 0, 4 * second, false, context.DeadlineExceeded, 4 * second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply, MaxConns: 1, Dial: thirdParty(t, unhurried).Dial})
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

// The other side may free one connection and keep another from being made: that is no
// time in a queue of this side.
func TestTimeUntilAnotherConnectionIsFreeIsConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := thirdParty(t, unhurried)
		dials := make(chan struct{}, 2)
		done, stop := context.WithCancel(t.Context())
		defer stop()
		client := newClient(t, func(ctx context.Context, network, address string) (net.Conn, error) {
			dials <- struct{}{}
			if len(dials) == 2 {
				select {
				case <-ctx.Done():
				case <-done.Done():
				}
				return nil, context.Canceled
			}
			return l.Dial(ctx, network, address)
		})
		var timings [2]transport.Timing
		var all sync.WaitGroup
		for i := range timings {
			all.Go(func() {
				timing, err := echo(t, client, 0)
				assert.NoError(t, err)
				timings[i] = timing
			})
			synctest.Wait()
		}
		all.Wait()
		assert.Equal(t, transport.Timing{Waiting: second, Reading: 2 * second}, timings[0])
		assert.Equal(t, transport.Timing{Connecting: 3 * second, Waiting: second, Reading: 2 * second}, timings[1])
	})
}

func TestTimingOfCallsThatFail(t *testing.T) {
	never := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	tests := []struct {
		name   string
		answer http.HandlerFunc
		dial   time.Duration
		want   transport.Timing
	}{
		{"before they depart", unhurried, time.Hour, transport.Timing{Connecting: 10 * second}},
		{"before they are answered", never, 4 * second, transport.Timing{Connecting: 4 * second, Waiting: 6 * second}},
		{"in the middle of the answer", unhurried, 8 * second, transport.Timing{Connecting: 8 * second, Waiting: second, Reading: second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := thirdParty(t, tt.answer)
				timing, err := echo(t, newClient(t, dialling(l.Dial, tt.dial)), 10*second)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, tt.want, timing)
			})
		})
	}
	t.Run("without a listener", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := thirdParty(t, unhurried)
			timing, err := echoAt(t, newClient(t, dialling(l.Dial, second)), transport.Request{Endpoint: "http://elsewhere.test:80/mcp"})
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

// A fragile connection takes one request; what is written after that fails
// before its first byte, and the connection looks well until then.
type fragile struct {
	net.Conn

	written bool
}

func (c *fragile) Write(b []byte) (int, error) {
	if c.written {
		return 0, net.ErrClosed
	}
	c.written = true
	return c.Conn.Write(b)
}

// A call departs again when the connection that was kept for it was of no use.
func TestCallThatDepartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := thirdParty(t, unhurried)
		client := newClient(t, dialling(func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := l.Dial(ctx, network, address)
			return &fragile{Conn: c}, err
		}, 4*second))
		for range 2 {
			timing, err := echo(t, client, 0)
			require.NoError(t, err)
			require.Equal(t, transport.Timing{Connecting: 4 * second, Waiting: second, Reading: 2 * second}, timing)
		}
	})
}
