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

func TestDeadlineDecidesWhichResponsesAreLate(t *testing.T) {
	deadline := time.Date(2026, 1, 1, 12, 0, 30, 0, time.UTC)
	queued := func(d time.Duration) *protocol.Timing { return &protocol.Timing{Queued: d, Waiting: time.Hour} }
	for _, test := range []struct {
		name    string
		timings []*protocol.Timing
		after   time.Duration // after the deadline the response was read
		late    bool
	}{
		{"before the deadline", nil, -time.Second, false},
		{"within the tolerance", nil, time.Second, false},
		{"in the millisecond of the tolerance", nil, time.Second + 999*time.Microsecond, false},
		{"after the tolerance", nil, time.Second + time.Millisecond, true},
		{"queued", []*protocol.Timing{nil, queued(2 * time.Second), queued(time.Second)}, 4 * time.Second, false},
		{"queued for less", []*protocol.Timing{queued(2 * time.Second), queued(time.Second)}, 4*time.Second + time.Millisecond, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var d protocol.Deadline
			d.Ask(deadline.Add(-time.Minute))
			d.Queue(queued(time.Hour)) // of the question before
			for _, timing := range append(test.timings, nil) {
				d.Ask(deadline)
				d.Queue(timing)
			}
			after, late := d.Late(deadline.Add(test.after))
			assert.Equal(t, test.late, late)
			assert.Equal(t, test.after.Truncate(time.Millisecond), after)
		})
	}
}

func TestNothingIsLateWithoutADeadline(t *testing.T) {
	var d protocol.Deadline
	_, late := d.Late(time.Now())
	assert.False(t, late)
}

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
	failure := &transport.CallError{Kind: transport.Local, Err: errors.New("too many open files")}
	assert.True(t, protocol.Local(protocol.AsError(fmt.Errorf("dial: %w", failure))))
	assert.False(t, protocol.Local(errors.New("reset by peer")))
	assert.False(t, protocol.Local(nil))
	remote := protocol.AsError(failure)
	remote.Remote = true
	assert.False(t, protocol.Local(remote), "another side's trouble is not ours")
}
