package simulation

import (
	"fmt"
	"slices"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/player/strategy/external"
)

// An Entrant is a player of a league whose players are listed one by one.
type Entrant struct {
	Name     string
	Strategy string         // as external.Open has it; "" for an external player
	Tools    external.Tools // of Strategy
	Where    string         // that names the entrant in errors, such as the line of a file
}

// maxShown is the longest strategy in a journal, in bytes: the first line has those of 10,000
// players.
const maxShown = 300

// record is the entrant in the journal. It has no key, because everybody may read the
// journal, and no URL, because some contain keys.
func (e *Entrant) record() journal.SimulatedEntrant {
	shown := e.Strategy
	switch shown {
	case "":
		shown = ExternalStrategy
	case external.Model:
		shown += ":" + e.Tools.LLM.Model
	}
	return journal.SimulatedEntrant{Name: e.Name, Strategy: protocol.Clip(shown, maxShown)}
}

// records are the entrants in the journal; nil for none.
func (o *Options) records() []journal.SimulatedEntrant {
	return protocol.Each(o.Entrants, func(e Entrant) journal.SimulatedEntrant { return e.record() })
}

// checkEntrants returns the problems of the entrants, one for all entrants of a line.
func (o *Options) checkEntrants() (problems []error) {
	if len(o.Entrants) == 0 {
		return nil
	}
	if len(o.Entrants) != o.Players {
		problems = append(problems, fmt.Errorf("%d entrants for %d players", len(o.Entrants), o.Players))
	}
	where := ""
	for i := range o.Entrants {
		e := &o.Entrants[i]
		switch outside := i < o.externalPlayers(); {
		case outside != (e.Strategy == ""):
			problems = append(problems, fmt.Errorf("%s: external players come first, and have no strategy", e.Where))
		case outside || e.Where == where:
		default:
			where = e.Where
			if err := external.Check(e.Strategy, e.Tools, o.gameTypes()...); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", where, err))
			}
		}
	}
	return problems
}

// sameEntrants returns an error if the entrants are not those of the journal.
func (o *Options) sameEntrants(leagueID string, begun []journal.SimulatedEntrant) error {
	given := o.records()
	switch {
	case slices.Equal(given, begun):
		return nil
	case len(begun) == 0:
		return fmt.Errorf("the league %s began without an entrants file: leave --entrants out", leagueID)
	case len(given) == 0:
		return fmt.Errorf("the league %s began with an entrants file: name the same file with --entrants", leagueID)
	case len(given) != len(begun):
		return fmt.Errorf("the entrants file has changed: the league %s has %d players, the file %d", leagueID, len(begun),
			len(given))
	}
	for i, now := range given {
		if then := begun[i]; now != then {
			return fmt.Errorf(
				"the entrants file has changed: player %d of the league %s is %s (%s), in the file %s (%s): undo the change, or start another league with --new-league",
				i+1, leagueID, then.Name, then.Strategy, now.Name, now.Strategy)
		}
	}
	return nil
}
