package league

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
// until an agent has it or is gone. An agent is gone when it does not know the message, when
// nothing listens at its endpoint in several calls in a row, or when it was suspended or shut
// down and does not answer as many. If it returns, it registers again or sends a query, and
// the manager tells it then.
const (
	endPatience  = time.Minute // for which Run sends the message; then only Linger does
	firstPause   = 2 * time.Second
	longestPause = 20 * time.Second
	goneAfter    = 4 // calls
)

// tellEnd sends LEAGUE_COMPLETED to one agent until it has it or is gone, or ctx ends. It
// pauses for 2, 4, 8, 16 and then always 20 seconds. In a simulation it makes at most four
// calls, and does not repeat a refused one: there no time passes.
func (d *directory) tellEnd(ctx context.Context, a *agent, message *protocol.Broadcast[protocol.LeagueCompleted]) {
	method, pause, absent := &protocol.NotifyLeagueCompleted, firstPause, 0
	for calls := 1; ; calls++ {
		err := send(ctx, d, method, a, message, method.Timeout)
		e := protocol.AsError(err)
		if e == nil {
			if ctx.Err() == nil {
				d.informed(a)
			}
			return
		}
		absent++
		if !protocol.Unreachable(err) && (protocol.Answered(err) || !d.inactive(a)) {
			absent = 0
		}
		refused := e.Remote && e.Code != protocol.ErrRateLimited
		last := d.options.Simulation != nil && (calls == goneAfter || refused || !e.Code.Retryable())
		if last || absent == goneAfter || unknownMethod(err, e) || d.clock.Sleep(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, longestPause)
	}
}

// unknownMethod tells whether an agent refused a call because it has no such method. Some
// third-party agents say so with the code of JSON-RPC for any error of a server.
func unknownMethod(err error, e *protocol.Error) bool {
	const methodNotFound, serverError = -32601, -32000
	return protocol.Vacant(err) || e.Remote &&
		(e.RPC == methodNotFound || e.RPC == serverError && strings.EqualFold(e.Detail, "unknown method"))
}

func (d *directory) inactive(a *agent) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.Agents[a.id].Inactive()
}

// informed records that an agent knows that the league is over. If that fails, the next
// manager tells the agent again.
func (d *directory) informed(a *agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.state.Agents[a.id].Informed {
		_ = d.record(&journal.AgentInformed{AgentID: a.id})
	}
}

// uninformed are the agents that are not known to know that the league is over.
func (d *directory) uninformed() []*agent {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(d.all(), func(a *agent) bool { return d.state.Agents[a.id].Informed })
}

// tellCompleted tells every agent that does not know it that the league is over, after
// the notices in its queue, and waits until all know, are gone, or ctx ends.
func (d *directory) tellCompleted(ctx context.Context, completed *protocol.LeagueCompleted) {
	receivers := d.uninformed()
	message, told := protocol.Many(completed), newBarrier(len(receivers))
	tell := func(a *agent, _ bool) { // never put into a full queue
		defer told.arrive()
		if a.told.CompareAndSwap(false, true) { // a query is no return then
			defer a.told.Store(false)
		}
		d.tellEnd(ctx, a, message)
	}
	var queueing sync.WaitGroup
	for _, a := range receivers {
		queueing.Go(func() {
			select {
			case a.notices <- []notice{tell}:
			case <-ctx.Done():
			}
		})
	}
	queueing.Wait()
	told.wait(ctx)
}

// tellLate tells an agent that returns after the end of the league that it is
// over, even if it was told before: it may have crashed since. M.mu is held.
func (m *Manager) tellLate(a *agent) {
	if m.completed == nil || !a.told.CompareAndSwap(false, true) {
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
func (m *Manager) tellReturned(ctx context.Context, completed *protocol.LeagueCompleted) {
	var telling sync.WaitGroup
	defer telling.Wait()
	for {
		select {
		case a := <-m.late:
			telling.Go(func() { m.tellAgain(ctx, a, completed) }) // a slow agent delays no other
		case <-ctx.Done():
			return
		}
	}
}

func (m *Manager) tellAgain(ctx context.Context, a *agent, completed *protocol.LeagueCompleted) {
	defer a.told.Store(false)
	m.tellEnd(ctx, a, protocol.Many(completed))
}

// farewell tells all agents that the league is over, for endPatience at most. A
// simulation needs no time for it.
func (m *Manager) farewell(ctx context.Context, completed *protocol.LeagueCompleted) {
	var returned sync.WaitGroup
	defer returned.Wait()
	if m.options.Simulation == nil {
		limited, stop := context.WithTimeout(ctx, endPatience)
		defer stop()
		ctx = limited
		returned.Go(func() { m.tellReturned(limited, completed) })
	}
	m.tellCompleted(ctx, completed)
}

// Linger tells the agents that still do not know it, and those that return, that the
// league is over, and writes logs and files as Run does, until ctx ends. It returns at once if
// the league is not over.
func (m *Manager) Linger(ctx context.Context) {
	m.mu.Lock()
	completed := m.completed
	m.mu.Unlock()
	if completed == nil {
		return
	}
	var telling sync.WaitGroup
	defer telling.Wait()
	telling.Go(func() { m.refusals.run(ctx) })
	telling.Go(func() { m.files.run(ctx) })
	for _, a := range m.uninformed() {
		if a.told.CompareAndSwap(false, true) { // else it has returned
			telling.Go(func() { m.tellAgain(ctx, a, completed) })
		}
	}
	m.tellReturned(ctx, completed)
}
