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
func (d *directory) tellEnd(ctx context.Context, a *agent, message *protocol.Broadcast[protocol.LeagueCompleted]) {
	method, absent := &protocol.NotifyLeagueCompleted, 0
	for calls := 1; a.refusals.Load() < mostRefusals; calls++ {
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
		refused := protocol.Answered(err) && e.Code != protocol.ErrRateLimited
		if refused && a.refusals.Add(1) == mostRefusals {
			return
		}
		last := d.options.Simulation != nil && (calls == goneAfter || refused || !e.Code.Retryable())
		if last || absent == goneAfter || unknownMethod(err, e) ||
			d.clock.Sleep(ctx, protocol.Backoff(calls-1, firstPause, longestPause)) != nil {
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

// A farewell tells the agents that the league is over. The ledger's lock guards completed and until.
type farewell struct {
	*directory
	late      chan *agent               // agents that returned after the end of the league
	completed *protocol.LeagueCompleted // nil before the end
	until     time.Time                 // when Run ends
}

// begin sets what is told until when. The agents that do not know it are told after the notices in
// their queues: until then a query is no return. The lock is held.
func (f *farewell) begin(completed *protocol.LeagueCompleted, until time.Time) {
	for _, a := range f.all() {
		a.told.Store(!f.state.Agents[a.id].Informed)
	}
	f.completed, f.until = completed, until
}

// tellLate tells an agent that returns after the end of the league that it is
// over, even if it was told before: it may have crashed since. The lock is held.
func (f *farewell) tellLate(a *agent) {
	if f.completed == nil || !a.told.CompareAndSwap(false, true) {
		return
	}
	select {
	case f.late <- a:
	default: // it returns again
		a.told.Store(false)
	}
}

// tellReturned tells agents that return after the end that the league is over, until
// ctx ends.
func (f *farewell) tellReturned(ctx context.Context) {
	var telling sync.WaitGroup
	defer telling.Wait()
	for {
		select {
		case a := <-f.late:
			telling.Go(func() { f.tell(ctx, a) }) // a slow agent delays no other
		case <-ctx.Done():
			return
		}
	}
}

// tell tells one agent.
func (f *farewell) tell(ctx context.Context, a *agent) {
	defer a.told.Store(false)
	f.tellEnd(ctx, a, protocol.Many(f.completed))
}

// tellAll tells every agent that does not know it that the league is over, after
// the notices in its queue and the last one. It returns when all know, are gone, or at f.until. A
// simulation needs no time for it.
func (f *farewell) tellAll(ctx context.Context, last notice) {
	var telling sync.WaitGroup
	defer telling.Wait()
	if f.options.Simulation == nil {
		limited, stop := context.WithDeadline(ctx, f.until)
		defer stop()
		ctx = limited
		telling.Go(func() { f.tellReturned(limited) })
	}
	receivers := f.uninformed()
	told := newBarrier(len(receivers))
	tell := func(a *agent, _ bool) { // never put into a full queue
		defer told.arrive()
		last(a, false)
		f.tell(ctx, a)
	}
	for _, a := range receivers {
		telling.Go(func() {
			select {
			case a.notices <- []notice{tell}:
			case <-ctx.Done():
			}
		})
	}
	told.wait(ctx)
	for _, a := range receivers {
		a.told.Store(false) // the time may be over before it was told
	}
}

// Linger tells the agents that still do not know it, and those that return, that the
// league is over, and writes logs and files as Run does, until ctx ends. It returns at once if
// the league is not over.
func (m *Manager) Linger(ctx context.Context) {
	m.mu.Lock()
	over := m.farewell.completed != nil
	m.mu.Unlock()
	if !over {
		return
	}
	var telling sync.WaitGroup
	defer telling.Wait()
	telling.Go(func() { m.refusals.run(ctx) })
	telling.Go(func() { m.files.run(ctx) })
	for _, a := range m.uninformed() {
		if a.told.CompareAndSwap(false, true) { // else it has returned
			telling.Go(func() { m.farewell.tell(ctx, a) })
		}
	}
	m.farewell.tellReturned(ctx)
}
