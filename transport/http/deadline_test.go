package http_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
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
	tests := []struct {
		name       string
		ctx, limit time.Duration
	}{
		{"of a context", 3 * time.Second, 0},
		{"of a limit", time.Hour, 3 * time.Second},
		{"of a context that ends before the limit", 3 * time.Second, 30 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inVirtualTime(t, waitingMux, func(t *testing.T, a *testAgent) {
				for _, took := range []string{"0s", "2.999999999s"} {
					ctx, cancel := context.WithTimeout(t.Context(), tt.ctx)
					answer, err := sayWithin(ctx, a.client, tt.limit, pipeEndpoint, "wait", took)
					require.NoError(t, err, "an answer after %v is in time", took)
					require.Equal(t, took, answer)
					cancel()
				}
				for _, took := range []string{"3.000000001s", "1h"} {
					ctx, cancel := context.WithTimeout(t.Context(), tt.ctx)
					start := time.Now()
					_, err := sayWithin(ctx, a.client, tt.limit, pipeEndpoint, "wait", took)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.Equal(t, 3*time.Second, time.Since(start))
					cancel()
				}
			})
		})
	}
}

func TestCanceledCallReturnsAtOnce(t *testing.T) {
	inVirtualTime(t, waitingMux, func(t *testing.T, a *testAgent) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		start := time.Now()
		_, err := sayWithin(ctx, a.client, time.Minute, pipeEndpoint, "wait", "1h")
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}

// A handler may take as long as a move, which is longer than the time limit of a request.
func TestHandlerMayTakeAsLongAsAMove(t *testing.T) {
	inVirtualTime(t, waitingMux, func(t *testing.T, a *testAgent) {
		for _, took := range []string{"30s", "16s", "59s"} {
			answer, err := say(t.Context(), a.client, pipeEndpoint, "wait", took)
			require.NoError(t, err)
			require.Equal(t, took, answer)
		}
		require.Equal(t, 1, a.listener.Accepted(), "one connection for all calls")
	})
}

func TestEndlessHandlerIsCutOff(t *testing.T) {
	inVirtualTime(t, waitingMux, func(t *testing.T, a *testAgent) {
		_, err := say(t.Context(), a.client, pipeEndpoint, "wait", "61s")
		require.Error(t, err)
		var answered *transport.Error
		require.NotErrorAs(t, err, &answered)
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
		var unreachable *transport.UnreachableError
		require.NotErrorAs(t, err, &unreachable, "the client does not know whether a server listens")
	})
}

func TestIdleConnectionsAreClosedByTheClient(t *testing.T) {
	inVirtualTime(t, waitingMux, func(t *testing.T, a *testAgent) {
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

// The server disconnects clients that send too slowly.
func TestSlowClientsAreCutOff(t *testing.T) {
	const header = "POST /mcp HTTP/1.1\r\nHost: agent.test\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
	tests := []struct {
		name    string
		sent    string
		after   time.Duration
		answers string
	}{
		{"that send nothing", "", 5 * time.Second, ""},
		{"that stop within the header", header[:30], 5 * time.Second, ""},
		{"that stop before the body", header, 15 * time.Second, "HTTP/1.1 400 Bad Request"},
		{"that stop within the body", header + `{"jsonrpc":`, 15 * time.Second, "HTTP/1.1 400 Bad Request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inVirtualTime(t, waitingMux, func(t *testing.T, a *testAgent) {
				c, err := a.listener.Dial(t.Context(), "tcp", "agent.test:80")
				require.NoError(t, err)
				start := time.Now()
				_, err = io.WriteString(c, tt.sent)
				require.NoError(t, err)
				answer, err := io.ReadAll(c)
				require.NoError(t, err)
				require.Equal(t, tt.after, time.Since(start).Truncate(time.Second))
				if tt.answers == "" {
					require.Empty(t, answer)
				} else {
					require.Contains(t, string(answer), tt.answers)
				}
				require.NoError(t, c.Close())
				_, err = say(t.Context(), a.client, pipeEndpoint, "echo", "hi")
				require.NoError(t, err, "other clients are served")
			})
		})
	}
}

// A client can read a refusal while it still sends the request: the connection stays open
// for a while.
func TestRefusalOfALargeBodyCanBeRead(t *testing.T) {
	tests := []struct{ name, header string }{
		{"of known length", "Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 100)},
		{"of unknown length", "Transfer-Encoding: chunked\r\n\r\n2801\r\n" + strings.Repeat("x", maxBody+1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inVirtualTime(t, waitingMux, func(t *testing.T, a *testAgent) {
				c, err := a.listener.Dial(t.Context(), "tcp", "agent.test:80")
				require.NoError(t, err)
				start := time.Now()
				_, err = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: agent.test\r\nContent-Type: application/json\r\nConnection: close\r\n"+tt.header)
				require.NoError(t, err)
				answer, err := io.ReadAll(c)
				require.NoError(t, err)
				require.Contains(t, string(answer), "HTTP/1.1 413 Request Entity Too Large")
				require.Contains(t, string(answer), "Connection: close")
				require.Positive(t, time.Since(start), "the connection is not closed at once")
				require.NoError(t, c.Close())
			})
		})
	}
}

func TestShutdownLetsRunningCallsFinish(t *testing.T) {
	inVirtualTime(t, waitingMux, func(t *testing.T, a *testAgent) {
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
			var unreachable *transport.UnreachableError
			assert.ErrorAs(t, err, &unreachable, "new calls are refused during the shutdown")
		})
		require.NoError(t, a.server.Shutdown(t.Context()))
		require.Equal(t, 10*time.Second, time.Since(start).Truncate(time.Second))
		running.Wait()
		require.NoError(t, a.server.Shutdown(t.Context()), "a second shutdown does nothing")
	})
}

func TestShutdownCutsOffEndlessCalls(t *testing.T) {
	inVirtualTime(t, waitingMux, func(t *testing.T, a *testAgent) {
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
