package referee

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLongestStallOfASpanIsReported(t *testing.T) {
	began := time.Now()
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	at := func(n int) time.Time { return began.Add(ms(n)) }
	m := &StallMonitor{last: began}
	for _, tick := range []int{20, 40, 120, 140, 189, 209, 1229, 1249} { // late by 60, 29 and 1000 ms
		m.tick(at(tick))
	}
	for _, test := range []struct {
		name          string
		from, to, now int
		longest       int // ms
	}{
		{"before all stalls", -100, 30, 1250, 0},
		{"from before a stall to its middle", 0, 50, 1250, 60},
		{"inside", 60, 61, 1250, 60},
		{"from inside to after it", 110, 150, 1250, 60},
		{"just after it", 120, 130, 1250, 0},
		{"over two stalls", 60, 300, 1250, 1000},
		{"too short to count", 141, 188, 1250, 0},
		{"nothing since the last tick", 1249, 1260, 1260, 0},
		{"a stall that is just ending", 1255, 1300, 1469, 200},
		{"a stall that is just ending and shorter than another", 1000, 1300, 1469, 1000},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, ms(test.longest), m.longest(at(test.from), at(test.to), at(test.now)))
		})
	}
}

func TestOldestStallsAreEvicted(t *testing.T) {
	now := time.Now()
	m := &StallMonitor{last: now}
	began := now
	for n := range 3 * keptStalls / 2 {
		now = now.Add(time.Second)
		if n == 0 {
			now = now.Add(time.Minute)
		}
		m.tick(now)
	}
	assert.Len(t, m.stalls, keptStalls)
	assert.Equal(t, 980*time.Millisecond, m.longest(began, now, now), "the long stall was the first")
	assert.Zero(t, m.longest(began, began.Add(time.Minute), now))
}

func TestMonitorOfAnIdleProcessReportsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := WatchStalls()
		<-time.After(time.Second)
		assert.Zero(t, m.Longest(began, time.Now()))
		m.Stop()
	})
}
