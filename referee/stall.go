package referee

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	stallTick  = 20 * time.Millisecond
	leastStall = 50 * time.Millisecond // a shorter one is ignored; half of the smallest margin
	keptStalls = 1024                  // the last minutes, unless the process does nothing but stall
)

// A StallMonitor records when this process stalled: swapped out, stopped, starved by
// other processes, or overloaded. It sets a timer every 20 ms; each tick that comes
// late is a stall.
//
// A tick waits in the queue of all goroutines like an answer that has arrived, so
// it is late when answers are.
type StallMonitor struct {
	end     chan struct{}
	running sync.WaitGroup

	mu     sync.Mutex
	last   time.Time // the last tick
	stalls []stall   // the last keptStalls, oldest first
}

// A stall is the time between two ticks. It began within the first 20 ms.
type stall struct{ from, to time.Time }

func (s stall) length() time.Duration { return s.to.Sub(s.from) - stallTick }

// WatchStalls starts a monitor, which runs until Stop. Its Longest is for
// Options.Stalls.
func WatchStalls() *StallMonitor {
	m := &StallMonitor{end: make(chan struct{}), last: time.Now()}
	m.running.Go(m.watch)
	return m
}

// Stop ends the monitor and waits for it.
func (m *StallMonitor) Stop() {
	close(m.end)
	m.running.Wait()
}

func (m *StallMonitor) watch() {
	timer := time.NewTimer(stallTick)
	defer timer.Stop()
	for {
		select {
		case <-m.end:
			return
		case <-timer.C:
		}
		runtime.Gosched() // a timer wakes its goroutine before others; an answer does not
		m.tick(time.Now())
		timer.Reset(stallTick)
	}
}

func (m *StallMonitor) tick(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := stall{m.last, now}
	m.last = now
	if s.length() < leastStall {
		return
	}
	if len(m.stalls) == keptStalls {
		m.stalls = slices.Delete(m.stalls, 0, 1)
	}
	m.stalls = append(m.stalls, s)
}

// Longest returns the length of the longest stall that reaches into a span,
// including one that is just ending; 0 for none.
func (m *StallMonitor) Longest(from, to time.Time) time.Duration {
	return m.longest(from, to, time.Now())
}

func (m *StallMonitor) longest(from, to, now time.Time) (longest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	current := stall{m.last, now} // its tick may come after this call
	for _, s := range append(slices.Clip(m.stalls), current) {
		if s.length() >= leastStall && s.from.Before(to) && s.to.After(from) {
			longest = max(longest, s.length())
		}
	}
	return longest
}
