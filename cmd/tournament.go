package cmd

import (
	"cmp"
	"time"

	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/rules/evenodd"
)

const defaultLeague = "league_2025_even_odd"

// leagueSettings are settings of the commands that run a league.
type leagueSettings struct {
	name      string // of the league; "" for that in its file
	format    string // --tournament; "" for a round-robin
	rounds    int
	seeding   string // path of a file; "" for the list in the file of the league
	data      string
	ca        string
	logLevel  string
	strict    bool
	newLeague bool
	pace      time.Duration

	untilSignificant bool // a round-robin ends when one player is shown to be the best
}

// flags defines the flags of l, and those of o that both commands have.
func (l *leagueSettings) flags(f *pflag.FlagSet, o *manager.Options, folder, level string) {
	dataFlag(f, &l.data, folder)
	tlsCAFlag(f, &l.ca)
	logLevelFlag(f, &l.logLevel, level)
	f.StringVar(&o.LeagueID, "league-id", defaultLeague, "identifier of the league")
	f.StringVar(&l.name, "name", "", "`name` of the league, for page, report and exports (default: that in its file); "+
		"manager and up make the id of a new league of it")
	choiceFlag(f, &o.GameType, "game", evenodd.Type, "game of the league", games().Types()...)
	choiceFlag(f, &l.format, "tournament", journal.FormatRoundRobin, "format of the league", journal.Formats()...)
	f.IntVar(&o.Legs, "legs", 1, "matches of each pair of players in a round-robin; a league has at most "+
		"134,217,728 matches")
	f.IntVar(&l.rounds, "rounds", 0, "rounds of a Swiss system (default: log2 of the players, rounded up)")
	f.StringVar(&l.seeding, "seeding", "",
		"`file` with display names, one a line, best first: the seeds of a Swiss system or knockout (default: registration)")
	f.BoolVar(&l.strict, "strict", false, "exit with code 3 if there are technical losses, or choices that a model "+
		"or host left to its fallback")
	f.BoolVar(&l.newLeague, "new-league", false, "start a new league; the one in the data folder moves to its archive")
}

// tournament returns the format of a league; nil for a round-robin. Listed is the
// seeding in the file of the league. Players is 0 if the number is not known yet.
func (l *leagueSettings) tournament(players, legs int, listed []string) (*journal.Tournament, error) {
	format := cmp.Or(l.format, journal.FormatRoundRobin)
	roundRobin, swiss := format == journal.FormatRoundRobin, format == journal.FormatSwiss
	switch {
	case l.rounds < 0:
		return nil, usage("--rounds %d: must be from 1, or 0 for the usual number", l.rounds)
	case l.rounds != 0 && !swiss:
		return nil, usage("--rounds %d: only --tournament swiss takes it", l.rounds)
	case l.seeding != "" && roundRobin:
		return nil, usage("--seeding %s: only --tournament swiss and knockout take it", l.seeding)
	case l.untilSignificant && !roundRobin:
		return nil, usage("--until-significant: only --tournament round-robin takes it")
	case l.untilSignificant && legs%2 != 0:
		return nil, usage("--legs %d: with --until-significant the number is even, so that each pair meets once on each side",
			legs)
	case l.untilSignificant:
		return &journal.Tournament{Algorithm: pairing.Sequential}, nil
	case roundRobin:
		return nil, nil //nolint:nilnil // no tournament is a round-robin
	case legs != 1:
		return nil, usage("--legs %d: only --tournament round-robin takes it", legs)
	}
	t := &journal.Tournament{Algorithm: pairing.Knockout}
	if len(listed) > 0 { // the journal has no empty list
		t.Seeding = listed
	}
	if swiss {
		t.Algorithm, t.Rounds = pairing.Swiss, l.rounds
		if most := pairing.MaxSwissRounds(players); players > 1 && l.rounds > most {
			return nil, usage("--rounds %d: a Swiss system of %d players has at most %d rounds", l.rounds, players, most)
		}
	}
	if l.seeding != "" {
		var err error
		if t.Seeding, err = config.ReadNames(l.seeding); err != nil {
			return nil, usage("--seeding: %w", err)
		}
	}
	return t, nil
}

// atMost precedes the number of rounds or matches of a league, if it is only the largest possible number.
func atMost(largest bool) string {
	if largest {
		return "at most "
	}
	return ""
}
