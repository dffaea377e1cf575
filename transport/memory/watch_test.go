package memory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
	"evenodd/transport/memory"
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

func TestWhereTheTimeOfACallGoes(t *testing.T) {
	took := func(d time.Duration) [][2]time.Duration { return [][2]time.Duration{{d, 0}} }
	for name, bus := range map[string]func() *memory.Bus{"values": memory.NewBus, "wire": memory.NewWireBus} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, mux := bus(), transport.NewMux(zerolog.Nop())
				mux.Handle("wait", func([]byte) (any, error) { return nil, nil }, func(context.Context, string, any) (any, error) {
					time.Sleep(3 * time.Second)
					return map[string]int{}, nil
				})
				defer b.Listen("memory://agent", mux)()
				call := func(ctx context.Context, endpoint string) error {
					_, err := b.Call(ctx, endpoint, "", "wait", map[string]int{}, func([]byte) (any, error) { return nil, nil })
					return err
				}
				for range 2 { // a new worker, and one that is there
					s := &stopwatch{Context: t.Context()}
					require.NoError(t, call(s, "memory://agent"))
					require.Equal(t, took(0), s.departed)
					require.Equal(t, took(3*time.Second), s.answered)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				s := &stopwatch{Context: ctx}
				require.ErrorIs(t, call(s, "memory://agent"), context.DeadlineExceeded)
				require.Equal(t, took(time.Second), s.answered, "whoever leaves has waited so long")
				s = &stopwatch{Context: t.Context()}
				require.Error(t, call(s, "memory://nobody"))
				require.Empty(t, s.departed)
			})
		})
	}
}
