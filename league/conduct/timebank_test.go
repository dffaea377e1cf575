package conduct_test

import (
	"time"

	"github.com/stretchr/testify/require"

	"evenodd/league/conduct"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// A clock is a naive model of the time of one side at one question, in milliseconds: it has what the description of
// time banks says, and nothing of windows.
type clock struct {
	bank  *int
	since time.Time // of the present question; zero before it
	last  bool      // its window ends with the bank
	waits bool      // the last answer asked the referee to wait
}

// ask compares a question with the model.
func (c *clock) ask(m *anyMatch, side rules.Side, step *conduct.Step) {
	left, shown := 0, true
	switch q := step.Message.(type) {
	case *protocol.ChooseParityCall:
		left, shown = q.TimeLeft, !m.plain
	case *protocol.GameMoveCall:
		left = q.TimeLeft
	}
	if !c.counts(m) {
		require.Zero(m.t, left, "no time counts")
		return
	}
	if !c.waits {
		c.since = m.now
	}
	rest := max(*c.bank-int(m.now.Sub(c.since).Milliseconds()), 1)
	if shown {
		require.Equal(m.t, rest, left)
	}
	require.LessOrEqual(m.t, step.Window, min(30*time.Second, time.Duration(rest)*time.Millisecond))
	c.last = step.Window == time.Duration(rest)*time.Millisecond
}

// counts tells whether time counts: there are banks, and the question is one for a move, but not that of a ready turn.
func (c *clock) counts(m *anyMatch) bool {
	ready := m.draws && m.turns > 0 && m.Turn() == 1
	return m.increment >= 0 && m.State() == protocol.StateCollectingChoices && !ready
}

// take takes the time of an attempt, and compares the match with the model.
func (c *clock) take(m *anyMatch, side rules.Side, a *conduct.Attempt, w *conduct.Worth) {
	if c.waits = w.Verdict == conduct.Wait; !c.counts(m) || w.Verdict == conduct.Void {
		require.Nil(m.t, w.Used)
		return
	}
	spent := m.now.Sub(c.since)
	if a.Timing != nil {
		spent = max(spent-a.Timing.Queued, 0)
	}
	before, ranOut := *c.bank, false
	if w.Fault != nil && c.last {
		ranOut = timedOut(a) || int(spent.Milliseconds()) >= before
		require.Equal(m.t, ranOut, w.Verdict == conduct.Lost && w.Fault.Code == protocol.ErrTimeout)
	}
	if *c.bank = max(*c.bank-int(spent.Milliseconds()), 1); ranOut {
		*c.bank = 0
	}
	require.Equal(m.t, before-*c.bank, w.Used.Debit)
	if w.Verdict == conduct.Counts {
		*c.bank += m.increment
	}
	require.Equal(m.t, *c.bank, w.Used.Left)
	require.Equal(m.t, *c.bank, int(m.Bank(side).Milliseconds()))
	require.False(m.t, *c.bank == 0 && w.Verdict != conduct.Lost, "there are no further retries")
	if c.waits {
		c.since = m.now
	}
}
