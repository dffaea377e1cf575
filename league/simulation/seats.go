package simulation

import (
	"context"
	"strconv"
	"sync"

	"evenodd/league"
	"evenodd/league/protocol"
)

// seats are who sits where, in a league with players from outside. Those who
// register by themselves come at any time.
type seats struct {
	mu      sync.Mutex
	wanted  []string          // endpoints of those outside
	byID    map[string]*taken // by the id that the manager gave
	names   map[int]string    // under which they register by themselves, by place
	refused map[int]string    // why the manager refused their own registration, by place
	pending int               // registrations that the manager decides about
	closed  bool              // who is not registered now is registered by the simulation
	changed chan struct{}     // closed at the next change
}

// A taken seat.
type taken struct {
	endpoint string
	strategy string
	outside  bool
	itself   bool // it has registered by itself
}

func newSeats(endpoints []string) *seats {
	return &seats{wanted: endpoints, byID: map[string]*taken{}, names: map[int]string{}, refused: map[int]string{}, changed: make(chan struct{})}
}

// change tells those who wait; s.mu is held.
func (s *seats) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// take notes who has an id.
func (s *seats) take(id string, t *taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[id] = t
	s.change()
}

// place is which of those outside an endpoint is, from 0.
func (s *seats) place(endpoint string) (n int, ok bool) {
	for i, wanted := range s.wanted {
		if protocol.SameEndpoint(wanted, endpoint) {
			return i, true
		}
	}
	return 0, false
}

// seated is who sits at the place of an endpoint; nil for nobody. S.mu is held.
func (s *seats) seated(endpoint string) *taken {
	for _, t := range s.byID {
		if t.outside && protocol.SameEndpoint(t.endpoint, endpoint) {
			return t
		}
	}
	return nil
}

// standing is a row of the table, with who the player is.
func (s *seats) standing(row league.Standing) Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.byID[row.PlayerID]
	if t == nil {
		return Standing{Standing: row}
	}
	r := Standing{Standing: row, Strategy: t.strategy}
	if t.outside {
		r.Endpoint = t.endpoint
	}
	return r
}

// at is who sits at an endpoint.
func (s *seats) at(endpoint string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, t := range s.byID {
		if t.endpoint == endpoint {
			return id
		}
	}
	return ""
}

// enter lets a registration in which somebody makes for itself, with a token where
// it comes back; else it says why not. At one endpoint is one player, whatever
// names it gives itself.
func (s *seats) enter(endpoint, name, token string) (place int, refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place, known := s.place(endpoint)
	if !known {
		return 0, "this is a simulated league, which takes only the players it was started with: name this one with --player " + endpoint
	}
	if t := s.seated(endpoint); t != nil && !t.itself || t == nil && s.closed {
		return 0, "the simulation has registered this player already, because it did not come in time: --wait says how long it waits"
	}
	if before, named := s.names[place]; named && before != name && token == "" {
		return 0, "the player at this endpoint has registered as " + strconv.Quote(before) + " already"
	}
	if _, named := s.names[place]; !named {
		s.names[place] = name
	}
	s.pending++
	return place, ""
}

// leave notes the outcome of a registration: the id, or why it was refused.
func (s *seats) leave(endpoint, id, refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending--
	place, _ := s.place(endpoint)
	if id != "" {
		s.byID[id] = &taken{endpoint: endpoint, strategy: External, outside: true, itself: true}
		delete(s.refused, place)
	} else if s.seated(endpoint) == nil {
		delete(s.names, place) // it may try another
		s.refused[place] = refusal
	}
	s.change()
}

// address is where an outside player is called: the endpoint that it registered,
// or else the one that it was named by.
func (s *seats) address(endpoint string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.seated(endpoint); t != nil {
		return t.endpoint
	}
	return endpoint
}

// refusal is why the manager refused the registration of an outside player; ""
// where it did not.
func (s *seats) refusal(endpoint string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	place, _ := s.place(endpoint)
	return s.refused[place]
}

// named tells whether an outside player has registered under a name.
func (s *seats) named(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, taken := range s.names {
		if taken == name {
			return true
		}
	}
	return false
}

// missing are those outside that nobody has registered.
func (s *seats) missing() (endpoints []string) {
	for _, endpoint := range s.wanted {
		if s.seated(endpoint) == nil {
			endpoints = append(endpoints, endpoint)
		}
	}
	return endpoints
}

// close ends the time to register by oneself, waits for those who are at it, and
// returns who has not.
func (s *seats) close(ctx context.Context) ([]string, error) {
	for {
		s.mu.Lock()
		s.closed = true
		pending, changed, missing := s.pending, s.changed, s.missing()
		s.mu.Unlock()
		if pending == 0 {
			return missing, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// await returns when all have registered by themselves or were refused, or ctx
// ends.
func (s *seats) await(ctx context.Context) {
	for {
		s.mu.Lock()
		changed, waiting := s.changed, len(s.missing())-len(s.refused)
		s.mu.Unlock()
		if waiting <= 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
