package journal

import (
	"slices"

	"evenodd/league/protocol"
)

// A registry finds the registered agents of one role without a look at all of them.
type registry struct {
	agents, answered int
	byURL            map[string][]*Agent
	byName           map[string][]*Agent // by protocol.NameKey
}

// registry is the registry of players or of referees.
func (s *State) registry(players bool) *registry {
	r := s.registries[players]
	if r == nil {
		r = &registry{byURL: map[string][]*Agent{}, byName: map[string][]*Agent{}}
		s.registries[players] = r
	}
	return r
}

func (r *registry) add(a *Agent) {
	r.agents++
	if a.Answered {
		r.answered++
	}
	r.byURL[a.URL] = append(r.byURL[a.URL], a)
	key := protocol.NameKey(a.DisplayName)
	r.byName[key] = append(r.byName[key], a)
}

func (r *registry) remove(a *Agent) {
	r.agents--
	if a.Answered {
		r.answered--
	}
	cut(r.byURL, a.URL, a)
	cut(r.byName, protocol.NameKey(a.DisplayName), a)
}

// cut removes an agent from an index, and a list that is empty then.
func cut(index map[string][]*Agent, key string, a *Agent) {
	index[key] = slices.DeleteFunc(index[key], func(other *Agent) bool { return other == a })
	if len(index[key]) == 0 {
		delete(index, key)
	}
}

// Registered is the number of registered players or referees, and how many of them have
// answered.
func (s *State) Registered(players bool) (registered, answered int) {
	r := s.registry(players)
	return r.agents, r.answered
}

// AtURL returns the players or the referees at an endpoint, in the form of
// protocol.CanonicalURL.
func (s *State) AtURL(players bool, url string) []*Agent { return s.registry(players).byURL[url] }

// Named returns the players or the referees with a display name that has the same
// protocol.NameKey.
func (s *State) Named(players bool, name string) []*Agent {
	return s.registry(players).byName[protocol.NameKey(name)]
}
