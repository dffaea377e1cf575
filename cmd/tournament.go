package cmd

import (
	"cmp"

	"github.com/spf13/cobra"

	"evenodd/config/userfile"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/pairing"
)

// tournamentOptions are the settings of the format of a league.
type tournamentOptions struct {
	format  string // "" for a round-robin
	rounds  int
	seeding string // path of a file; "" for the list in the file of the league
}

// tournamentFlags defines the flags of the commands that run a league.
func tournamentFlags(c *cobra.Command, o *tournamentOptions, legs *int) {
	f := c.Flags()
	choiceFlag(f, &o.format, "tournament", journal.FormatRoundRobin, "format of the league", journal.Formats()...)
	f.IntVar(legs, "legs", 1, "matches of each pair of players in a round-robin")
	f.IntVar(&o.rounds, "rounds", 0, "rounds of a Swiss system (default: log2 of the players, rounded up)")
	f.StringVar(&o.seeding, "seeding", "",
		"`file` with display names, one a line, best first: the seeds of a Swiss system or knockout (default: registration)")
}

// tournament returns the format of a league; nil for a round-robin. Listed is the
// seeding in the file of the league. Players is 0 if the number is not known yet.
func (o *tournamentOptions) tournament(players, legs int, listed []string) (*journal.Tournament, error) {
	format := cmp.Or(o.format, journal.FormatRoundRobin)
	if err := oneOf("tournament", format, journal.Formats()...); err != nil {
		return nil, err
	}
	roundRobin, swiss := format == journal.FormatRoundRobin, format == journal.FormatSwiss
	switch {
	case o.rounds < 0:
		return nil, usage("--rounds %d: must be from 1, or 0 for the usual number", o.rounds)
	case o.rounds != 0 && !swiss:
		return nil, usage("--rounds %d: only --tournament swiss takes it", o.rounds)
	case o.seeding != "" && roundRobin:
		return nil, usage("--seeding %s: only --tournament swiss and knockout take it", o.seeding)
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
		t.Algorithm, t.Rounds = pairing.Swiss, o.rounds
		if most := pairing.MaxSwissRounds(players); players > 1 && o.rounds > most {
			return nil, usage("--rounds %d: a Swiss system of %d players has at most %d rounds", o.rounds, players, most)
		}
	}
	if o.seeding != "" {
		text, err := userfile.ReadText(o.seeding, maxNamesFile)
		if err != nil {
			return nil, usage("--seeding: %s: %w", o.seeding, err)
		}
		if t.Seeding, err = readNames(text, o.seeding); err != nil {
			return nil, usage("--seeding: %w", err)
		}
	}
	return t, nil
}

// atMost precedes the number of rounds or matches of a league, if it is only the largest
// possible number: draws of a knockout are replayed.
func atMost(format, state string) string {
	if format == journal.FormatKnockout && state != decide.StateLeagueCompleted {
		return "at most "
	}
	return ""
}
