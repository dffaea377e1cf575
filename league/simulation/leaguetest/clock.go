package leaguetest

import (
	"context"
	"slices"
	"time"
	"unsafe"

	"evenodd/league/protocol"
)

// A Jump sets the wall clock of an agent forward, or back if By is negative. At counts from the start of the World.
type Jump struct{ At, By time.Duration }

// A Pause stops the process of an agent, as SIGSTOP does, and a computer that sleeps. At counts from the start of the
// World. No call reaches the agent and none leaves it; answers to it and from it wait, and its Clock.Sleep ends late.
// Its other timers are those of the World: what they wake goes on until its next call.
type Pause struct{ At, For time.Duration }

// until returns the end of the pause, from the start of the World.
func (p Pause) until() time.Duration { return p.At + p.For }

// WithClock sets the wall clock of an agent apart from that of the World. Its monotonic clock stays that of the World.
func WithClock(offset time.Duration, jumps ...Jump) Option {
	return func(a *Agent) { a.offset, a.jumps = offset, jumps }
}

// WithPauses stops the process of an agent at times.
func WithPauses(pauses ...Pause) Option { return func(a *Agent) { a.pauses = pauses } }

// ClockOf returns the clock of an agent.
func (w *World) ClockOf(a *Agent) *protocol.Clock {
	return protocol.NewClock(func() time.Time {
		now, by := w.Now(), a.offset
		for _, j := range a.jumps {
			if j.At <= now {
				by += j.By
			}
		}
		return timeOf(w.Clock.Now().Add(by), now)
	}, func(ctx context.Context, d time.Duration) error {
		defer w.awaitEnd(a.pauses)
		return w.Clock.Sleep(ctx, d)
	})
}

// timeOf returns what time.Now returns if the clocks of a computer show these times: outside of a test with
// virtual time, it has a wall clock, which may jump, and a monotonic clock, by which Sub and Before go. No function of
// package time sets them apart.
func timeOf(wall time.Time, monotonic time.Duration) time.Time {
	since := wall.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	if since < 0 || since >= 1<<33 {
		return wall // as time.Now: no place for the monotonic clock before 1885 and after 2157
	}
	type parts struct { // of a time.Time; TestWallClockOfAnAgentJumps fails if it has others
		wall      uint64
		monotonic int64
		_         *time.Location
	}
	p := (*parts)(unsafe.Pointer(&wall))                                                      // see above
	p.wall, p.monotonic = 1<<63|uint64(since)<<30|uint64(wall.Nanosecond()), int64(monotonic) // positive
	return wall
}

// awaitEnd waits until no pause is left that has begun, or the World closes.
func (w *World) awaitEnd(pauses []Pause) {
	for now := w.Now(); ; now = w.Now() {
		i := slices.IndexFunc(pauses, func(p Pause) bool { return p.At <= now && now < p.until() })
		if i < 0 || w.Clock.Sleep(w.Context, pauses[i].until()-now) != nil {
			return
		}
	}
}

// StallsOf returns what the referee.StallMonitor of an agent would: the longest pause that reaches into a span.
func (w *World) StallsOf(a *Agent) func(from, to time.Time) time.Duration {
	return func(from, to time.Time) (longest time.Duration) {
		for _, p := range a.pauses {
			if w.Recorder.began.Add(p.At).Before(to) && w.Recorder.began.Add(p.until()).After(from) {
				longest = max(longest, p.For)
			}
		}
		return longest
	}
}

// Pausing returns the caller of an agent: the next one, unless the agent pauses.
func (w *World) Pausing(a *Agent, next protocol.Caller) protocol.Caller {
	if len(a.pauses) == 0 {
		return next
	}
	return &pausedCaller{w, a.pauses, next}
}

// A pausedCaller is the caller of an agent that pauses.
type pausedCaller struct {
	world  *World
	pauses []Pause
	next   protocol.Caller
}

func (c *pausedCaller) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	c.world.awaitEnd(c.pauses)
	defer c.world.awaitEnd(c.pauses)
	return c.next.Call(ctx, r)
}

// PausingMux returns the mux of an agent: the given one, unless the agent pauses.
func (w *World) PausingMux(a *Agent, mux protocol.Mux) protocol.Mux {
	if len(a.pauses) == 0 {
		return mux
	}
	return pausedMux{mux, w, a.pauses}
}

// A pausedMux has the handlers of an agent that pauses.
type pausedMux struct {
	protocol.Mux
	world  *World
	pauses []Pause
}

func (m pausedMux) Handle(method string, decode func([]byte) (any, error),
	handle func(context.Context, string, any) (any, error)) {
	m.Mux.Handle(method, decode, func(ctx context.Context, bearer string, params any) (any, error) {
		m.world.awaitEnd(m.pauses)
		defer m.world.awaitEnd(m.pauses)
		return handle(ctx, bearer, params)
	})
}
