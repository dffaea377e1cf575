package journal

import (
	"slices"

	"evenodd/league"
	"evenodd/league/protocol"
)

// agentsWhere are the registered players or referees with a property, in order of ids.
func (s *State) agentsWhere(players bool, has func(*Agent) bool) (found []*Agent) {
	for _, a := range s.Agents {
		if a.Player == players && has(a) {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b *Agent) int { return league.CompareIDs(a.AgentID, b.AgentID) })
	return found
}

func (s *State) registered(players bool) []*Agent {
	return s.agentsWhere(players, func(*Agent) bool { return true })
}

// Registered is the number of registered players or referees, and how many of them have
// answered.
func (s *State) Registered(players bool) (registered, answered int) {
	for _, a := range s.Agents {
		if a.Player == players {
			registered++
			if a.Answered {
				answered++
			}
		}
	}
	return registered, answered
}

// AtURL returns the players or the referees at an endpoint, in the form of
// protocol.CanonicalURL.
func (s *State) AtURL(players bool, url string) []*Agent {
	return s.agentsWhere(players, func(a *Agent) bool { return a.URL == url })
}

// Named returns the players or the referees with a display name that has the same
// protocol.NameKey.
func (s *State) Named(players bool, name string) []*Agent {
	key := protocol.NameKey(name)
	return s.agentsWhere(players, func(a *Agent) bool { return a.nameKey == key })
}
