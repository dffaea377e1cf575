package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
)

// A fakeCaller returns the same for every call, after some time, and counts its calls.
type fakeCaller struct {
	result any
	err    error
	took   time.Duration
	calls  int
}

func (m *fakeCaller) Call(context.Context, transport.Request) (any, *transport.Timing, error) {
	m.calls++
	time.Sleep(m.took)
	return m.result, nil, m.err
}

var errBroken = errors.New("broken")

// newBreaker returns a breaker before a fakeCaller, and its log. Choices are essential.
func newBreaker(err error) (*transport.Breaker, *fakeCaller, *bytes.Buffer) {
	next, log := &fakeCaller{err: err, took: time.Second}, new(bytes.Buffer)
	return transport.NewBreaker(next, func(method string) bool { return method == "choose" }, zerolog.New(log)), next, log
}

func tell(t *testing.T, b *transport.Breaker, method string) error {
	t.Helper()
	_, _, err := b.Call(t.Context(), transport.Request{Endpoint: "http://agent/mcp", Method: method})
	return err
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, next, log := newBreaker(errBroken)
		for range 4 {
			require.ErrorIs(t, tell(t, b, "notify"), errBroken)
		}
		require.Empty(t, log.String())
		require.ErrorIs(t, tell(t, b, "notify"), errBroken)
		opened := time.Now()
		require.Equal(t, 1, strings.Count(log.String(), `"level":"warn"`))

		err := tell(t, b, "notify")
		require.Equal(t, transport.Held, transport.KindOf(err))
		require.EqualError(t, err, "http://agent/mcp has failed too often; the next try is at 2000-01-01T00:01:05Z")
		require.Equal(t, opened, time.Now(), "an open breaker fails at once")
		require.Equal(t, 5, next.calls)
		_, _, err = b.Call(t.Context(), transport.Request{Endpoint: "http://other/mcp", Method: "notify"})
		require.ErrorIs(t, err, errBroken, "calls to another endpoint pass")

		time.Sleep(time.Until(opened.Add(time.Minute)) - time.Nanosecond)
		require.Equal(t, transport.Held, transport.KindOf(tell(t, b, "notify")))
		time.Sleep(time.Nanosecond)
		var trying sync.WaitGroup
		trying.Go(func() { assert.ErrorIs(t, tell(t, b, "notify"), errBroken, "one trial call passes") })
		synctest.Wait()
		require.Equal(t, transport.Held, transport.KindOf(tell(t, b, "notify")), "no second call passes during the trial")
		trying.Wait()
		require.EqualError(t, tell(t, b, "notify"), "http://agent/mcp has failed too often; the next try is at "+
			time.Now().Add(time.Minute).UTC().Format(time.RFC3339), "the trial failed: the breaker stays open for another minute")

		time.Sleep(time.Minute)
		next.err = nil
		for range 10 {
			require.NoError(t, tell(t, b, "notify"))
		}
		require.Equal(t, 1, strings.Count(log.String(), `"level":"warn"`), "one line in the log")
		require.Equal(t, 1, strings.Count(log.String(), `"level":"info"`))
	})
}

// Calls that are part of a match pass an open breaker.
func TestEssentialCallsPassAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, next, log := newBreaker(errBroken)
		for range 20 {
			require.ErrorIs(t, tell(t, b, "choose"), errBroken)
		}
		require.Equal(t, transport.Held, transport.KindOf(tell(t, b, "notify")), "failures of essential calls count")
		require.Equal(t, 20, next.calls)
		next.err = nil
		require.NoError(t, tell(t, b, "choose"))
		require.NoError(t, tell(t, b, "notify"), "an essential call that succeeds closes the breaker")
		require.Equal(t, 2, strings.Count(log.String(), "\n"), "opened, closed: %s", log)
	})
}

func TestFailuresThatOpenABreaker(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tt := range []struct {
		name  string
		err   error
		opens bool
	}{
		{"no listener", &transport.CallError{Kind: transport.Unreachable, Endpoint: "http://agent/mcp"}, true},
		{"a timeout", context.DeadlineExceeded, true},
		{"an unreadable response", fmt.Errorf("the answer is no JSON: %w", errBroken), true},
		{"an error of the endpoint", &transport.Error{Code: 4004, Message: "INVALID"}, false},
		{"a wrapped error of the endpoint", fmt.Errorf("so: %w", &transport.Error{Code: 4004}), false},
		{"a busy endpoint", busyError{}, false},
		{"a canceled call", cancelled.Err(), false},
		{"too few file descriptors", &transport.CallError{Kind: transport.Local, Err: errBroken}, false},
		{"an address that must not be called", &transport.CallError{Kind: transport.Forbidden, Endpoint: "http://agent/mcp"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _, _ := newBreaker(tt.err)
				for range 5 {
					require.ErrorIs(t, tell(t, b, "notify"), tt.err)
				}
				require.Equal(t, tt.opens, transport.KindOf(tell(t, b, "notify")) == transport.Held)
			})
		})
	}
}

type busyError struct{}

func (busyError) Error() string             { return "busy" }
func (busyError) RetryAfter() time.Duration { return time.Second }

func TestSuccessResetsTheFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, next, _ := newBreaker(nil)
		for range 10 {
			next.err = errBroken
			for range 4 {
				require.ErrorIs(t, tell(t, b, "notify"), errBroken)
			}
			next.err = nil
			require.NoError(t, tell(t, b, "notify"))
		}
	})
}
