package cmd

import (
	"cmp"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/pairing"
)

// tournament returns the format of a league; nil for a round-robin. Listed is the
// seeding in the file of the league. Players is 0 if the number is not known yet.
func (l *leagueSettings) tournament(players, legs int, listed []string) (*journal.Tournament, error) {
	format := cmp.Or(l.format, journal.FormatRoundRobin)
	roundRobin, swiss := format == journal.FormatRoundRobin, format == journal.FormatSwiss
	gauntlet := format == journal.FormatGauntlet
	switch {
	case l.rounds < 0:
		return nil, usage("--rounds %d: must be from 1, or 0 for the usual number", l.rounds)
	case l.rounds != 0 && !swiss:
		return nil, usage("--rounds %d: only --tournament swiss takes it", l.rounds)
	case l.gauntlet != 0 && !gauntlet:
		return nil, usage("--gauntlet %d: only --tournament gauntlet takes it", l.gauntlet)
	case l.gauntlet < 0 || players > 1 && l.gauntlet >= players:
		return nil, usage("--gauntlet %d: must be from 1 to less than the number of players", l.gauntlet)
	case l.seeding != "" && roundRobin:
		return nil, usage("--seeding %s: --tournament round-robin does not take it", l.seeding)
	case l.untilSignificant && !roundRobin:
		return nil, usage("--until-significant: only --tournament round-robin takes it")
	case l.untilSignificant || l.bounds != nil:
		return l.sequential(players, legs)
	case roundRobin:
		return nil, nil //nolint:nilnil // no tournament is a round-robin
	case legs != 1 && !gauntlet:
		return nil, usage("--legs %d: only --tournament round-robin and gauntlet take it", legs)
	}
	t := &journal.Tournament{Algorithm: journal.AlgorithmOf(format)}
	if gauntlet {
		t.Gauntlet = cmp.Or(l.gauntlet, 1)
	}
	if len(listed) > 0 { // the journal has no empty list
		t.Seeding = lists.Map(listed, func(name string) string { return cmp.Or(league.SeedID(name), name) })
	}
	if swiss {
		t.Rounds = l.rounds
		if most := pairing.MaxSwissRounds(players); players > 1 && l.rounds > most {
			return nil, usage("--rounds %d: a Swiss system of %d players has at most %d rounds", l.rounds, players, most)
		}
	}
	if l.seeding != "" {
		var err error
		if t.Seeding, err = config.ReadSeeding(l.seeding); err != nil {
			return nil, usage("--seeding: %w", err)
		}
	}
	return t, nil
}

// sequential returns a round-robin that ends by its results.
func (l *leagueSettings) sequential(players, legs int) (*journal.Tournament, error) {
	switch {
	case !l.untilSignificant:
		return nil, usage("--elo0 and --elo1: only --until-significant takes them")
	case legs%2 != 0:
		return nil, usage("--legs %d: with --until-significant the number is even, so that each pair meets once on each side",
			legs)
	case l.bounds == nil:
		return &journal.Tournament{Algorithm: pairing.Sequential}, nil
	case players != 2:
		return nil, usage("--elo0 and --elo1 compare two players, not %d: set --players 2", players)
	}
	if err := l.bounds.Check(); err != nil {
		return nil, usage("--elo0, --elo1: %w", err)
	}
	return &journal.Tournament{Algorithm: pairing.SPRT, Bounds: l.bounds}, nil
}

// atMost precedes the number of rounds or matches of a league, if it is only the largest possible number.
func atMost(largest bool) string {
	if largest {
		return "at most "
	}
	return ""
}
