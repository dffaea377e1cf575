package record

import (
	"slices"
	"strings"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// externalStrategy is the strategy of a player of a simulation that ran in another process.
const externalStrategy = "external"

// program is shown as the strategy of a player whose program somebody has written. Its command may
// contain names of folders and keys.
const program = "program"

// PublicSimulation is the input of a simulation without the commands of programs; nil for a league
// that is no simulation.
func (l *League) PublicSimulation() *journal.Simulation {
	if l.Created == nil || l.Created.Simulation == nil {
		return nil
	}
	public := func(strategy string) string {
		if strings.HasPrefix(strategy, "exec:") {
			return program
		}
		return strategy
	}
	s := *l.Created.Simulation
	s.Strategies, s.Entrants = slices.Clone(s.Strategies), slices.Clone(s.Entrants)
	for i := range s.Strategies {
		s.Strategies[i] = public(s.Strategies[i])
	}
	for i := range s.Entrants {
		s.Entrants[i].Strategy = public(s.Entrants[i].Strategy)
	}
	return &s
}

// Strategies are the strategies of the players by id, as far as the journal has them: only those
// of a simulation.
func (l *League) Strategies() map[string]string {
	s := l.PublicSimulation()
	if s == nil {
		return nil
	}
	byID := map[string]string{}
	for n := 1; n <= s.Players; n++ {
		id := protocol.PlayerID(n)
		switch builtIn := n - 1 - s.ExternalPlayers; {
		case n <= len(s.Entrants):
			byID[id] = s.Entrants[n-1].Strategy
		case builtIn < 0:
			byID[id] = externalStrategy
		case len(s.Strategies) > 0:
			byID[id] = s.Strategies[builtIn%len(s.Strategies)]
		}
	}
	return byID
}
