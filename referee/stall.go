package referee

import (
	"runtime"
	"sync"
	"time"
)

const (
	stallTick  = 20 * time.Millisecond
	leastStall = 50 * time.Millisecond // what is shorter is forgotten; half of the smallest margin
	keptStalls = 1024                  // minutes, unless the process does nothing but stall
)

// A StallMonitor remembers when this process stood still: swapped out, stopped,
// starved by others on the machine, or with more to do than it can. It asks for
// a tick every 20 ms, and each that comes late is a stall.
//
// A tick waits in the queue of all goroutines like an answer that has arrived:
// so it is late when answers are.
type StallMonitor struct {
	end     chan struct{}
	running sync.WaitGroup

	mu     sync.Mutex
	last   time.Time // the last tick
	stalls []stall   // a ring
	next   int       // where the oldest is, once the ring is full
}

// A stall is a time between two ticks. It began somewhere in the first 20 ms.
type stall struct {
	from, to time.Time
}

func (s stall) length() time.Duration { return s.to.Sub(s.from) - stallTick }

// WatchStalls starts a monitor, which runs until Stop. Its Longest is what
// Options.Stalls wants.
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
		runtime.Gosched() // whom a timer wakes goes first; an answer does not
		m.tick(time.Now())
		timer.Reset(stallTick)
	}
}

// tick takes in a tick.
func (m *StallMonitor) tick(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := stall{m.last, now}
	m.last = now
	switch {
	case s.length() < leastStall:
	case len(m.stalls) < keptStalls:
		m.stalls = append(m.stalls, s)
	default:
		m.stalls[m.next] = s
		m.next = (m.next + 1) % keptStalls
	}
}

// Longest is the length of the longest stall that reaches into a span, also of
// one that is just ending; 0 for none.
func (m *StallMonitor) Longest(from, to time.Time) time.Duration {
	return m.longest(from, to, time.Now())
}

func (m *StallMonitor) longest(from, to, now time.Time) (longest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	look := func(s stall) {
		if s.length() >= leastStall && s.from.Before(to) && s.to.After(from) {
			longest = max(longest, s.length())
		}
	}
	for _, s := range m.stalls {
		look(s)
	}
	look(stall{m.last, now}) // the tick may come after who asks
	return longest
}
