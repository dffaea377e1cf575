package league

import (
	"context"
	"sync/atomic"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// An agent is a registered player or referee. What is known of it stands in the
// league's state; this is what the manager needs to talk to it.
type agent struct {
	id       string
	player   bool
	name     string
	endpoint atomic.Pointer[string] // it may move while the league runs
	proof    atomic.Pointer[proof]  // it may get a new token
	capacity int                    // matches at once, of a referee
	index    int                    // place in the table, of a player

	url          string                        // the endpoint as protocol.CanonicalURL; the manager's lock guards it
	since        time.Time                     // when this manager first knew of it, for the grace period
	registration string                        // of the conversation it registered in, to know a repeated one
	confirmed    atomic.Bool                   // it has used its token: what spares a lock
	late         atomic.Bool                   // it came back when the league was over, and is being told
	returned     atomic.Pointer[chan struct{}] // closed, and replaced, when the agent registers again

	throttle throttle      // what it may ask
	notices  chan []notice // on their way to it, in order
	slots    chan struct{} // matches it conducts now
}

// A proof is an agent's token and what is made of it.
type proof struct {
	token      string
	key        *protocol.TokenKey
	credential string
}

// newAgent makes an agent that may be called.
func (m *Manager) newAgent(id string, player bool, name, endpoint string, capacity, generation int) *agent {
	a := &agent{
		id: id, player: player, name: name, capacity: capacity,
		throttle: m.options.newThrottle(), notices: make(chan []notice, maxNotices),
		url: protocol.CanonicalURL(endpoint),
	}
	a.expect()
	if !player {
		a.slots = make(chan struct{}, max(capacity, 1))
	}
	a.endpoint.Store(&endpoint)
	a.proof.Store(m.prove(id, generation))
	return a
}

// known makes an agent that the state knows.
func (m *Manager) known(k *journal.Agent) *agent {
	a := m.newAgent(k.ID, k.Player, k.Name, k.Endpoint, k.Capacity, k.Generation)
	a.registration = k.Registration
	return a
}

// prove derives an agent's token.
func (m *Manager) prove(id string, generation int) *proof {
	token := protocol.DeriveToken(m.secret, m.options.LeagueID, id, generation)
	token = token[:len(token)-protocol.MaxTokenLength+m.options.TokenLength]
	key := protocol.KeyOf(token)
	return &proof{token, key, key.ManagerCredential(m.options.LeagueID)}
}

// expect makes the channel that is closed when the agent registers again, and
// returns the one before.
func (a *agent) expect() (before *chan struct{}) {
	next := make(chan struct{})
	return a.returned.Swap(&next)
}

// address is where the agent is.
func (a *agent) address() string { return *a.endpoint.Load() }

// peer is the agent as the manager calls it.
func (a *agent) peer() protocol.Peer {
	return protocol.Peer{Endpoint: a.address(), Bearer: a.proof.Load().credential}
}

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
