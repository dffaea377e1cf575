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

// A moody caller fails as its mood is, after a second, and counts its calls.
type moody struct {
	mu    sync.Mutex
	calls int
	mood  error
}

func (m *moody) Call(context.Context, transport.Request) (any, *transport.Timing, error) {
	m.mu.Lock()
	m.calls++
	mood := m.mood
	m.mu.Unlock()
	time.Sleep(time.Second)
	if mood != nil {
		return nil, nil, mood
	}
	return "fine", nil, nil
}

func (m *moody) is(mood error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mood = mood
}

func (m *moody) called() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

var errBroken = errors.New("broken")

// broken is a breaker before a moody caller, and what it logs. Choices are
// essential.
func broken(mood error) (*transport.Breaker, *moody, *bytes.Buffer) {
	next, log := &moody{mood: mood}, new(bytes.Buffer)
	return transport.NewBreaker(next, func(method string) bool { return method == "choose" }, zerolog.New(log)), next, log
}

func tell(t *testing.T, b *transport.Breaker, method string) error {
	t.Helper()
	_, _, err := b.Call(t.Context(), transport.Request{Endpoint: "http://agent/mcp", Method: method})
	return err
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, next, log := broken(errBroken)
		for range 4 {
			require.ErrorIs(t, tell(t, b, "notify"), errBroken)
		}
		require.Empty(t, log.String())
		require.ErrorIs(t, tell(t, b, "notify"), errBroken)
		opened := time.Now()
		require.Equal(t, 1, strings.Count(log.String(), `"level":"warn"`))

		var open *transport.OpenError
		require.ErrorAs(t, tell(t, b, "notify"), &open)
		require.Equal(t, &transport.OpenError{Endpoint: "http://agent/mcp", Until: opened.Add(time.Minute)}, open)
		require.EqualError(t, open, "http://agent/mcp has failed too often; the next try is at 2000-01-01T00:01:05Z")
		require.Equal(t, opened, time.Now(), "it fails at once")
		require.Equal(t, 5, next.called())
		_, _, err := b.Call(t.Context(), transport.Request{Endpoint: "http://other/mcp", Method: "notify"})
		require.ErrorIs(t, err, errBroken, "another endpoint is called")

		time.Sleep(time.Until(open.Until) - time.Nanosecond)
		require.ErrorAs(t, tell(t, b, "notify"), &open)
		time.Sleep(time.Nanosecond)
		var trying sync.WaitGroup
		trying.Go(func() { assert.ErrorIs(t, tell(t, b, "notify"), errBroken, "one may try") })
		synctest.Wait()
		require.ErrorAs(t, tell(t, b, "notify"), &open, "and no other meanwhile")
		trying.Wait()
		require.ErrorAs(t, tell(t, b, "notify"), &open, "it failed: another minute")
		require.Equal(t, time.Now().Add(time.Minute), open.Until)

		time.Sleep(time.Minute)
		next.is(nil)
		for range 10 {
			require.NoError(t, tell(t, b, "notify"))
		}
		require.Equal(t, 1, strings.Count(log.String(), `"level":"warn"`), "said once")
		require.Equal(t, 1, strings.Count(log.String(), `"level":"info"`))
	})
}

// A breaker never decides a match.
func TestEssentialCallsPassAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, next, log := broken(errBroken)
		for range 20 {
			require.ErrorIs(t, tell(t, b, "choose"), errBroken)
		}
		var open *transport.OpenError
		require.ErrorAs(t, tell(t, b, "notify"), &open, "their failures count")
		require.Equal(t, 20, next.called())
		next.is(nil)
		require.NoError(t, tell(t, b, "choose"))
		require.NoError(t, tell(t, b, "notify"), "one that succeeds closes the breaker")
		require.Equal(t, 2, strings.Count(log.String(), "\n"), "opened, closed: %s", log)
	})
}

func TestFailuresThatOpenABreaker(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name  string
		mood  error
		opens bool
	}{
		{"no listener", &transport.UnreachableError{Endpoint: "http://agent/mcp"}, true},
		{"no answer in time", context.DeadlineExceeded, true},
		{"an answer that cannot be read", fmt.Errorf("the answer is no JSON: %w", errBroken), true},
		{"an error that was answered", &transport.Error{Code: 4004, Message: "INVALID"}, false},
		{"an error that was answered, wrapped", fmt.Errorf("so: %w", &transport.Error{Code: 4004}), false},
		{"a busy endpoint", busyError{}, false},
		{"a caller that gives up", cancelled.Err(), false},
		{"too few file descriptors", &transport.LocalError{Err: errBroken}, false},
		{"an address that must not be called", &transport.ForbiddenError{Endpoint: "http://agent/mcp"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _, _ := broken(tt.mood)
				for range 5 {
					require.ErrorIs(t, tell(t, b, "notify"), tt.mood)
				}
				var open *transport.OpenError
				require.Equal(t, tt.opens, errors.As(tell(t, b, "notify"), &open))
			})
		})
	}
}

type busyError struct{}

func (busyError) Error() string             { return "busy" }
func (busyError) RetryAfter() time.Duration { return time.Second }

func TestSuccessResetsTheFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, next, _ := broken(nil)
		for range 10 {
			next.is(errBroken)
			for range 4 {
				require.ErrorIs(t, tell(t, b, "notify"), errBroken)
			}
			next.is(nil)
			require.NoError(t, tell(t, b, "notify"))
		}
	})
}

// A trial that says nothing of the endpoint is as if it had not been.
func TestTrialWithoutVerdictIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, next, _ := broken(errBroken)
		for range 5 {
			_ = tell(t, b, "notify")
		}
		time.Sleep(time.Minute)
		for range 3 {
			next.is(context.Canceled)
			require.ErrorIs(t, tell(t, b, "notify"), context.Canceled)
		}
		next.is(nil)
		require.NoError(t, tell(t, b, "notify"))
	})
}

// However many endpoints fail, a breaker remembers a bounded number of them;
// and endpoints that have not failed for long are evicted.
func TestBreakerTracksBoundedEndpoints(t *testing.T) {
	const many = 4096
	synctest.Test(t, func(t *testing.T) {
		b := transport.NewBreaker(failing{}, func(string) bool { return false }, zerolog.Nop())
		call := func(n int) error {
			_, _, err := b.Call(t.Context(), transport.Request{Endpoint: fmt.Sprint("http://", n), Method: "notify"})
			return err
		}
		breaks := func(n int) {
			for range 5 {
				require.ErrorIs(t, call(n), errBroken)
			}
		}
		for n := range many {
			breaks(n)
		}
		var open *transport.OpenError
		require.ErrorAs(t, call(0), &open)
		breaks(many)
		require.ErrorIs(t, call(many), errBroken, "one too many is called as if there was no breaker")
		time.Sleep(time.Minute + 1)
		breaks(many)
		require.ErrorAs(t, call(many), &open, "endpoints that failed long ago are evicted")
	})
}

type failing struct{}

func (failing) Call(context.Context, transport.Request) (any, *transport.Timing, error) {
	return nil, nil, errBroken
}
