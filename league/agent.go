package league

import (
	"context"
	"sync/atomic"

	"evenodd/league/protocol"
)

// The life of an agent as the manager sees it (spec 003 §2.8).
const (
	lifeRegistered = "REGISTERED"
	lifeActive     = "ACTIVE"
)

// An agent is a registered player or referee, or an id reserved for one whose
// registration is being looked at. The manager's lock guards it until the
// league begins; from then on it only changes by a new registration.
type agent struct {
	id         string
	player     bool
	name       string
	endpoint   atomic.Pointer[string] // it may move while the league runs
	token      string
	key        *protocol.TokenKey
	credential string
	capacity   int // matches at once, of a referee
	index      int // place in the table, of a player

	registered   bool
	decided      chan struct{} // closed when a reservation has become a registration, or nothing
	conversation string        // of its registration, to know a repeated one
	tokenUsed    atomic.Bool

	notices chan []notice // on their way to it, in order
	slots   chan struct{} // matches it conducts now
}

// address is where the agent is.
func (a *agent) address() string { return *a.endpoint.Load() }

// maxNotices is how many broadcasts wait for a slow agent; more are dropped.
const maxNotices = 64

// notify sends the agent its broadcasts one after the other, until ctx ends.
// Each agent has its own queue, so that a slow one delays nobody else.
func (a *agent) notify(ctx context.Context) {
	for {
		select {
		case notices := <-a.notices:
			for _, n := range notices {
				if n != nil {
					n.deliver(a)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}
