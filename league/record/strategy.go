package record

import "evenodd/league/protocol"

// externalStrategy is the strategy of a player of a simulation that ran in another process.
const externalStrategy = "external"

// Strategies are the strategies of the players by id, as far as the journal has them: only those
// of a simulation.
func (l *League) Strategies() map[string]string {
	if l.Created == nil || l.Created.Simulation == nil {
		return nil
	}
	s, byID := l.Created.Simulation, map[string]string{}
	for n := 1; n <= s.Players; n++ {
		id := protocol.PlayerID(n)
		switch builtIn := n - 1 - s.ExternalPlayers; {
		case len(s.Entrants) >= n:
			byID[id] = s.Entrants[n-1].Strategy
		case builtIn < 0:
			byID[id] = externalStrategy
		case len(s.Strategies) > 0:
			byID[id] = s.Strategies[builtIn%len(s.Strategies)]
		}
	}
	return byID
}
