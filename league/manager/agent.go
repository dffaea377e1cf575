package manager

import (
	"context"
	"sync/atomic"

	"golang.org/x/time/rate"

	"evenodd/league/protocol"
)

// An agent is a registered player or referee as the manager calls it. The facts
// about it are in the league's state.
type agent struct {
	id        string
	player    bool
	name      string
	endpoint  atomic.Pointer[string]        // it may move while the league runs
	proof     atomic.Pointer[proof]         // it may get a new token
	confirmed atomic.Bool                   // it has used its token; saves taking a lock
	told      atomic.Bool                   // it is being told that the league is over
	refusals  atomic.Int32                  // errors that it answered to that since it registered last
	returned  atomic.Pointer[chan struct{}] // closed, and replaced, when the agent registers again
	queries   throttle                      // and other requests for which the league does not wait
	moves     throttle                      // to another endpoint
	notices   chan []notice                 // broadcasts to the agent, in order
	slots     chan struct{}                 // matches that a referee conducts now
	delivery  *delivery                     // of a referee with its files elsewhere
}

// A proof is an agent's token and the values that derive from it.
type proof struct {
	token      string
	key        *protocol.TokenKey
	credential string // proves the manager to the agent
}

// expectReturn makes the channel that is closed when the agent registers again, and
// returns the channel before.
func (a *agent) expectReturn() (before *chan struct{}) {
	next := make(chan struct{})
	return a.returned.Swap(&next)
}

func (a *agent) address() string { return *a.endpoint.Load() }

// peer is the agent as the receiver of a call.
func (a *agent) peer() protocol.Peer {
	return protocol.Peer{Endpoint: a.address(), Bearer: a.proof.Load().credential}
}

// maxNotices is the number of broadcasts that wait for a slow agent; more are dropped.
const maxNotices = 64

// sendNotices sends the agent its broadcasts one after the other, until ctx ends.
// Each agent has its own queue, so that a slow agent delays no other.
func (a *agent) sendNotices(ctx context.Context) {
	for {
		select {
		case notices := <-a.notices:
			deliver(a, notices, false)
		case <-ctx.Done():
			return
		}
	}
}

// The limits of moves. The journal keeps each move of an agent to another endpoint
// for ever; an agent that moves for a good reason does not reach them.
const (
	movesPerSecond = 0.1
	movesAtOnce    = 20
)

// A throttle bounds how often one agent may do something. It never delays the first
// report of a match. The zero value bounds nothing, as in a simulation, where no time
// passes.
type throttle struct {
	clock *protocol.Clock
	limit *rate.Limiter
}

// allow counts one more request, or refuses it with E022 and the time to wait.
func (t *throttle) allow() error {
	if t.limit == nil {
		return nil
	}
	now := t.clock.Now()
	one := t.limit.ReserveN(now, 1)
	wait := one.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	one.CancelAt(now)
	return protocol.RateLimited(wait)
}
