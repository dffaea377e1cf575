package manager

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// The end of the league. Agents end when they get LEAGUE_COMPLETED, so the manager sends it
// until an agent has it, has refused it several times, or is gone. An agent is gone when it does not know the
// message, when nothing listens at its endpoint in several calls in a row, or when it was suspended or shut
// down and does not answer as many. If it returns, it registers again or sends a query, and
// the manager tells it then.
const (
	// endPatience is how long Run sends the message after the last result; then only Linger does. The process has 5 s
	// left, the time that its server gives to calls in progress, to end within 30 s.
	endPatience  = 25 * time.Second
	firstPause   = 2 * time.Second
	longestPause = 20 * time.Second
	goneAfter    = 4 // calls
	mostRefusals = 3 // since the agent registered last
)

// tellEnd sends LEAGUE_COMPLETED to one agent until it has it, refuses it for good or is gone, or ctx ends. It
// pauses for 2, 4, 8, 16 and then always 20 seconds. In a simulation it makes at most four
// calls, and does not repeat a refused one: there no time passes.
func (m *Manager) tellEnd(ctx context.Context, a *agent) {
	defer a.told.Store(false)
	method, message, absent := &protocol.NotifyLeagueCompleted, m.completed, 0
	for calls := 1; a.refusals.Load() < mostRefusals; calls++ {
		before := a.returned.Load()
		err := send(ctx, m, method, a, message, method.Timeout)
		e := protocol.AsError(err)
		if e == nil {
			if ctx.Err() != nil || m.informed(a, before) {
				return
			}
			continue
		}
		absent++
		if !protocol.Unreachable(err) && (protocol.Answered(err) || !m.inactive(a)) {
			absent = 0
		}
		refused := protocol.Answered(err) && e.Code != protocol.ErrRateLimited
		if refused && a.refusals.Add(1) == mostRefusals {
			return
		}
		last := m.options.Simulation != nil && (calls == goneAfter || refused || !e.Code.Retryable())
		if last || absent == goneAfter || unknownMethod(err, e) ||
			m.clock.Sleep(ctx, protocol.Backoff(calls-1, firstPause, longestPause)) != nil {
			return
		}
	}
}

// methodNotFound is the code of JSON-RPC for an unknown method.
const methodNotFound = -32601

// unknownMethod tells whether an agent refused a call because it has no such method. Some
// third-party agents say so with the code of JSON-RPC for any error of a server.
func unknownMethod(err error, e *protocol.Error) bool {
	const serverError = -32000
	return protocol.Vacant(err) || e.Remote &&
		(e.RPC == methodNotFound || e.RPC == serverError && strings.EqualFold(e.Detail, "unknown method"))
}

func (m *Manager) inactive(a *agent) bool {
	return locked(m, func() bool { return m.state.Agents[a.id].Inactive() })
}

// informed records that an agent knows that the league is over. If that fails, the next manager tells the agent again.
// It returns false if the agent has registered again since the call began, with which it had that channel: then another
// process may have acknowledged the message, and the present one waits for it.
func (m *Manager) informed(a *agent, before *chan struct{}) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.returned.Load() != before {
		return false
	}
	if !m.state.Agents[a.id].Informed {
		_ = m.record(&journal.AgentInformed{AgentID: a.id})
	}
	a.told.Store(false) // under the lock: an agent that returns from now on is told again
	a.back = false
	return true
}

// uninformed are the agents that are not known to know that the league is over.
func (m *Manager) uninformed() []*agent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(m.participants(), m.knowsEnd)
}

// knowsEnd tells whether an agent knows that the league is over. M.mu is held.
func (m *Manager) knowsEnd(a *agent) bool { return m.state.Agents[a.id].Informed && !a.back }

// tellLate tells an agent that returns after the end of the league that it is
// over, even if it was told before: it may have crashed since. M.mu is held.
func (m *Manager) tellLate(a *agent) {
	if m.completed == nil {
		return
	}
	if a.back = true; !a.told.CompareAndSwap(false, true) {
		return
	}
	select {
	case m.late <- a:
	default: // it returns again
		a.told.Store(false)
	}
}

// tellReturned tells agents that return after the end that the league is over, until
// ctx ends.
func (m *Manager) tellReturned(ctx context.Context) {
	var telling sync.WaitGroup
	defer telling.Wait()
	for {
		select {
		case a := <-m.late:
			telling.Go(m.guarded(func() { m.tellEnd(ctx, a) })) // a slow agent delays no other
		case <-ctx.Done():
			return
		}
	}
}

// tellAll tells every agent that does not know it that the league is over, after
// the notices in its queue and the last one. It returns when all know, are gone, or until. A
// simulation needs no time for it.
func (m *Manager) tellAll(ctx context.Context, last notice, until time.Time) {
	var telling sync.WaitGroup
	defer telling.Wait()
	if m.options.Simulation == nil {
		limited, stop := context.WithDeadline(ctx, until)
		defer stop()
		ctx = limited
		telling.Go(m.guarded(func() { m.tellReturned(limited) }))
	}
	receivers := m.uninformed()
	told := newBarrier(len(receivers))
	tell := func(a *agent, _ bool) { // never put into a full queue
		defer told.arrive()
		last(a, false)
		m.tellEnd(ctx, a)
	}
	for _, a := range receivers {
		telling.Go(m.guarded(func() {
			select {
			case a.notices <- []notice{tell}:
			case <-ctx.Done():
			}
		}))
	}
	told.wait(ctx)
	for _, a := range receivers {
		a.told.Store(false) // the time may be over before it was told
	}
}

// Linger tells the agents that still do not know it, and those that return, that the
// league is over, and writes logs and files as Run does, until ctx ends. It returns at once if
// the league is not over. It returns an error if the journal cannot be written: an agent that returns then is not
// admitted before the next start.
func (m *Manager) Linger(ctx context.Context) error {
	if over := locked(m, func() bool { return m.completed != nil }); !over {
		return nil
	}
	outer := ctx
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go m.guarded(func() { // ends when the journal fails or is closed, at the latest
		if err := m.options.Files.Failed(); err != nil {
			end(err)
		}
	})()
	var telling sync.WaitGroup
	defer telling.Wait()
	telling.Go(m.guarded(func() { m.refusals.run(ctx) }))
	telling.Go(m.guarded(func() { m.files.run(ctx) }))
	for _, a := range m.uninformed() {
		if a.told.CompareAndSwap(false, true) { // else it has returned
			telling.Go(m.guarded(func() { m.tellEnd(ctx, a) }))
		}
	}
	m.tellReturned(ctx)
	if outer.Err() == nil {
		return context.Cause(ctx)
	}
	return nil
}
