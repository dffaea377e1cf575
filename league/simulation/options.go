package simulation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/simulation/faults"
	"evenodd/league/store"
	"evenodd/league/words"
	"evenodd/player/strategy/external"
	"evenodd/referee"
)

// Rules are the options of the league's manager.
type Rules = manager.Options

// Options describe a simulated league. Of Rules, the simulation sets the limits of agents, the clock, the caller
// and the signing key. A league that has begun goes on with its own seed, rules and signatures.
type Options struct {
	// Rules have the numbers of players (2 to 10,000) and referees, the legs (0 means 1), the matches
	// at once (0 means 16), and GameType "" while it is not known, as before a league is resumed.
	// Pace passes in real time also with Faults. It changes no result, and no record has it.
	Rules

	// Sign has the players sign their moves and the manager the journal's heads. A league with Files,
	// or one that requires signatures, always signs. All keys derive from the seed.
	Sign bool

	Seed       uint64   // of all random decisions
	Strategies []string // of the players, in turn, as external.Open has them; nil means random
	Transport  string   // Memory, Wire or HTTP

	Tools external.Tools // for external strategies

	// Programs are those of the games that are programs (rules.Program), by game type.
	Programs map[string]referee.Program

	// Entrants are all players in the order of their ids, the external ones first. With them
	// Strategies and Tools have no effect. Nil for players that differ only in Strategies.
	Entrants []Entrant

	// Faults are the simulated faults, as faults.Parse reads them; "" for none. In a
	// league with faults no time passes: a lost message has missed its deadline at once.
	Faults   string
	Injected func(Injection) // called for each fault in a match, from any goroutine; may be nil

	// External are players in other processes, which get the first ids; nil for none. A
	// league with them takes real time, and their decisions derive from no seed.
	External *External

	Sealed func(manager.SignedHead) // called with the head of the journal at the end; may be nil

	// Opened is called with the folder of a league with faults of its disk at each start; nil for nothing.
	Opened func(store.Folder)

	machine *machine // of a league with faults of its disk; else nil
}

// The transports.
const (
	Memory = "memory"
	Wire   = "wire"
	HTTP   = "http"
)

// Validate returns all problems of the options.
func (o *Options) Validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(o.Players >= 2 && o.Players <= 10_000, "a league has 2 to 10,000 players, not %d", o.Players)
	check(o.Referees >= 1 && o.Referees <= 1000, "a league has 1 to 1,000 referees, not %d", o.Referees)
	check(o.Legs >= 0, "legs are 1 or more, not %d", o.Legs)
	if o.Players >= 2 && o.Legs >= 0 {
		problems = append(problems, o.Tournament.CheckMatches(o.Players, max(o.Legs, 1)))
	}
	check(o.Concurrency >= 0 && o.Concurrency <= 10_000, "concurrency is 1 to 10,000, not %d", o.Concurrency)
	check(o.Transport == Memory || o.Transport == Wire || o.Transport == HTTP,
		"transport %q: one of memory, wire, http%s", o.Transport, words.DidYouMean(o.Transport,
			[]string{Memory, Wire, HTTP}))
	check(o.TimeBank == nil || o.Faults == "",
		"a league with simulated faults has no time banks, because no time passes in it")
	o.checkExternal(check)
	o.checkTournament(check)
	problems = append(problems, o.checkEntrants()...)
	for _, name := range o.Strategies {
		problems = append(problems, external.Check(name, o.Tools, o.gameTypes()...))
	}
	_, err := o.plan()
	return errors.Join(append(problems, err)...)
}

// prompt tells whether an agent waits for nothing outside this process: no player is external, the game is no program,
// and if it is a player, it decides by a built-in strategy. The others wait for such a player with a limit of time.
func (o *Options) prompt(agentID string) bool {
	_, isPlayer := league.ParsePlayerID(agentID)
	return o.External == nil && o.Programs[o.GameType] == nil && (!isPlayer || o.instant(agentID))
}

// gameTypes is the list of the league's game type.
func (o *Options) gameTypes() []string {
	if o.GameType == "" {
		return nil
	}
	return []string{o.GameType}
}

// checkTournament checks that the players admit the rounds, and that each name of the
// seeding is that of a player, unless players are external.
func (o *Options) checkTournament(check func(ok bool, format string, args ...any)) {
	t := o.Tournament
	if t == nil {
		return
	}
	check(t.Rounds <= pairing.MaxSwissRounds(o.Players), "a Swiss system of %d players has at most %d rounds, not %d",
		o.Players, pairing.MaxSwissRounds(o.Players), t.Rounds)
	check(t.Gauntlet < max(o.Players, 2), "a gauntlet of %d players is of at most %d of them, not %d", o.Players,
		o.Players-1, t.Gauntlet)
	check(o.Legs <= 1 || t.IsSequential() || t.IsGauntlet(),
		"only a round-robin or gauntlet has legs, not a tournament of format %s", t.Format())
	if o.External != nil && len(o.Entrants) == 0 || o.Players < 1 {
		return
	}
	names, record := map[string]bool{}, o.record()
	for n := range o.Players {
		id, name := league.PlayerID(n+1), o.entrant(n+1).Name
		names[league.SeedID(id)], names[name], names[record.NameOf(name)] = true, true, true
	}
	missing := slices.DeleteFunc(slices.Clone(t.Seeding), func(name string) bool { return names[name] })
	for _, name := range missing[:min(len(missing), 3)] {
		check(false, "seeding: no player is called %q: the players are %s to %s", name, record.NameOf(o.entrant(1).Name),
			record.NameOf(o.entrant(o.Players).Name))
	}
	check(len(missing) <= 3, "seeding: no player has these names: %d in all", len(missing))
}

// plan is the plan of the faults; nil for none.
func (o *Options) plan() (*faults.Plan, error) {
	if o.Faults == "" {
		return nil, nil //nolint:nilnil // no faults, no plan
	}
	if o.Transport == HTTP {
		return nil, errors.New("faults need the transport memory or wire, because over http time is real")
	}
	plan, err := faults.Parse(o.Faults)
	if err != nil {
		return nil, err
	}
	rounds, err := o.rounds()
	if err != nil || o.Referees < 1 {
		return nil, nil //nolint:nilerr,nilnil // Validate reports that
	}
	err = plan.Check(o.Players, o.Referees, rounds)
	return plan, err
}

// rounds is the largest number of rounds.
func (o *Options) rounds() (int, error) {
	pairer, err := pairing.New(o.Tournament.For(o.Players, cmp.Or(o.Legs, 1)))
	if err != nil {
		return 0, err
	}
	return pairer.Rounds(), nil
}

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
	return journal.SimulatedEntrant{Name: e.Name, Strategy: words.Clip(shown, maxShown)}
}

// record is the simulation in the journal.
func (o *Options) record() *journal.Simulation {
	return &journal.Simulation{
		Seed: o.Seed, Players: o.Players, Referees: o.Referees, Strategies: o.Strategies, Faults: o.Faults,
		ExternalPlayers: o.externalPlayers(), Entrants: o.records(),
	}
}

// records are the entrants in the journal; nil for none.
func (o *Options) records() []journal.SimulatedEntrant {
	return lists.Map(o.Entrants, func(e Entrant) journal.SimulatedEntrant { return e.record() })
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
		switch isExternal := i < o.externalPlayers(); {
		case isExternal != (e.Strategy == ""):
			problems = append(problems, fmt.Errorf("%s: external players come first, and have no strategy", e.Where))
		case isExternal || e.Where == where:
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
