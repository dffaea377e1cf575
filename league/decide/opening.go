package decide

import (
	"fmt"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/rules"
)

// OpeningKey is the key of the opening of a match of an announced round; false for a match that begins as its game
// does. Both matches of a pair in two legs have the same one, and so has a match that is played again. Started is the
// hash of the event that started the league, which is unknown before. That of a simulation is its seed.
func OpeningKey(s *journal.State, started string, id league.MatchID) (key rules.OpeningKey, has bool) {
	_, a, b, ok := s.Find(id)
	if key.Double = s.DoubleLeg(id.Round); !ok || key.Double == 0 {
		return key, false
	}
	if key.Start = started; s.Created.Simulation != nil {
		key.Start = fmt.Sprintf("seed %d", s.Created.Simulation.Seed)
	}
	key.Players = [2]string{a, b}
	slices.Sort(key.Players[:])
	return key, true
}
