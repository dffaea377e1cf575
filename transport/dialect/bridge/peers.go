package bridge

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/transport/dialect"
)

// A postFunc makes one POST with further headers, as the carrier gives it.
type (
	postFunc = func(ctx context.Context, url string, header map[string]string, body []byte) (posted, error)
	posted   = struct {
		Status  int
		Session string // of MCP; "" for none
		Body    []byte
	}
)

// A peer is another agent.
type peer struct {
	// specForm has a bit for each method that the agent has answered in the
	// specification's form. A call reads only this.
	specForm atomic.Uint64
	// numbered is set for an agent that accepts our manager only as league_manager:LM01.
	numbered atomic.Bool

	mu          sync.Mutex
	methods     map[string]*methodForms
	last        dialect.Form // the form that the agent understood last
	hasLast     bool
	logged      bool                // the log tells that this is a third-party agent
	loggedStart bool                // the log tells how it starts matches
	server      *dialect.ToolServer // that it is; nil if that is not known
	noServer    time.Time           // when it was none; zero for never

	opening chan struct{} // holds a value while a call begins with the server
	lastID  atomic.Int64  // of a request to the server
}

// methodForms are the forms of one method at one agent. A set of forms has a bit for each
// position.
type methodForms struct {
	form      dialect.Form
	learned   bool   // the agent understood form
	proven    bool   // form starts matches: a report followed
	rejected  uint64 // since the last form that it understood
	fruitless uint64 // forms in which it accepted matches without a report

	unanswered int       // the position, counted from 1, of a form that was not answered in time; 0 for none
	refused    time.Time // when the agent had rejected all forms; zero for never
	best       reply     // the most informative one; the zero value for none
	loggedAs   [2]int    // HTTP status and JSON-RPC code of the rejection in the log
}

// maxPeers bounds the endpoints that are remembered.
const maxPeers = 4096

// find returns what is known about an endpoint; nil for nothing.
func (b *Bridge) find(endpoint string) *peer {
	b.peersMu.RLock()
	defer b.peersMu.RUnlock()
	return b.peers.values[endpoint]
}

// remember returns the peer at an endpoint, new or known. If there are too many, the least
// recently changed one is evicted. A peer that needs only the specification's form evicts
// none, and nil is returned.
func (b *Bridge) remember(endpoint string, specForm bool) *peer {
	b.peersMu.Lock()
	defer b.peersMu.Unlock()
	at := b.peers.values[endpoint]
	if at == nil {
		if specForm && len(b.peers.keys) >= maxPeers {
			return nil
		}
		at = &peer{methods: map[string]*methodForms{}, opening: make(chan struct{}, 1)}
	}
	b.peers.set(endpoint, at, maxPeers)
	return at
}

// forms returns the forms of a method. At.mu is held.
func (at *peer) forms(method string) *methodForms {
	f := at.methods[method]
	if f == nil {
		f = &methodForms{}
		at.methods[method] = f
	}
	return f
}
