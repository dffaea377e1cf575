package http_test

import (
	"context"
	"errors"
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
	for _, tt := range []struct {
		name       string
		ctx, limit time.Duration
	}{
		{"of a context", 3 * time.Second, 0},
		{"of a limit", time.Hour, 3 * time.Second},
		{"of a context that ends before the limit", 3 * time.Second, 30 * time.Second},
	} {
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
