package conduct

import (
	"time"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// Timed tells whether the present question takes time from the banks of the sides: one for a move does, but not the
// invitation and the ready turn, which ask for no decision.
func (m *Match) Timed() bool {
	return m.assignment.TimeBank != nil && m.state == protocol.StateCollectingChoices && (!m.ready || m.turn != 1)
}

// startClock makes the time of a side count while it is asked: from now on, or on from its answer that asked the
// referee to wait, because such a pause is the player's own. The window ends with its bank, if that ends no later than
// the window of the league. StartClock returns its length if it has another end than before; else 0.
func (m *Match) startClock(s *side, now time.Time) (window time.Duration) {
	q := &s.question
	if q.since.IsZero() {
		q.since = now
	}
	left := max(s.bank-now.Sub(q.since), time.Millisecond)
	q.left = left
	end, before := now.Add(left), q.last
	if q.last = !end.After(q.full); !q.last {
		if !before {
			return 0
		}
		end = q.full
	}
	q.end, q.queued = end, 0
	q.stamp = m.format(q.end)
	return end.Sub(now)
}

// Spent returns the time that a side has taken from its question to the end of an answer, without the time that the
// question was queued at the referee: whole milliseconds, from 0.
func (m *Match) Spent(of rules.Side, at time.Time, timing *protocol.Timing) time.Duration {
	spent := at.Sub(m.sides[of].question.since)
	if timing != nil {
		spent -= timing.Queued
	}
	return max(spent, 0).Truncate(time.Millisecond)
}

// Bank returns the rest of the time bank of a side, in whole milliseconds; 0 if it has lost by time, and in a match
// without time banks.
func (m *Match) Bank(of rules.Side) time.Duration { return m.sides[of].bank }

// debit returns what a call attempt takes from the bank of its side. A window that ends with the bank uses it up if no
// answer comes, or a wrong one at its end. An answer that counts leaves a millisecond at least: the end of the call
// decides about it, and not a measurement.
func (m *Match) debit(of rules.Side, a *Attempt, fault *protocol.Error) time.Duration {
	s, spent := &m.sides[of], m.Spent(of, a.At, a.Timing)
	switch {
	case a.Used != nil:
		return milliseconds(a.Used.Debit)
	case fault != nil && s.question.last && (fault.Code == protocol.ErrTimeout || spent >= s.bank):
		return s.bank
	}
	return min(spent, s.bank-time.Millisecond)
}

// clockSet returns how much longer a side took to the end of an answer by the wall clock, whose times a transcript has,
// than by the monotonic clock, by which it pays: the wall clock was set meanwhile, or the machine of the referee
// slept. It is 0 for a thousandth and a millisecond, by which clocks differ anyway.
func (m *Match) clockSet(of rules.Side, at time.Time) time.Duration {
	since := m.sides[of].question.since
	measured := at.Sub(since)
	by := at.Round(0).Sub(since.Round(0)) - measured
	if by.Abs() <= measured/1000+time.Millisecond {
		return 0
	}
	return by
}

// use makes a call attempt that is not void take its time: it returns what a transcript has of that; nil for nothing.
func (m *Match) use(of rules.Side, debit time.Duration, counts bool, clockSet time.Duration) *protocol.TimeUsed {
	left := m.sides[of].bank - debit
	if counts {
		left += milliseconds(m.assignment.TimeBank.Increment)
	}
	return &protocol.TimeUsed{Debit: int(debit.Milliseconds()), Left: int(left.Milliseconds()),
		ClockSet: int(clockSet.Milliseconds())}
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }
