package league

import (
	"golang.org/x/time/rate"

	"evenodd/league/protocol"
)

// What one agent may ask of the manager: queries and whatever else changes
// nothing, and moves to another endpoint, which each stand in the journal for
// ever. An agent that insists politely never meets either.
const (
	asksPerSecond  = 20
	asksAtOnce     = 100
	movesPerSecond = 0.1
	movesAtOnce    = 20
)

// A throttle keeps one agent from taking more than its share. What a league
// lives by, the first report of a match above all, is never held up by one.
type throttle struct{ asks, moves *rate.Limiter }

func newThrottle() throttle {
	return throttle{rate.NewLimiter(asksPerSecond, asksAtOnce), rate.NewLimiter(movesPerSecond, movesAtOnce)}
}

// allow counts one more, or refuses it with E022 and the time to wait. In a
// simulation time does not pass, and nobody is a stranger.
func (m *Manager) allow(of *rate.Limiter) error {
	if m.options.Simulation != nil {
		return nil
	}
	now := m.options.Clock.Now()
	one := of.ReserveN(now, 1)
	wait := one.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	one.CancelAt(now)
	return protocol.RateLimited(wait)
}
