package memory_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
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

// A listening serves the endpoint of the tests, as listen does.
type listening = func(t *testing.T, bus *memory.Bus, mux *transport.Mux) (stop func())

// promptModes is timedModes with handlers in goroutines of their own, and in those of their callers.
func promptModes(t *testing.T, test func(t *testing.T, bus *memory.Bus, listen listening)) {
	t.Helper()
	promptly := func(t *testing.T, bus *memory.Bus, mux *transport.Mux) func() {
		t.Helper()
		mux.SetPrompt()
		return listen(t, bus, mux)
	}
	for name, way := range map[string]listening{"own goroutines": listen, "goroutines of callers": promptly} {
		t.Run(name, func(t *testing.T) {
			timedModes(t, func(t *testing.T, bus *memory.Bus) { test(t, bus, way) })
		})
	}
}

func isUnreachable(t require.TestingT, err error) {
	require.Equal(t, &transport.CallError{Kind: transport.Unreachable, Endpoint: endpoint}, err)
}

func TestOnlyTheWireEncodesValues(t *testing.T) {
	for name, bus := range map[string]*memory.Bus{"values": memory.NewBus(), "wire": memory.NewWireBus()} {
		t.Run(name, func(t *testing.T) {
			sent, answered := &question{Number: 1}, &reply{2}
			var received *question
			answer := func(_ context.Context, _ string, q *question) (any, error) {
				received = q
				return answered, nil
			}
			listen(t, bus, serving(map[string]handler{"ask": answer}))
			var raw string
			r, _, err := bus.Call(context.Background(), transport.Request{
				Endpoint: endpoint, Method: "ask", Params: sent,
				Decode: func(result []byte) (any, error) {
					raw = string(result)
					return replyOf(result)
				},
			})
			require.NoError(t, err)
			if name == "values" {
				assert.Same(t, sent, received)
				assert.Same(t, answered, r)
				assert.Empty(t, raw, "a value bus decodes nothing")
				return
			}
			assert.Equal(t, sent, received)
			assert.NotSame(t, sent, received)
			assert.Equal(t, answered, r)
			assert.NotSame(t, answered, r)
			assert.JSONEq(t, `{"Number":2}`, raw)
		})
	}
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

func TestSlowHandlersDoNotBlockOthers(t *testing.T) {
	promptModes(t, func(t *testing.T, bus *memory.Bus, listen listening) {
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

// A limitedBus is a bus with a way to end each call after three seconds.
type limitedBus struct {
	*memory.Bus

	ctx, limit time.Duration // 0 for none
}

// limitedModes is timedModes with each of these ways.
func limitedModes(t *testing.T, test func(t *testing.T, bus limitedBus)) {
	t.Helper()
	for name, limited := range map[string]limitedBus{
		"by a context": {ctx: 3 * time.Second},
		"by a limit":   {limit: 3 * time.Second},
		"by a limit that ends before the context": {ctx: 30 * time.Second, limit: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			timedModes(t, func(t *testing.T, bus *memory.Bus) { test(t, limitedBus{bus, limited.ctx, limited.limit}) })
		})
	}
}

// wait calls "wait", and returns how long the call has lasted.
func (b limitedBus) wait(ctx context.Context, took time.Duration) (r *reply, lasted time.Duration, err error) {
	if b.ctx != 0 {
		var release context.CancelFunc
		ctx, release = context.WithTimeout(ctx, b.ctx)
		defer release()
	}
	start := time.Now()
	r, err = askWithin(ctx, b.Bus, b.limit, "wait", &question{Number: 1, Nanoseconds: int64(took)})
	return r, time.Since(start), err
}

func TestDeadlines(t *testing.T) {
	limitedModes(t, func(t *testing.T, bus limitedBus) {
		listen(t, bus.Bus, serving(map[string]handler{"wait": wait}))
		for _, took := range []time.Duration{0, time.Second, 3*time.Second - 1, 3*time.Second + 1, time.Hour} {
			r, lasted, err := bus.wait(context.Background(), took)
			require.Equal(t, min(took, 3*time.Second), lasted, "the caller does not wait for the handler")
			if took < 3*time.Second {
				require.NoError(t, err, "an answer after %v is in time", took)
				require.Equal(t, &reply{1}, r)
			} else {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
		}
	})
}

func TestHandlersSeeTheEndOfTheCall(t *testing.T) {
	limitedModes(t, func(t *testing.T, bus limitedBus) {
		start := time.Now()
		var lasted time.Duration
		late := func(ctx context.Context, _ string, _ *question) (any, error) {
			<-ctx.Done()
			lasted = time.Since(start)
			time.Sleep(time.Second) // too late for the caller
			return nil, ctx.Err()
		}
		stop := listen(t, bus.Bus, serving(map[string]handler{"wait": late}))
		_, _, err := bus.wait(context.Background(), 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		stop()
		require.Equal(t, 3*time.Second, lasted)
	})
}

// A prompt handler that waits all the same waits no longer than its caller.
func TestPromptHandlersEndWithTheCall(t *testing.T) {
	limitedModes(t, func(t *testing.T, bus limitedBus) {
		heeding := func(ctx context.Context, _ string, q *question) (any, error) {
			select {
			case <-time.After(time.Duration(q.Nanoseconds)):
				return &reply{q.Number}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		mux := serving(map[string]handler{"wait": heeding})
		mux.SetPrompt()
		listen(t, bus.Bus, mux)
		r, lasted, err := bus.wait(context.Background(), time.Second)
		answered(t, 1, r, err)
		require.Equal(t, time.Second, lasted)
		_, lasted, err = bus.wait(context.Background(), time.Hour)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 3*time.Second, lasted)
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(2*time.Second, cancel)
		_, lasted, err = bus.wait(ctx, time.Hour)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 2*time.Second, lasted)
	})
}

func TestPromptHandlersRunInTheGoroutineOfTheCaller(t *testing.T) {
	modes(t, func(t *testing.T, bus *memory.Bus) {
		var stack string
		var kept context.Context // a handler may keep it
		mux := serving(map[string]handler{
			"ask": func(ctx context.Context, bearer string, q *question) (any, error) {
				stack, kept = string(debug.Stack()), ctx
				deadline, limited := ctx.Deadline()
				assert.True(t, limited)
				assert.WithinDuration(t, time.Now().Add(time.Hour), deadline, time.Minute)
				assert.NoError(t, ctx.Err())
				return echo(ctx, bearer, q)
			},
			"panic": func(context.Context, string, *question) (any, error) { panic("a broken handler") },
		})
		mux.SetPrompt()
		listen(t, bus, mux)
		r, err := askWithin(context.Background(), bus, time.Hour, "ask", &question{Number: 1})
		answered(t, 1, r, err)
		require.Contains(t, stack, "TestPromptHandlersRunInTheGoroutineOfTheCaller")
		require.ErrorIs(t, kept.Err(), context.Canceled, "the call is over")
		_, err = askWithin(context.Background(), bus, time.Hour, "panic", &question{})
		require.Equal(t, transport.CodeInternal, err.(*transport.Error).Code)
		r, err = askWithin(context.Background(), bus, time.Hour, "ask", &question{Number: 2})
		answered(t, 2, r, err)
	})
}

func TestCanceledCallReturns(t *testing.T) {
	limitedModes(t, func(t *testing.T, bus limitedBus) {
		listen(t, bus.Bus, serving(map[string]handler{"wait": wait}))
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(2*time.Second, cancel)
		_, lasted, err := bus.wait(ctx, time.Hour)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 2*time.Second, lasted)
	})
}

func TestStopWaitsForRunningHandlers(t *testing.T) {
	promptModes(t, func(t *testing.T, bus *memory.Bus, listen listening) {
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

func TestNewListenerReplacesTheOldOne(t *testing.T) {
	promptModes(t, func(t *testing.T, bus *memory.Bus, listen listening) {
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
					if transport.KindOf(err) == transport.Unreachable {
						runtime.Gosched()
					} else if !answered(t, c+n, r, err) {
						return
					}
				}
			})
		}
		for n := range 200 {
			mux := serving(map[string]handler{"ask": echo})
			if n%2 == 1 {
				mux.SetPrompt()
			}
			stop := bus.Listen(endpoint, mux)
			runtime.Gosched()
			stop()
		}
		close(done)
		all.Wait()
	})
}
