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

	carrier "evenodd/transport/http"
)

// A stopwatch is a context that writes down what it is told.
type stopwatch struct {
	context.Context

	departed, answered [][2]time.Duration
}

func (s *stopwatch) Departed(queued, connecting time.Duration) {
	s.departed = append(s.departed, [2]time.Duration{queued, connecting})
}

func (s *stopwatch) Answered(waiting, reading time.Duration) {
	s.answered = append(s.answered, [2]time.Duration{waiting, reading})
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

func TestWhereTheTimeOfACallGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := foreign(t, unhurried)
		client := newClient(t, dialling(l.Dial, 4*second))
		first, again := &stopwatch{Context: t.Context()}, &stopwatch{Context: t.Context()}
		for _, s := range []*stopwatch{first, again} {
			_, err := say(s, client, pipeEndpoint, "echo", "hi")
			require.NoError(t, err)
			require.Equal(t, [][2]time.Duration{{second, 2 * second}}, s.answered)
		}
		require.Equal(t, [][2]time.Duration{{0, 4 * second}}, first.departed)
		require.Equal(t, [][2]time.Duration{{0, 0}}, again.departed, "a connection that was kept is there at once")
		require.Equal(t, 1, l.Accepted())
	})
}

func TestTheTimeInTheQueueOfAnEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := foreign(t, unhurried)
		client := carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply, MaxConns: 1, Dial: dialling(l.Dial, 4*second)})
		t.Cleanup(client.Close)
		watches := make([]*stopwatch, 3)
		var all sync.WaitGroup
		for i := range watches {
			watches[i] = &stopwatch{Context: t.Context()}
			all.Go(func() {
				answer, err := say(watches[i], client, pipeEndpoint, "echo", "hi")
				answered(t, "hi", answer, err)
			})
			synctest.Wait()
		}
		all.Wait()
		for i, want := range [][2]time.Duration{{0, 4 * second}, {7 * second, 0}, {10 * second, 0}} {
			assert.Equal(t, [][2]time.Duration{want}, watches[i].departed)
			assert.Equal(t, [][2]time.Duration{{second, 2 * second}}, watches[i].answered)
		}
	})
}

// Whoever is called may leave one connection and keep another from being made:
// that is no time in a queue of this side.
func TestTheTimeInWhichAnotherConnectionComesFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := foreign(t, unhurried)
		dials := make(chan struct{}, 2)
		client := newClient(t, func(ctx context.Context, network, address string) (net.Conn, error) {
			dials <- struct{}{}
			if len(dials) == 2 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return l.Dial(ctx, network, address)
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		first, again := &stopwatch{Context: ctx}, &stopwatch{Context: ctx}
		var all sync.WaitGroup
		for _, s := range []*stopwatch{first, again} {
			all.Go(func() {
				answer, err := say(s, client, pipeEndpoint, "echo", "hi")
				answered(t, "hi", answer, err)
			})
			synctest.Wait()
		}
		all.Wait()
		assert.Equal(t, [][2]time.Duration{{0, 0}}, first.departed)
		assert.Equal(t, [][2]time.Duration{{0, 3 * second}}, again.departed)
		assert.Equal(t, [][2]time.Duration{{second, 2 * second}}, again.answered)
	})
}

// Calls that fail tell what is known.
func TestTheTimeOfCallsThatFail(t *testing.T) {
	never := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	tests := []struct {
		name               string
		answer             http.HandlerFunc
		dial               time.Duration
		departed, answered [][2]time.Duration
	}{
		{"before they depart", unhurried, time.Hour, [][2]time.Duration{{0, 10 * second}}, nil},
		{"before they are answered", never, 4 * second, [][2]time.Duration{{0, 4 * second}}, [][2]time.Duration{{6 * second, 0}}},
		{"in the middle of the answer", unhurried, 8 * second, [][2]time.Duration{{0, 8 * second}}, [][2]time.Duration{{second, second}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := foreign(t, tt.answer)
				ctx, cancel := context.WithTimeout(t.Context(), 10*second)
				defer cancel()
				s := &stopwatch{Context: ctx}
				_, err := say(s, newClient(t, dialling(l.Dial, tt.dial)), pipeEndpoint, "echo", "hi")
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, tt.departed, s.departed)
				require.Equal(t, tt.answered, s.answered)
			})
		})
	}
	t.Run("where nobody listens", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := foreign(t, unhurried)
			s := &stopwatch{Context: t.Context()}
			_, err := say(s, newClient(t, dialling(l.Dial, second)), "http://elsewhere.test:80/mcp", "echo", "hi")
			require.Error(t, err)
			require.Equal(t, [][2]time.Duration{{0, second}}, s.departed)
			require.Empty(t, s.answered)
		})
	})
	t.Run("that were never made", func(t *testing.T) {
		s := &stopwatch{Context: t.Context()}
		_, err := newClient(t, nil).Call(s, pipeEndpoint, "", "echo", func() {}, textOf)
		require.Error(t, err)
		require.Empty(t, s.departed)
	})
}

// An idle stopwatch writes nothing down.
type idle struct{ context.Context }

func (*idle) Departed(_, _ time.Duration) {}
func (*idle) Answered(_, _ time.Duration) {}

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
func TestACallThatDepartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := foreign(t, unhurried)
		client := newClient(t, dialling(func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := l.Dial(ctx, network, address)
			return &fragile{Conn: c}, err
		}, 4*second))
		first, again := &stopwatch{Context: t.Context()}, &stopwatch{Context: t.Context()}
		for _, s := range []*stopwatch{first, again} {
			_, err := say(s, client, pipeEndpoint, "echo", "hi")
			require.NoError(t, err)
			require.Equal(t, [][2]time.Duration{{second, 2 * second}}, s.answered)
		}
		require.Equal(t, [][2]time.Duration{{0, 4 * second}}, first.departed)
		require.Equal(t, [][2]time.Duration{{0, 0}, {0, 4 * second}}, again.departed)
	})
}
