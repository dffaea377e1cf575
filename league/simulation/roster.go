package simulation

import (
	"context"
	"strconv"
	"sync"

	"evenodd/league"
	"evenodd/league/protocol"
)

// A roster says which player has which id, in a league with external players. They may
// register by themselves at any time.
type roster struct {
	mu      sync.Mutex
	wanted  []string          // endpoints of the external players; the index is the player's number
	byID    map[string]*entry // by the id that the manager gave
	names   map[int]string    // of external players that register by themselves, by number
	refused map[int]string    // why the manager refused such a registration, by number
	pending int               // registrations that the manager decides about
	closed  bool              // the simulation registers all external players that are missing
	changed chan struct{}     // closed at the next change
}

// An entry is a registered player.
type entry struct {
	endpoint string
	strategy string
	external bool
	itself   bool // registered by itself
}

func newRoster(endpoints []string) *roster {
	return &roster{wanted: endpoints, byID: map[string]*entry{}, names: map[int]string{}, refused: map[int]string{}, changed: make(chan struct{})}
}

// notify tells the waiting calls of a change. r.mu is held.
func (r *roster) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// add adds a registered player.
func (r *roster) add(id string, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byID[id] = e
	r.notify()
}

// number is the number of the external player at an endpoint.
func (r *roster) number(endpoint string) (n int, ok bool) {
	for i, wanted := range r.wanted {
		if protocol.SameEndpoint(wanted, endpoint) {
			return i, true
		}
	}
	return 0, false
}

// registered is the external player at an endpoint; nil for none. r.mu is held.
func (r *roster) registered(endpoint string) *entry {
	for _, e := range r.byID {
		if e.external && protocol.SameEndpoint(e.endpoint, endpoint) {
			return e
		}
	}
	return nil
}

// standing is a row of the table, with the player's strategy and endpoint.
func (r *roster) standing(row league.Standing) Standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byID[row.PlayerID]
	if e == nil {
		return Standing{Standing: row}
	}
	s := Standing{Standing: row, Strategy: e.strategy}
	if e.external {
		s.Endpoint = e.endpoint
	}
	return s
}

// idAt is the id of the player at an endpoint; "" for none.
func (r *roster) idAt(endpoint string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, e := range r.byID {
		if e.endpoint == endpoint {
			return id
		}
	}
	return ""
}

// begin begins the registration of an external player by itself, or says why it is
// refused. An endpoint has one player, whatever names it uses. A player with a token
// comes back.
func (r *roster) begin(endpoint, name, token string) (number int, refusal string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	number, known := r.number(endpoint)
	if !known {
		return 0, "this is a simulated league, which takes only the players it was started with: name this one with --player " + endpoint
	}
	if e := r.registered(endpoint); e != nil && !e.itself || e == nil && r.closed {
		return 0, "the simulation has registered this player already, because it did not come in time: --wait says how long it waits"
	}
	if before, named := r.names[number]; named && before != name && token == "" {
		return 0, "the player at this endpoint has registered as " + strconv.Quote(before) + " already"
	}
	if _, named := r.names[number]; !named {
		r.names[number] = name
	}
	r.pending++
	return number, ""
}

// finish ends a registration with the id, or with the reason of a refusal.
func (r *roster) finish(endpoint, id, refusal string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending--
	number, _ := r.number(endpoint)
	if id != "" {
		r.byID[id] = &entry{endpoint: endpoint, strategy: ExternalStrategy, external: true, itself: true}
		delete(r.refused, number)
	} else if r.registered(endpoint) == nil {
		delete(r.names, number) // it may use another name
		r.refused[number] = refusal
	}
	r.notify()
}

// address is the endpoint that an external player has registered, or else the given one.
func (r *roster) address(endpoint string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.registered(endpoint); e != nil {
		return e.endpoint
	}
	return endpoint
}

// refusal is why the manager refused the registration of an external player; "" if it
// did not.
func (r *roster) refusal(endpoint string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	number, _ := r.number(endpoint)
	return r.refused[number]
}

// hasName tells whether an external player has registered under a name.
func (r *roster) hasName(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, used := range r.names {
		if used == name {
			return true
		}
	}
	return false
}

// missing are the endpoints of unregistered external players. r.mu is held.
func (r *roster) missing() (endpoints []string) {
	for _, endpoint := range r.wanted {
		if r.registered(endpoint) == nil {
			endpoints = append(endpoints, endpoint)
		}
	}
	return endpoints
}

// close ends the time in which external players register by themselves. It waits for the
// pending registrations, and returns the endpoints of the missing players.
func (r *roster) close(ctx context.Context) (missing []string, err error) {
	err = r.wait(ctx, func() bool {
		r.closed = true
		missing = r.missing()
		return r.pending == 0
	})
	return missing, err
}

// await waits until all external players have registered by themselves or were refused.
func (r *roster) await(ctx context.Context) {
	_ = r.wait(ctx, func() bool { return len(r.missing()) <= len(r.refused) }) // the end of ctx ends the time to register
}

// wait waits until a condition holds, or ctx ends. r.mu is held while it is checked.
func (r *roster) wait(ctx context.Context, holds func() bool) error {
	for {
		r.mu.Lock()
		done, changed := holds(), r.changed
		r.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
