package simulation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/evenodd"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// A randomLeague is a league of the swarm. A failure prints it as JSON.
type randomLeague struct {
	Seed        uint64              `json:"seed"`
	Game        string              `json:"game"`
	Players     int                 `json:"players"`
	Referees    int                 `json:"referees"`
	Legs        int                 `json:"legs"`
	Tournament  *journal.Tournament `json:"tournament,omitzero"`
	Openings    int                 `json:"openings,omitzero"`
	Strategies  []string            `json:"strategies"`
	Transport   string              `json:"transport"`
	Concurrency int                 `json:"concurrency"`
	Signatures  string              `json:"signatures,omitzero"`
	Evidence    string              `json:"evidence,omitzero"`
	Broadcast   string              `json:"broadcast,omitzero"`
	Members     string              `json:"members,omitzero"`
	Faults      []string            `json:"faults,omitempty"`
	Decisions   []decision          `json:"decisions,omitempty"`
	Twice       bool                `json:"twice,omitzero"` // it is played again, on another carrier
}

// swarmGames are the games of the swarm.
func swarmGames() rules.Registry {
	return rules.NewRegistry(connectfour.Game{}, evenodd.Game{}, kuhnpoker.Game{}, pig.Game{}, rockpaperscissors.Game{},
		tictactoe.Game{})
}

// leagueOf returns the league of a seed.
func leagueOf(seed uint64) *randomLeague {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	l := &randomLeague{Seed: seed, Players: 2 + r.IntN(3), Referees: 1 + r.IntN(3), Legs: 1}
	l.drawGame(r)
	l.Transport = []string{simulation.Memory, simulation.Memory, simulation.Wire}[r.IntN(3)]
	l.Concurrency = []int{1, 2, 3, 16, 64}[r.IntN(5)]
	switch long := slices.Contains([]string{connectfour.Type, kuhnpoker.Type, pig.Type}, l.Game); {
	case long: // a match has dozens of moves
		l.Players = 2 + r.IntN(5)/4
	case r.IntN(60) == 0: // most leagues are small and fast
		l.Players = 2 + r.IntN(19)
	case r.IntN(8) == 0:
		l.Players = 2 + r.IntN(8)
	}
	l.drawFormat(r)
	l.Signatures = []string{journal.SignaturesOptional, journal.SignaturesOptional, journal.SignaturesRequired}[r.IntN(3)]
	l.Evidence = []string{"", journal.GradeRecomputed}[r.IntN(2)]
	l.Broadcast = []string{"", "", journal.BroadcastMatch}[r.IntN(3)]
	l.drawFaults(r)
	l.drawDecisions(r)
	l.Twice = r.IntN(12) == 0
	if r.IntN(12) == 0 {
		l.Faults = append(l.Faults, []string{"disk=0.01", "disk=0.03", "disk=0.1"}[r.IntN(3)])
		l.Twice = true
		// an agent whose part is over does not register when it restarts, so nobody can bring it back
		l.Decisions = lists.Filter(l.Decisions, func(d decision) bool { return d.Command != protocol.CommandReadmit })
		l.Decisions = firstOfEachRound(l.Decisions)
	}
	early := func(d decision) bool { return d.rulesEarly() }
	l.Twice = l.Twice && !slices.ContainsFunc(l.Decisions, early)
	game, _ := swarmGames().Game(l.Game)
	if r.IntN(8) == 0 && !rules.HasDraws(game) && !game.Info().Hidden {
		l.Members = protocol.MembersPlain // with which these exclude each other
		l.Signatures, l.Evidence, l.Openings = journal.SignaturesOptional, "", 0
	}
	return l
}

// firstOfEachRound leaves out decisions that come before a round after another one: a machine that crashes between them
// may carry out the first one before it gets the second.
func firstOfEachRound(decisions []decision) []decision {
	seen := map[int]bool{}
	return lists.Filter(decisions, func(d decision) bool {
		again := d.Message == "" && seen[d.Round]
		seen[d.Round] = true
		return !again
	})
}

// drawGame draws the game and the strategies.
func (l *randomLeague) drawGame(r *rand.Rand) {
	names := everyday()
	switch n := r.IntN(20); {
	case n < 8:
		l.Game = evenodd.Type
	case n < 12:
		l.Game = rockpaperscissors.Type
	case n < 17:
		l.Game, names = tictactoe.Type, append(names, "perfect")
	case n < 18:
		l.Game = connectfour.Type
	case n < 19:
		l.Game, names = kuhnpoker.Type, append(names, "nash")
	default:
		l.Game = pig.Type
	}
	for range 1 + r.IntN(len(names)) {
		l.Strategies = append(l.Strategies, names[r.IntN(len(names))])
	}
}

// drawFormat draws the format, the legs and the openings.
func (l *randomLeague) drawFormat(r *rand.Rand) {
	if l.Players <= 5 {
		l.Legs += r.IntN(3) / 2
	}
	legs := 1
	switch r.IntN(9) {
	case 0, 1:
		l.Tournament = &journal.Tournament{Algorithm: pairing.Swiss, Rounds: r.IntN(1 + pairing.MaxSwissRounds(l.Players))}
	case 2:
		l.Tournament = &journal.Tournament{Algorithm: pairing.Knockout}
	case 3:
		l.Tournament = &journal.Tournament{Algorithm: pairing.DoubleElimination}
	case 4:
		legs = l.Legs
		l.Tournament = &journal.Tournament{Algorithm: pairing.Gauntlet, Gauntlet: 1 + r.IntN(l.Players-1)}
	case 5:
		if l.Players > 3 {
			return
		}
		game, _ := swarmGames().Game(l.Game)
		l.Legs, l.Tournament = 2*(1+r.IntN(3)), &journal.Tournament{Algorithm: pairing.SequentialFor(game.Info().SidesAlike)}
		return
	default:
		if l.Legs == 2 && r.IntN(2) == 0 && (l.Game == tictactoe.Type || l.Game == connectfour.Type) {
			l.Openings = 1 + r.IntN(4)
		}
		return
	}
	l.Legs = legs
	for _, n := range r.Perm(l.Players)[:r.IntN(l.Players+1)] {
		l.Tournament.Seeding = append(l.Tournament.Seeding, fmt.Sprintf("Player %02d", n+1))
	}
}

// rounds is the largest number of rounds.
func (l *randomLeague) rounds() int {
	pairer, err := pairing.New(l.Tournament.For(l.Players, l.Legs))
	if err != nil {
		panic(err)
	}
	return pairer.Rounds()
}

// drawFaults draws faults that the league can have.
func (l *randomLeague) drawFaults(r *rand.Rand) {
	rounds := l.rounds()
	for _, kind := range []string{"drop", "delay", "duplicate", "garbage"} {
		if r.IntN(2) == 0 {
			chance := []float64{0.01, 0.05, 0.2, 0.6, 1}[min(r.IntN(8), 4)%5]
			if kind == "duplicate" || r.IntN(3) > 0 {
				chance *= r.Float64()
			}
			l.Faults = append(l.Faults, fmt.Sprintf("%s=%.3f", kind, chance))
		}
	}
	when := func() string {
		from := 1 + r.IntN(rounds)
		switch {
		case r.IntN(3) == 0:
			return ""
		case r.IntN(2) == 0 && from < rounds:
			return fmt.Sprintf("@R%d-R%d", from, from+1+r.IntN(rounds-from))
		}
		return fmt.Sprintf("@R%d", from)
	}
	for _, kind := range []string{"crash", "hang", "deny"} {
		for n := range l.Players {
			if r.IntN(4*l.Players) == 0 {
				l.Faults = append(l.Faults, kind+"="+league.PlayerID(n+1)+when())
			}
		}
	}
	for n := range l.Referees - 1 {
		if r.IntN(2) == 0 {
			l.Faults = append(l.Faults, fmt.Sprintf("referee-crash=%s@R%d", league.RefereeID(n+1), 1+r.IntN(rounds)))
		}
	}
}

// options are the options of the simulation.
func (l *randomLeague) options() simulation.Options {
	return simulation.Options{
		Seed: l.Seed, Strategies: l.Strategies, Transport: l.Transport, Faults: strings.Join(l.Faults, ","),
		Rules: simulation.Rules{
			Created: journal.Created{LeagueID: "league_2025_even_odd", GameType: l.Game, Legs: l.Legs, Openings: l.Openings,
				Tournament: l.Tournament, Configuration: journal.Configuration{
					Participants: journal.Participants{Players: l.Players, Referees: l.Referees},
					Signatures:   l.Signatures, Evidence: l.Evidence, Broadcast: l.Broadcast, Members: l.Members,
				}},
			Games: swarmGames(), Log: zerolog.Nop(), Concurrency: l.Concurrency,
		},
	}
}

// again returns the commands that play the league again.
func (l *randomLeague) again() string {
	text, err := json.Marshal(l, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	commands := fmt.Sprintf("go test ./league/simulation -run 'TestSwarm$' -league '%s'", text)
	given, err := json.Marshal(leagueOf(l.Seed), json.Deterministic(true))
	if err == nil && string(given) == string(text) {
		commands = fmt.Sprintf("go test ./league/simulation -run 'TestSwarm$' -seed %d\n", l.Seed) + commands
	}
	return commands
}

// smaller returns leagues to try instead of one that fails, the smallest first.
func (l *randomLeague) smaller() (smaller []*randomLeague) {
	try := func(change func(*randomLeague)) {
		other := *l
		if t := l.Tournament; t != nil {
			copied := *t
			other.Tournament = &copied
		}
		change(&other)
		if o := other.options(); o.Validate() == nil {
			smaller = append(smaller, &other)
		}
	}
	for _, decisions := range leaguetest.Without(l.Decisions) {
		try(func(l *randomLeague) { l.Decisions = decisions })
	}
	for _, faults := range leaguetest.Without(l.Faults) {
		try(func(l *randomLeague) { l.Faults = faults })
	}
	for _, n := range leaguetest.Fewer(l.Players, 2) {
		try(func(l *randomLeague) { l.Players = n })
	}
	for _, n := range leaguetest.Fewer(l.Referees, 1) {
		try(func(l *randomLeague) { l.Referees = n })
	}
	for _, n := range leaguetest.Fewer(l.Legs, 1) {
		try(func(l *randomLeague) { l.Legs = n })
	}
	for _, n := range leaguetest.Fewer(l.Concurrency, 1) {
		try(func(l *randomLeague) { l.Concurrency = n })
	}
	for _, strategies := range leaguetest.Without(l.Strategies) {
		if len(strategies) > 0 {
			try(func(l *randomLeague) { l.Strategies = strategies })
		}
	}
	if l.Tournament != nil {
		try(func(l *randomLeague) { l.Tournament = nil })
		for _, seeding := range leaguetest.Without(l.Tournament.Seeding) {
			try(func(l *randomLeague) { l.Tournament.Seeding = seeding })
		}
		for _, n := range leaguetest.Fewer(l.Tournament.Rounds, 1) {
			try(func(l *randomLeague) { l.Tournament.Rounds = n })
		}
	}
	for _, member := range []*string{&l.Signatures, &l.Evidence, &l.Broadcast, &l.Members} {
		if was := *member; was != "" && was != journal.SignaturesOptional {
			*member = map[bool]string{true: journal.SignaturesOptional}[member == &l.Signatures]
			try(func(*randomLeague) {})
			*member = was
		}
	}
	if l.Openings > 0 {
		try(func(l *randomLeague) { l.Openings = 0 })
	}
	if l.Twice {
		try(func(l *randomLeague) { l.Twice = false })
	}
	return smaller
}
