package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

const ms = time.Millisecond

// after lets so much time pass in a bubble.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// assertEnd holds the end of a context against a time from now.
func assertEnd(t *testing.T, l *protocol.Limited, in time.Duration) {
	t.Helper()
	end, _ := l.Deadline()
	assert.Equal(t, in, time.Until(end))
	_, limit := l.Limit()
	assert.Equal(t, end, limit)
}

func TestAWindowMovesByWhatWasQueued(t *testing.T) {
	for _, waited := range []bool{false, true} { // somebody waits for Done from the beginning
		t.Run(fmt.Sprint(waited), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := protocol.Window(context.Background(), time.Second)
				defer l.Stop()
				if waited {
					_ = l.Done()
				}
				after(600 * ms)
				l.Departed(600*ms, 50*ms)
				assertEnd(t, l, time.Second)
				l.Departed(400*ms, 0) // sent again: it never moves back
				assertEnd(t, l, time.Second)
				l.Departed(700*ms, 0)
				assertEnd(t, l, 1100*ms)
				assert.Equal(t, 700*ms, l.Extended())
				after(1099 * ms)
				require.NoError(t, l.Err())
				after(ms)
				require.ErrorIs(t, l.Err(), context.DeadlineExceeded)
				<-l.Done()
				l.Departed(900*ms, 0)
				assert.Equal(t, 700*ms, l.Extended(), "what is over stays over")
				require.ErrorIs(t, l.Err(), context.DeadlineExceeded)
			})
		})
	}
}

func TestAWindowNeverOutlastsItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithTimeout(context.Background(), 1500*ms)
		defer cancel()
		l := protocol.Window(parent, time.Second)
		defer l.Stop()
		done := l.Done()
		l.Departed(800*ms, 0)
		assertEnd(t, l, 1500*ms)
		assert.Equal(t, 500*ms, l.Extended())
		after(1500 * ms)
		<-done
		require.ErrorIs(t, l.Err(), context.DeadlineExceeded)
	})
}

func TestALimitDoesNotMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := protocol.Limit(context.Background(), time.Second)
		defer l.Stop()
		l.Departed(300*ms, 0)
		assertEnd(t, l, time.Second)
		assert.Equal(t, 300*ms, l.Timing().Queued, "but it remembers")
	})
}

func TestTheNextCallInAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := protocol.Window(context.Background(), time.Second)
		after(100 * ms)
		l.Departed(100*ms, 0)
		next := l.Again()
		defer next.Stop()
		require.ErrorIs(t, l.Err(), context.Canceled)
		require.NoError(t, next.Err())
		assertEnd(t, next, time.Second)
		assert.Nil(t, next.Timing())
		after(200 * ms)
		next.Departed(200*ms, 0)
		assertEnd(t, next, time.Second)
		assert.Equal(t, 300*ms, next.Extended())
	})
}

func TestTimingOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := protocol.Limit(context.Background(), 10*time.Second)
		defer l.Stop()
		assert.Nil(t, l.Timing(), "nobody told")
		l.Departed(20*ms, 30*ms)
		after(40 * ms)
		assert.Equal(t, &protocol.Timing{Queued: 20 * ms, Connecting: 30 * ms, Waiting: 40 * ms}, l.Timing(), "no answer yet")
		l.Departed(20*ms, 10*ms) // the connection had gone
		after(5 * ms)
		l.Answered(4*ms, ms)
		after(time.Second)
		want := protocol.Timing{Queued: 20 * ms, Connecting: 10 * ms, Waiting: 4 * ms, Reading: ms}
		assert.Equal(t, &want, l.Timing())
		assert.Equal(t, 35*ms, want.Total())
	})
}

func TestTimingAsJSON(t *testing.T) {
	raw, err := json.Marshal(protocol.Timing{Queued: 1234567 * time.Microsecond, Connecting: 40 * time.Microsecond, Waiting: 5 * time.Second})
	require.NoError(t, err)
	assert.JSONEq(t, `{"queued_ms": 1234.6, "connecting_ms": 0, "waiting_ms": 5000, "reading_ms": 0}`, string(raw))
	var back protocol.Timing
	require.NoError(t, json.Unmarshal(raw, &back))
	assert.Equal(t, protocol.Timing{Queued: 1234600 * time.Microsecond, Waiting: 5 * time.Second}, back)
	require.Error(t, json.Unmarshal([]byte(`{"queued_ms": "much"}`), &back))
}

func TestMargins(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{
		time.Second: 100 * ms, 2 * time.Second: 100 * ms, 5 * time.Second: 250 * ms, 20 * time.Second: time.Second,
		30 * time.Second: time.Second, 0: 100 * ms,
	} {
		assert.Equal(t, want, protocol.Margin(window), window)
	}
}

type ours struct{ error }

func (ours) Local() bool { return true }

func TestLocalErrors(t *testing.T) {
	failure := ours{errors.New("too many open files")}
	assert.True(t, protocol.Local(protocol.AsError(fmt.Errorf("dial: %w", failure))))
	assert.False(t, protocol.Local(errors.New("reset by peer")))
	assert.False(t, protocol.Local(nil))
	remote := protocol.AsError(failure)
	remote.Remote = true
	assert.False(t, protocol.Local(remote), "another side's trouble is not ours")
}
