package simulation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/simulation"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
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
	l.Transport, l.Concurrency = []string{simulation.Memory, simulation.Memory, simulation.Wire}[r.IntN(3)], []int{1, 2, 3, 16, 64}[r.IntN(5)]
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
	l.Twice = r.IntN(8) == 0
	return l
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
					Signatures:   l.Signatures, Evidence: l.Evidence, Broadcast: l.Broadcast,
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
	if given, err := json.Marshal(leagueOf(l.Seed), json.Deterministic(true)); err == nil && string(given) == string(text) {
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
	for _, member := range []*string{&l.Signatures, &l.Evidence, &l.Broadcast} {
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

// A playedLeague is a finished league with its options and its faults.
type playedLeague struct {
	options   simulation.Options
	result    *simulation.Result
	report    *audit.Report
	injected  map[[2]string][]string // faults by match and player
	took      time.Duration          // of virtual time
	organiser *decider
}

// playIn plays the league, which is stored in a folder.
func (l *randomLeague) playIn(ctx context.Context, folder string) (*playedLeague, error) {
	return playStoredIn(ctx, l.options(), folder, l.Decisions)
}

// playStored plays and audits a league that is stored in a folder.
func playStored(t *testing.T, o simulation.Options, folder string) *playedLeague {
	t.Helper()
	l, err := playStoredIn(t.Context(), o, folder, nil)
	require.NoError(t, err)
	return l
}

// playStoredIn plays and audits a league that is stored in a folder.
func playStoredIn(ctx context.Context, o simulation.Options, folder string, decisions []decision) (*playedLeague, error) {
	files, _, err := manager.OpenFiles(store.In(folder), o.LeagueID, false, nil)
	if err != nil {
		return nil, err
	}
	o.Files = files
	secret, err := store.In(folder).Secret(o.LeagueID, true)
	if err != nil {
		return nil, err
	}
	l, err := playWith(ctx, o, decisions, secret)
	if failed := files.Close(); err == nil {
		err = failed
	}
	if err == nil {
		l.report, err = audit.Run(store.In(folder), audit.Options{Games: o.Games})
	}
	return l, err
}

// playWith plays a league with an organiser.
func playWith(ctx context.Context, o simulation.Options, decisions []decision, secret [32]byte) (*playedLeague, error) {
	l := &playedLeague{options: o, injected: map[[2]string][]string{}, organiser: newDecider(&o, decisions, secret)}
	var mu sync.Mutex
	o.Injected = func(i simulation.Injection) {
		mu.Lock()
		defer mu.Unlock()
		l.injected[[2]string{i.MatchID, i.PlayerID}] = append(l.injected[[2]string{i.MatchID, i.PlayerID}], i.Fault)
	}
	o.RoundBegins = l.organiser.roundBegins
	begin := time.Now()
	var err error
	l.result, err = simulation.RunSeen(ctx, o, l.organiser.seen)
	l.took = time.Since(begin)
	return l, err
}

// differences plays a league again in memory, on the other carrier and with another number of matches at once, and
// returns what differs: a league follows from its seed.
func (l *randomLeague) differences(ctx context.Context, played *playedLeague) []string {
	other := *l
	other.Transport, other.Concurrency = simulation.Wire, 1
	if l.Transport == simulation.Wire {
		other.Transport = simulation.Memory
	}
	if l.Concurrency == 1 {
		other.Concurrency = 16
	}
	o := other.options()
	o.Sign, o.Secret = true, &[32]byte{1}
	again, err := playWith(ctx, o, l.Decisions, *o.Secret)
	if err != nil {
		return []string{"played again: " + err.Error()}
	}
	was, is := followingOf(played.result), followingOf(again.result)
	if !assert.ObjectsAreEqual(was, is) {
		return []string{fmt.Sprintf("played again, it differs:\n%+v\n%+v", was, is)}
	}
	return nil
}

// followingOf is what of a league follows from its seed: not the times, and not which referee conducted a match.
func followingOf(r *simulation.Result) *outcome {
	o := withoutReferees(r)
	for i := range o.matches {
		m := &o.matches[i]
		if m.Ruled != nil {
			m.Ruled = &journal.Made{Decision: m.Ruled.Decision}
		}
		for k := range m.Annulled {
			a := &m.Annulled[k]
			a.RefereeID, a.Attempt, a.By = "", 0, journal.Made{Decision: a.By.Decision}
		}
	}
	return o
}

// count counts what happened in the league.
func (l *playedLeague) count(tally *leaguetest.Tally) {
	tally.Add("leagues", 1)
	tally.Add("matches", l.result.State.Recorded)
	crashed := map[string]bool{}
	for key, faults := range l.injected {
		for _, fault := range faults {
			tally.Add("fault: "+fault, 1)
			crashed[fault+key[1]] = true
		}
	}
	for agent := range crashed {
		if id, ok := strings.CutPrefix(agent, "crash"); ok && id != "" {
			tally.Add("crash of a player", 1)
		}
	}
	plan, _ := faults.Parse(l.options.Faults) // Run has read it
	for _, p := range plan.RefereeCrash {
		if l.result.State.Agents[p.ID].Failures > 0 {
			tally.Add("crash of a referee", 1)
		}
	}
	for _, kind := range l.organiser.kinds() {
		tally.Add("decision: "+kind, 1)
	}
	tally.Add("decision: refused", len(l.organiser.decided)-len(l.organiser.made))
}
