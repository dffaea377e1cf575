package league

import (
	"golang.org/x/time/rate"

	"evenodd/league/protocol"
)

// Each move of an agent to another endpoint stands in the journal for ever. One
// that moves because it must never meets these.
const (
	movesPerSecond = 0.1
	movesAtOnce    = 20
)

// A throttle keeps one agent from taking more than its share. What a league
// lives by, the first report of a match above all, is never held up by one.
type throttle struct{ asks, moves *rate.Limiter }

func (o *Options) newThrottle() throttle {
	return throttle{
		rate.NewLimiter(rate.Limit(o.AsksPerSecond), o.AsksAtOnce),
		rate.NewLimiter(movesPerSecond, movesAtOnce),
	}
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
