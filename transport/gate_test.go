package transport_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
)

type callerFunc func(ctx context.Context, r transport.Request) (any, *transport.Timing, error)

// Call implements transport.Caller.
func (f callerFunc) Call(ctx context.Context, r transport.Request) (any, *transport.Timing, error) {
	return f(ctx, r)
}

func TestCallsWaitForTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Bool
		begun := time.Now()
		caller := transport.Gated(callerFunc(func(_ context.Context, r transport.Request) (any, *transport.Timing, error) {
			return []any{time.Since(begun), r.Limit}, nil, nil
		}), open.Load)
		time.AfterFunc(19990*time.Millisecond, func() { open.Store(true) })
		stopped, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := caller.Call(stopped, transport.Request{})
		require.ErrorIs(t, err, context.DeadlineExceeded, "the process ends meanwhile")
		got, _, err := caller.Call(t.Context(), transport.Request{Limit: time.Second})
		require.NoError(t, err)
		assert.Equal(t, []any{20 * time.Second, time.Second}, got, "the limit begins with the call")
	})
}

// A process that loses the right to answer while it works does not answer.
func TestClosedGateHasNoResult(t *testing.T) {
	var open atomic.Bool
	mux, handled := transport.NewMux(zerolog.Nop()), 0
	plain := func(params []byte) (any, error) { return params, nil }
	mux.Gate(open.Load)
	mux.Handle("close", plain, func(context.Context, string, any) (any, error) {
		handled++
		open.Store(false)
		return "secret", nil
	})
	for _, opened := range []bool{false, true} {
		open.Store(opened)
		answer := mux.Serve(t.Context(), "", []byte(`{"jsonrpc":"2.0","method":"close","params":{},"id":1}`))
		assert.Contains(t, string(answer.Body), "does not lead")
		assert.NotContains(t, string(answer.Body), "secret")
		assert.Equal(t, time.Second, answer.RetryAfter)
		assert.False(t, mux.Open())
	}
	assert.Equal(t, 1, handled)
}
