package simulation

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/player/strategy"
)

// A roster says which player has which id, in a league with external players. They may
// register by themselves at any time.
type roster struct {
	mu      sync.Mutex
	players []*entry      // the external players in the order of the options, then the built-in ones
	pending int           // registrations that the manager decides about
	closed  bool          // the simulation registers all external players that are missing
	changed chan struct{} // closed at the next change
}

// An entry is a player. Only an external player can be without id.
type entry struct {
	id       string            // that the manager gave; "" for a player that is not registered
	endpoint string            // that the player has registered, or else the one in the options
	strategy string            // ExternalStrategy for an external player
	decide   strategy.Strategy // nil for an external player

	name    string // under which the player registers by itself; "" if it does not
	refusal string // why the manager refused its last registration; "" if it did not
	itself  bool   // registered by itself
}

func newRoster(endpoints []string) *roster {
	return &roster{changed: make(chan struct{}), players: lists.Map(endpoints, func(endpoint string) *entry {
		return &entry{endpoint: endpoint, strategy: ExternalStrategy}
	})}
}

// update changes the roster, and tells the waiting calls.
func (r *roster) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.changed)
	r.changed = make(chan struct{})
}

// numberOf is the number of the external player at an endpoint; -1 for none. r.mu is held.
func (r *roster) numberOf(endpoint string) int {
	return slices.IndexFunc(r.players, func(e *entry) bool {
		return e.strategy == ExternalStrategy && protocol.SameEndpoint(e.endpoint, endpoint)
	})
}

// byID returns the registered players by their ids.
func (r *roster) byID() map[string]entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	players := make(map[string]entry, len(r.players))
	for _, e := range r.players {
		players[e.id] = *e
	}
	return players
}

// hasName tells whether an external player has registered under a name.
func (r *roster) hasName(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.players, func(e *entry) bool { return e.name == name })
}

// external returns an external player by its number.
func (r *roster) external(number int) entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.players[number]
}

// begin begins the registration of an external player by itself, or says why it is
// refused. An endpoint has one player, whatever names it uses. A player with a token
// comes back.
func (r *roster) begin(endpoint, name, token string) (number int, refusal string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	number = r.numberOf(endpoint)
	if number < 0 {
		return 0,
			"this is a simulated league, which takes only the players it was started with: name this one with --player " +
				endpoint
	}
	e := r.players[number]
	if !e.itself && (e.id != "" || r.closed) {
		return 0,
			"the simulation has registered this player already, because it did not come in time: --wait says how long it waits"
	}
	if e.name != "" && e.name != name && token == "" {
		return 0, "the player at this endpoint has registered as " + strconv.Quote(e.name) + " already"
	}
	if e.name == "" {
		e.name = name
	}
	r.pending++
	return number, ""
}

// finish ends the registration of an external player with the id, or with the reason of
// a refusal. A player that was refused may use another name.
func (r *roster) finish(number int, endpoint, id, refusal string) {
	r.update(func() {
		r.pending--
		if e := r.players[number]; id != "" {
			e.id, e.endpoint, e.refusal, e.itself = id, endpoint, "", true
		} else if e.id == "" {
			e.name, e.refusal = "", refusal
		}
	})
}

// close ends the time in which external players register by themselves. It waits for the
// pending registrations, and returns the numbers of the missing players.
func (r *roster) close(ctx context.Context) (missing []int, err error) {
	err = r.wait(ctx, func() bool {
		r.closed, missing = true, nil
		for i, e := range r.players {
			if e.id == "" {
				missing = append(missing, i)
			}
		}
		return r.pending == 0
	})
	return missing, err
}

// await waits until all external players have registered by themselves or were refused.
func (r *roster) await(ctx context.Context) {
	_ = r.wait(ctx, func() bool { // the end of ctx ends the time to register
		return !slices.ContainsFunc(r.players, func(e *entry) bool { return e.id == "" && e.refusal == "" })
	})
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
		if err := await(ctx, changed); err != nil {
			return err
		}
	}
}
