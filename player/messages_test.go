package player

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/membership"
	"evenodd/league/protocol"
)

func TestPastDeadlineIsIgnored(t *testing.T) {
	now := time.Date(2025, 1, 15, 10, 30, 0, 0, time.UTC)
	p := &Player{options: Options{Options: membership.Options{Clock: protocol.NewClock(func() time.Time { return now }, nil)}}}
	for _, test := range []struct {
		name, asked, deadline string
		want                  time.Duration
	}{
		{"half a minute", "2025-01-15T10:30:00Z", "2025-01-15T10:30:30Z", 30 * time.Second},
		{"a second", "2025-01-15T10:30:00Z", "2025-01-15T10:30:01Z", time.Second},
		{"the rest of half a minute", "2025-01-15T10:29:50Z", "2025-01-15T10:30:20Z", 20 * time.Second},
		{"now", "2025-01-15T10:30:00Z", "2025-01-15T10:30:00Z", 0},
		{"now, a moment later", "2025-01-15T10:30:00.135401Z", "2025-01-15T10:30:00.135409Z", 0},
		{"now, by a clock that is ahead", "2025-01-15T10:30:07Z", "2025-01-15T10:30:07Z", 0},
		{"before the request", "2025-01-15T10:30:09.165609Z", "2025-01-15T10:30:09.1656Z", 0},
		{"long ago", "2025-01-15T09:30:00Z", "2025-01-15T09:30:30Z", 0},
		{"nothing", "2025-01-15T10:30:00Z", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, p.within(test.asked, test.deadline))
		})
	}
}

// Only conversation ids in the form of this program contain an attempt.
func TestAttemptIsParsedFromOwnConversationIDs(t *testing.T) {
	for conversation, attempt := range map[string]int{
		"conv-r1m1-a1":                         1,
		"conv-r1m1-a12":                        12,
		"conv-r1m1-a0":                         1,
		"conv-r1m1-a02":                        1,
		"conv-r2m1-a7":                         1,
		"conv-R1M1-a1234567":                   1,
		"bb9530a3-a9f8-4972-a02d-a12345678901": 1,
		"":                                     1,
	} {
		assert.Equal(t, attempt, attemptOf("R1M1", conversation), conversation)
	}
}
