package manager

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"evenodd/league/protocol"
)

// A notice delivers a broadcast to one receiver. Full tells that the receiver's queue is
// full: then it only counts the receiver.
type notice func(a *agent, full bool)

// A broadcast is a message to many agents, of which some may get one of their own. It has one deadline, that of its
// method,
// for all receivers together: an agent that needs long for one message has less time
// for the next, and never delays the league.
type broadcast[Q any] struct {
	m       *Manager
	method  *protocol.Method[Q, protocol.Ack]
	message *protocol.Broadcast[Q]
	special map[*agent]*protocol.Broadcast[Q] // for receivers that get another message
	ctx     context.Context                   //nolint:containedctx // of the league
	end     time.Time
	arrived *barrier
}

// A barrier waits until a notice has arrived at all its receivers.
type barrier struct {
	missing atomic.Int64
	all     chan struct{} // closed when none is missing
}

func newBarrier(receivers int) *barrier {
	b := &barrier{all: make(chan struct{})}
	b.missing.Store(int64(receivers) + 1) // one more, which arrives at once: there may be no receiver
	b.arrive()
	return b
}

// arrive counts one receiver.
func (b *barrier) arrive() {
	if b.missing.Add(-1) == 0 {
		close(b.all)
	}
}

// wait returns when all have arrived or ctx ends.
func (b *barrier) wait(ctx context.Context) {
	select {
	case <-b.all:
	case <-ctx.Done():
	}
}

func newBroadcast[Q any](ctx context.Context, m *Manager, method *protocol.Method[Q, protocol.Ack],
	receivers int, message *Q) *broadcast[Q] {
	return &broadcast[Q]{
		m: m, method: method, message: protocol.Many(message),
		ctx: ctx, end: time.Now().Add(method.Timeout), arrived: newBarrier(receivers),
	}
}

// deliver is the notice that sends the message, unless the message before took all the
// time. A failure is logged and changes nothing.
func (b *broadcast[Q]) deliver(a *agent, full bool) {
	defer b.arrived.arrive()
	message := cmp.Or(b.special[a], b.message)
	if left := time.Until(b.end); left > 0 && !full {
		_ = send(b.ctx, b.m, b.method, a, message, min(left, b.method.Timeout))
		return
	}
	if _, ok := b.m.unheard.Take(b.m.clock.Now()); ok {
		b.m.log.Warn().Str("id", a.id).Str("message_type", b.message.Type()).
			Str("event_type", "BROADCAST_DROPPED").Msg("the agent is too slow, a broadcast to it was dropped")
	}
}

// wait returns when all receivers have answered or the time is over.
func (b *broadcast[Q]) wait() {
	ctx, stop := context.WithDeadline(b.ctx, b.end)
	defer stop()
	b.arrived.wait(ctx)
}

// post puts notices into the queue of each agent, in order. It leaves out nil notices. If a queue is full, it
// waits until patience is closed; nil is no patience.
func post(patience <-chan struct{}, agents []*agent, notices ...notice) {
	for _, a := range agents {
		select {
		case a.notices <- notices:
			continue
		default:
		}
		if patience != nil {
			select {
			case a.notices <- notices:
				continue
			case <-patience:
			}
		}
		deliver(a, notices, true)
	}
}

// deliver runs the notices for one receiver, in order.
func deliver(a *agent, notices []notice, full bool) {
	for _, n := range notices {
		if n != nil {
			n(a, full)
		}
	}
}

// send calls one receiver of a broadcast, and logs a failure.
func send[Q any](ctx context.Context, m *Manager, method *protocol.Method[Q, protocol.Ack], a *agent,
	message *protocol.Broadcast[Q], limit time.Duration) error {
	_, err := method.CallMany(ctx, m.options.Caller, a.peer(), message, limit)
	if err == nil {
		m.acknowledged(a)
		return nil
	}
	if omitted, ok := m.unheard.Take(m.clock.Now()); ok {
		m.log.Warn().Err(err).Str("conversation_id", message.Conversation()).
			Str("message_type", message.Type()).Str("id", a.id).Int("omitted_before", omitted).
			Str("event_type", "BROADCAST_UNACKNOWLEDGED").
			Msg("a broadcast was not acknowledged")
	}
	return err
}
