package protocol_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
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
