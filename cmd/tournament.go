package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/config/userfile"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

// tournamentOptions are the settings of the format of a league.
type tournamentOptions struct {
	format  string // "" for a round-robin
	rounds  int
	seeding string // path of a file; "" for the list in the file of the league
}

// tournamentFlags defines the flags of the commands that run a league.
func tournamentFlags(c *cobra.Command, o *tournamentOptions, legs *int) {
	formats := journal.Formats()
	f := c.Flags()
	f.StringVar(&o.format, "tournament", journal.FormatRoundRobin, "format of the league: "+strings.Join(formats, ", "))
	f.IntVar(legs, "legs", 1, "matches of each pair of players in a round-robin")
	f.IntVar(&o.rounds, "rounds", 0, "rounds of a Swiss system (default: log2 of the players, rounded up)")
	f.StringVar(&o.seeding, "seeding", "", "`file` with display names, one a line, best first: the seeds of a Swiss system or knockout (default: registration)")
}

// tournament returns the format of a league; nil for a round-robin. Listed is the
// seeding in the file of the league. Players is 0 if the number is not known yet.
func (o *tournamentOptions) tournament(ctx context.Context, players, legs int, listed []string) (*journal.Tournament, error) {
	format := cmp.Or(o.format, journal.FormatRoundRobin)
	if err := oneOf("tournament", format, journal.Formats()...); err != nil {
		return nil, err
	}
	roundRobin, swiss := format == journal.FormatRoundRobin, format == journal.FormatSwiss
	switch {
	case o.rounds != 0 && roundRobin:
		return nil, usage("--rounds %d: the rounds of a round-robin follow from its players and --legs; leave --rounds out, or use --tournament swiss", o.rounds)
	case o.rounds != 0 && !swiss:
		return nil, usage("--rounds %d: the rounds of a knockout follow from its players; leave --rounds out, or use --tournament swiss", o.rounds)
	case o.rounds < 0:
		return nil, usage("--rounds %d: must be from 1, or 0 for the usual number", o.rounds)
	case o.seeding != "" && roundRobin:
		return nil, usage("--seeding %s: a round-robin has no seeds; leave --seeding out, or use --tournament swiss or knockout", o.seeding)
	case roundRobin:
		return nil, nil //nolint:nilnil // no tournament is a round-robin
	case legs != 1:
		return nil, usage("--legs %d: only a round-robin has legs; leave --legs out, or use --tournament round-robin", legs)
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
		var err error
		if t.Seeding, err = readSeeding(ctx, o.seeding); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// maxNamesFile is the largest size of a file of display names in bytes: more than 10,000 of the longest names.
const maxNamesFile = 4 << 20

// readSeeding reads a file of display names, one a line, each once. It ignores empty
// lines and spaces around names.
func readSeeding(ctx context.Context, path string) (names []string, err error) {
	text, err := userfile.ReadText(ctx, path, maxNamesFile)
	if err != nil {
		return nil, usage("--seeding: %s: %w", path, err)
	}
	lines := map[string]int{}
	for i, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		name := strings.TrimSpace(line)
		where := fmt.Sprintf("--seeding: %s line %d", path, i+1)
		switch {
		case name == "":
			continue
		case !protocol.ValidName(name):
			return nil, usage("%s: a display name has 1 to 50 characters without control characters", where)
		case lines[name] > 0:
			return nil, usage("%s: %q is in line %d already", where, name, lines[name])
		}
		lines[name] = i + 1
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, usage("--seeding: %s names no player", path)
	}
	return names, nil
}

// atMost precedes the number of rounds or matches of a league, if it is only the largest
// possible number: draws of a knockout are replayed.
func atMost(format, state string) string {
	if format == journal.FormatKnockout && state != decide.StateLeagueCompleted {
		return "at most "
	}
	return ""
}
