package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
)

const ms = time.Millisecond

// A question is called with its window, and its window is extended by the carrier.
func TestAskExtendsItsWindowAndReturnsTheTiming(t *testing.T) {
	want := protocol.Timing{Queued: 20 * ms, Connecting: 10 * ms, Waiting: 4 * ms, Reading: ms, Departed: time.Now()}
	carrier := measuring{timing: want}
	_, timing, err := protocol.Invite.Ask(t.Context(), &carrier, somewhere, &protocol.GameInvitation{}, 3*time.Second)
	require.NoError(t, err)
	assert.Equal(t, &want, timing)
	assert.Equal(t, 35*ms, want.Total())
	assert.Equal(t, 3*time.Second, carrier.got.Limit)
	assert.True(t, carrier.got.ExtendByQueue)

	carrier.err = context.DeadlineExceeded
	_, timing, err = protocol.Invite.CallWithin(t.Context(), &carrier, somewhere, &protocol.GameInvitation{}, 3*time.Second)
	require.Error(t, err)
	assert.Equal(t, &want, timing, "also of a call that failed")
	assert.False(t, carrier.got.ExtendByQueue)
}

// measuring is a carrier that measures the timing of its calls.
type measuring struct {
	timing protocol.Timing
	err    error
	got    protocol.CallRequest
}

func (m *measuring) Call(_ context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	m.got = r
	timing := m.timing
	return &protocol.GameJoinAck{}, &timing, m.err
}

func TestLocalErrors(t *testing.T) {
	failure := &transport.LocalError{Err: errors.New("too many open files")}
	assert.True(t, protocol.Local(protocol.AsError(fmt.Errorf("dial: %w", failure))))
	assert.False(t, protocol.Local(errors.New("reset by peer")))
	assert.False(t, protocol.Local(nil))
	remote := protocol.AsError(failure)
	remote.Remote = true
	assert.False(t, protocol.Local(remote), "another side's trouble is not ours")
}
