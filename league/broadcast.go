package league

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A notice is a broadcast on its way to one agent after the other.
type notice interface {
	deliver(a *agent)
	dropped(a *agent)
}

// A broadcast is one message to many agents. It has one deadline, that of its
// method, for all receivers together: an agent that takes its time for one
// message has less for the next, and never holds up the league.
type broadcast[Q any] struct {
	manager *Manager
	method  *protocol.Method[Q, protocol.Ack]
	message *protocol.Broadcast[Q]
	ctx     context.Context //nolint:containedctx // of the league
	end     time.Time
	*barrier
}

// A barrier is complete when all have arrived.
type barrier struct {
	missing  atomic.Int64
	complete chan struct{}
}

func newBarrier(n int) *barrier {
	b := &barrier{complete: make(chan struct{})}
	b.missing.Store(int64(n))
	if n == 0 {
		close(b.complete)
	}
	return b
}

// arrive counts one receiver.
func (b *barrier) arrive() {
	if b.missing.Add(-1) == 0 {
		close(b.complete)
	}
}

func newBroadcast[Q any](ctx context.Context, m *Manager, method *protocol.Method[Q, protocol.Ack], receivers int, message *Q) *broadcast[Q] {
	return &broadcast[Q]{
		manager: m, method: method, message: protocol.Many(message),
		ctx: ctx, end: time.Now().Add(method.Timeout), barrier: newBarrier(receivers),
	}
}

// deliver sends the message to one receiver, unless the time for it has passed
// with the message before. A failure is logged and changes nothing.
func (b *broadcast[Q]) deliver(a *agent) {
	left := time.Until(b.end)
	if left <= 0 {
		b.dropped(a)
		return
	}
	_ = send(b.ctx, b.manager, b.method, a, b.message, left) // logged there
	b.arrive()
}

// dropped counts a receiver that is too slow to be sent anything more.
func (b *broadcast[Q]) dropped(a *agent) {
	b.manager.options.Log.Warn().Str("id", a.id).Str("message_type", b.message.Type()).
		Str("event_type", protocol.EventBroadcastDropped).Msg("the agent is too slow, a broadcast to it was dropped")
	b.arrive()
}

// wait returns when all have answered or the time is over.
func (b *broadcast[Q]) wait() {
	over := time.NewTimer(time.Until(b.end))
	defer over.Stop()
	select {
	case <-b.complete:
	case <-over.C:
	case <-b.ctx.Done():
	}
}

// post puts notices into the queue of each agent, in order; nil ones are left
// out.
func (m *Manager) post(agents []*agent, notices ...notice) {
	for _, a := range agents {
		select {
		case a.notices <- notices:
		default:
			for _, n := range notices {
				if n != nil {
					n.dropped(a)
				}
			}
		}
	}
}

// tellCompleted tells every agent that does not know it that the league is over,
// after what it is still to be told of the last round, and waits until all know.
func (m *Manager) tellCompleted(ctx context.Context, last roundEnd, completed *protocol.LeagueCompleted) {
	m.postEnd(last)
	var waiting []*agent
	m.mu.Lock()
	for _, a := range slices.Concat(m.players, m.referees) {
		if !m.state.Agents[a.id].Informed {
			waiting = append(waiting, a)
		}
	}
	m.mu.Unlock()
	if len(waiting) == 0 {
		return
	}
	end := &farewell{manager: m, ctx: ctx, message: protocol.Many(completed), told: newBarrier(len(waiting))}
	var telling sync.WaitGroup
	for _, a := range waiting {
		telling.Go(func() {
			select {
			case a.notices <- []notice{end}:
			case <-ctx.Done():
			}
		})
	}
	telling.Wait()
	select {
	case <-end.told.complete:
	case <-ctx.Done():
	}
}

// A farewell is LEAGUE_COMPLETED. Agents end by it, so it is tried again where
// nobody answered: after 2, 4 and 8 seconds.
type farewell struct {
	manager *Manager
	ctx     context.Context //nolint:containedctx // of the league
	message *protocol.Broadcast[protocol.LeagueCompleted]
	told    *barrier
}

func (f *farewell) deliver(a *agent) {
	defer f.told.arrive()
	for pause := 2 * time.Second; ; pause *= 2 {
		e := protocol.AsError(send(f.ctx, f.manager, &protocol.NotifyLeagueCompleted, a, f.message, protocol.NotifyLeagueCompleted.Timeout))
		if e == nil && f.ctx.Err() == nil {
			f.manager.informed(a)
		}
		refused := e != nil && e.Remote && e.Code != protocol.ErrRateLimited
		if e == nil || refused || !e.Code.Retryable() || pause > 8*time.Second ||
			f.manager.options.Clock.Sleep(f.ctx, pause) != nil {
			return
		}
	}
}

// informed records that an agent knows that the league is over.
func (m *Manager) informed(a *agent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.state.Agents[a.id].Informed {
		_ = m.record(&journal.AgentInformed{AgentID: a.id}) // it is told once more, at worst
	}
}

func (f *farewell) dropped(*agent) { f.told.arrive() }

// send calls one receiver of a broadcast. A failure is logged.
func send[Q any](ctx context.Context, m *Manager, method *protocol.Method[Q, protocol.Ack], a *agent, message *protocol.Broadcast[Q], limit time.Duration) error {
	_, err := method.CallMany(ctx, m.options.Caller, a.peer(), message, limit)
	if err == nil {
		m.acknowledged(a)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		m.options.Log.Warn().Err(err).Str("conversation_id", message.Conversation()).
			Str("message_type", message.Type()).Str("id", a.id).Str("event_type", protocol.EventBroadcastUnacknowledged).Msg("a broadcast was not acknowledged")
	}
	return err
}
