package memory_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"evenodd/transport"
	"evenodd/transport/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const endpoint = "memory://p01/mcp"

type (
	question struct {
		Number      int
		Nanoseconds int64 // how long the handler of "wait" takes
	}
	reply struct{ Number int }
)

// replyOf decodes a reply; a value bus never calls it.
func replyOf(raw []byte) (any, error) {
	r := new(reply)
	return r, json.Unmarshal(raw, r)
}

// A handler of a method in the tests.
type handler = func(ctx context.Context, bearer string, q *question) (any, error)

// serving is a mux with one handler per method.
func serving(handlers map[string]handler) *transport.Mux {
	mux := transport.NewMux(zerolog.Nop())
	for method, h := range handlers {
		mux.Handle(method, func(params []byte) (any, error) {
			q := new(question)
			return q, json.Unmarshal(params, q)
		}, func(ctx context.Context, bearer string, params any) (any, error) {
			return h(ctx, bearer, params.(*question))
		})
	}
	return mux
}

// echo answers with the number of the question.
func echo(_ context.Context, _ string, q *question) (any, error) { return &reply{q.Number}, nil }

// wait is echo after the time in the question. It ignores its context.
func wait(ctx context.Context, bearer string, q *question) (any, error) {
	time.Sleep(time.Duration(q.Nanoseconds))
	return echo(ctx, bearer, q)
}

// ask calls a method at the endpoint of the tests.
func ask(ctx context.Context, bus *memory.Bus, method string, q *question) (*reply, error) {
	return askWithin(ctx, bus, 0, method, q)
}

// askWithin calls a method with a limit.
func askWithin(ctx context.Context, bus *memory.Bus, limit time.Duration, method string, q *question) (*reply, error) {
	r, _, err := bus.Call(ctx, transport.Request{Endpoint: endpoint, Method: method, Params: q, Decode: replyOf, Limit: limit})
	if err != nil {
		return nil, err
	}
	return r.(*reply), nil
}

// listen serves the endpoint of the tests until stop, or the end of the test.
func listen(t *testing.T, bus *memory.Bus, mux *transport.Mux) (stop func()) {
	t.Helper()
	stop = bus.Listen(endpoint, mux)
	t.Cleanup(stop)
	return stop
}

// answered checks an answer, in any goroutine of a test.
func answered(t *testing.T, number int, r *reply, err error) bool {
	t.Helper()
	return assert.NoError(t, err) && assert.Equal(t, &reply{number}, r)
}

// modes runs a test with each kind of bus.
func modes(t *testing.T, test func(t *testing.T, bus *memory.Bus)) {
	t.Helper()
	t.Run("values", func(t *testing.T) { test(t, memory.NewBus()) })
	t.Run("wire", func(t *testing.T) { test(t, memory.NewWireBus()) })
}

// timedModes is modes in virtual time.
func timedModes(t *testing.T, test func(t *testing.T, bus *memory.Bus)) {
	t.Helper()
	t.Run("values", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, memory.NewBus()) })
	})
	t.Run("wire", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, memory.NewWireBus()) })
	})
}

func isUnreachable(t require.TestingT, err error) {
	var unreachable *transport.UnreachableError
	require.ErrorAs(t, err, &unreachable)
	require.Equal(t, endpoint, unreachable.Endpoint)
}

func TestValuesArePassedUnchanged(t *testing.T) {
	bus := memory.NewBus()
	sent, answered := &question{Number: 1}, &reply{2}
	var received *question
	listen(t, bus, serving(map[string]handler{"ask": func(_ context.Context, _ string, q *question) (any, error) {
		received = q
		return answered, nil
	}}))
	r, _, err := bus.Call(context.Background(), transport.Request{Endpoint: endpoint, Method: "ask", Params: sent, Decode: func([]byte) (any, error) {
		return nil, errors.New("a value bus decodes nothing")
	}})
	require.NoError(t, err)
	assert.Same(t, sent, received)
	assert.Same(t, answered, r)
}

func TestWireEncodesBothWays(t *testing.T) {
	bus := memory.NewWireBus()
	sent, answered := &question{Number: 1}, &reply{2}
	var received *question
	listen(t, bus, serving(map[string]handler{"ask": func(_ context.Context, _ string, q *question) (any, error) {
		received = q
		return answered, nil
	}}))
	var raw string
	r, _, err := bus.Call(context.Background(), transport.Request{Endpoint: endpoint, Method: "ask", Params: sent, Decode: func(result []byte) (any, error) {
		raw = string(result)
		return replyOf(result)
	}})
	require.NoError(t, err)
	assert.Equal(t, sent, received)
	assert.NotSame(t, sent, received)
	assert.Equal(t, answered, r)
	assert.NotSame(t, answered, r)
	assert.JSONEq(t, `{"Number":2}`, raw)
}

func TestWireFailures(t *testing.T) {
	refusal := errors.New("no reply")
	for _, tt := range []struct {
		name   string
		params any
		result any
		decode error
		want   error // nil where any error that is no answer will do
	}{
		{"params that cannot be encoded", func() {}, nil, nil, nil},
		{"a result that cannot be encoded", &question{}, func() {}, nil, &transport.Error{Code: transport.CodeInternal, Message: "Internal error"}},
		{"a result that the caller cannot read", &question{}, &reply{}, refusal, refusal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bus := memory.NewWireBus()
			listen(t, bus, serving(map[string]handler{
				"ask":  func(context.Context, string, *question) (any, error) { return tt.result, nil },
				"echo": echo,
			}))
			_, _, err := bus.Call(context.Background(), transport.Request{
				Endpoint: endpoint, Method: "ask", Params: tt.params, Decode: func([]byte) (any, error) { return nil, tt.decode },
			})
			require.Error(t, err)
			if tt.want != nil {
				require.Equal(t, tt.want, err)
			} else {
				var answered *transport.Error
				require.NotErrorAs(t, err, &answered)
			}
			r, err := ask(context.Background(), bus, "echo", &question{Number: 3})
			require.NoError(t, err, "the next call succeeds")
			require.Equal(t, &reply{3}, r)
		})
	}
}

func TestBearerAndErrorsArePassedOn(t *testing.T) {
	modes(t, func(t *testing.T, bus *memory.Bus) {
		listen(t, bus, serving(map[string]handler{"ask": func(_ context.Context, bearer string, _ *question) (any, error) {
			return nil, &transport.Error{Code: 12, Message: bearer}
		}}))
		_, _, err := bus.Call(context.Background(), transport.Request{Endpoint: endpoint, Bearer: "credential", Method: "ask", Params: &question{}, Decode: replyOf})
		require.Equal(t, &transport.Error{Code: 12, Message: "credential"}, err)
	})
}

func TestSlowHandlersDoNotBlockOthers(t *testing.T) {
	timedModes(t, func(t *testing.T, bus *memory.Bus) {
		listen(t, bus, serving(map[string]handler{"wait": wait, "echo": echo}))
		start := time.Now()
		var slow sync.WaitGroup
		for n := range 10 {
			slow.Go(func() {
				r, err := ask(context.Background(), bus, "wait", &question{Number: n, Nanoseconds: int64(time.Minute)})
				answered(t, n, r, err)
				assert.Equal(t, time.Minute, time.Since(start), "slow handlers run at once")
			})
		}
		synctest.Wait()
		r, err := ask(context.Background(), bus, "echo", &question{Number: 99})
		require.NoError(t, err)
		require.Equal(t, &reply{99}, r)
		require.Zero(t, time.Since(start), "a quick handler answers at once beside slow ones")
		slow.Wait()
	})
}

// limits are the ways a caller limits a call: each ends after three seconds.
func limits() []struct {
	name       string
	ctx, limit time.Duration // 0 for none
} {
	return []struct {
		name       string
		ctx, limit time.Duration
	}{
		{"by a context", 3 * time.Second, 0},
		{"by a limit", 0, 3 * time.Second},
		{"by a limit that ends before the context", 30 * time.Second, 3 * time.Second},
	}
}

// within is a context that ends after a time, if it is not 0.
func within(length time.Duration) (context.Context, context.CancelFunc) {
	if length == 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), length)
}

func TestDeadlines(t *testing.T) {
	for _, tt := range limits() {
		t.Run(tt.name, func(t *testing.T) {
			timedModes(t, func(t *testing.T, bus *memory.Bus) {
				listen(t, bus, serving(map[string]handler{"wait": wait}))
				for _, took := range []time.Duration{0, time.Second, 3*time.Second - 1} {
					ctx, release := within(tt.ctx)
					start := time.Now()
					r, err := askWithin(ctx, bus, tt.limit, "wait", &question{Number: 1, Nanoseconds: int64(took)})
					require.NoError(t, err, "an answer after %v is in time", took)
					require.Equal(t, &reply{1}, r)
					require.Equal(t, took, time.Since(start))
					release()
				}
				for _, took := range []time.Duration{3*time.Second + 1, time.Hour} {
					ctx, release := within(tt.ctx)
					start := time.Now()
					_, err := askWithin(ctx, bus, tt.limit, "wait", &question{Nanoseconds: int64(took)})
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.Equal(t, 3*time.Second, time.Since(start), "the caller returns at its deadline, not when the handler does")
					release()
				}
			})
		})
	}
}

func TestHandlersSeeTheEndOfTheCall(t *testing.T) {
	for _, tt := range limits() {
		t.Run(tt.name, func(t *testing.T) {
			timedModes(t, func(t *testing.T, bus *memory.Bus) {
				start := time.Now()
				var lasted time.Duration
				stop := listen(t, bus, serving(map[string]handler{"ask": func(ctx context.Context, _ string, _ *question) (any, error) {
					<-ctx.Done()
					lasted = time.Since(start)
					time.Sleep(time.Second) // too late for the caller
					return nil, ctx.Err()
				}}))
				ctx, release := within(tt.ctx)
				_, err := askWithin(ctx, bus, tt.limit, "ask", &question{})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				release()
				stop()
				require.Equal(t, 3*time.Second, lasted)
			})
		})
	}
}

func TestCanceledCallReturns(t *testing.T) {
	for _, tt := range limits() {
		t.Run(tt.name, func(t *testing.T) {
			timedModes(t, func(t *testing.T, bus *memory.Bus) {
				listen(t, bus, serving(map[string]handler{"wait": wait}))
				ctx, release := within(tt.ctx)
				time.AfterFunc(2*time.Second, release)
				start := time.Now()
				_, err := askWithin(ctx, bus, tt.limit, "wait", &question{Nanoseconds: int64(time.Hour)})
				require.ErrorIs(t, err, context.Canceled)
				require.Equal(t, 2*time.Second, time.Since(start))
				release()
			})
		})
	}
}

func TestStopWaitsForRunningHandlers(t *testing.T) {
	timedModes(t, func(t *testing.T, bus *memory.Bus) {
		stop := listen(t, bus, serving(map[string]handler{"wait": wait}))
		start := time.Now()
		var running sync.WaitGroup
		for n := range 3 {
			running.Go(func() {
				r, err := ask(context.Background(), bus, "wait", &question{Number: n, Nanoseconds: int64(n+3) * int64(time.Second)})
				answered(t, n, r, err) // a running call is
			})
		}
		synctest.Wait()
		running.Go(func() {
			time.Sleep(time.Second)
			_, err := ask(context.Background(), bus, "wait", &question{})
			isUnreachable(t, err) // a new call is refused while the last ones run
		})
		stop()
		require.Equal(t, 5*time.Second, time.Since(start), "stop waits for the slowest handler")
		_, err := ask(context.Background(), bus, "wait", &question{})
		isUnreachable(t, err)
		running.Wait()
		stop() // once more does nothing
	})
}

func TestStopLeavesNoGoroutine(t *testing.T) {
	modes(t, func(t *testing.T, bus *memory.Bus) {
		before := goleak.IgnoreCurrent()
		for range 3 {
			stop := bus.Listen(endpoint, serving(map[string]handler{"ask": echo}))
			var all sync.WaitGroup
			for n := range 50 {
				all.Go(func() {
					_, err := ask(context.Background(), bus, "ask", &question{Number: n})
					assert.NoError(t, err)
				})
			}
			all.Wait()
			stop()
			goleak.VerifyNone(t, before)
		}
	})
}

func TestNewListenerReplacesTheOldOne(t *testing.T) {
	timedModes(t, func(t *testing.T, bus *memory.Bus) {
		number := func(n int, took time.Duration) *transport.Mux {
			return serving(map[string]handler{"who": func(context.Context, string, *question) (any, error) {
				time.Sleep(took)
				return &reply{n}, nil
			}})
		}
		asked := func() int {
			r, err := ask(context.Background(), bus, "who", &question{})
			if !assert.NoError(t, err) {
				return 0
			}
			return r.Number
		}
		stopFirst := listen(t, bus, number(1, time.Minute))
		var running sync.WaitGroup
		running.Go(func() { assert.Equal(t, 1, asked(), "a call that runs is answered by whom it reached") })
		synctest.Wait()

		stopSecond := listen(t, bus, number(2, 0))
		require.Equal(t, 2, asked(), "new calls go to the new listener")
		stopFirst()
		running.Wait()
		require.Equal(t, 2, asked(), "the end of the first does not end the second")
		stopSecond()
		_, err := ask(context.Background(), bus, "who", &question{})
		isUnreachable(t, err)

		listen(t, bus, number(3, 0))
		require.Equal(t, 3, asked(), "an endpoint can be served again")
	})
}

// Listeners start and stop while calls arrive. A call gets an answer, or the error that
// nobody listens.
func TestStopRacesWithCalls(t *testing.T) {
	modes(t, func(t *testing.T, bus *memory.Bus) {
		done := make(chan struct{})
		var all sync.WaitGroup
		for c := range 4 {
			all.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-done:
						return
					default:
					}
					r, err := ask(context.Background(), bus, "ask", &question{Number: c + n})
					var unreachable *transport.UnreachableError
					if errors.As(err, &unreachable) {
						runtime.Gosched()
					} else if !answered(t, c+n, r, err) {
						return
					}
				}
			})
		}
		for range 200 {
			stop := bus.Listen(endpoint, serving(map[string]handler{"ask": echo}))
			runtime.Gosched()
			stop()
		}
		close(done)
		all.Wait()
	})
}
