package simulation_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/program"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// The swarm plays random leagues, each from a seed, in virtual time and with random
// faults, and checks the invariants of every league.
//
//	go test ./league/simulation -run TestSwarm -seed 7      one league again
//	go test ./league/simulation -run TestSwarm -seeds 1000  that many, from -seed or 1
//	make soak                                               until it is stopped
var (
	swarmSeed  = flag.Uint64("seed", 0, "play the league of this seed alone; with -seeds or -soak, the first")
	swarmSeeds = flag.Int("seeds", 0, "how many leagues to play")
	soak       = flag.Bool("soak", false, "play until stopped")
)

func TestMain(m *testing.M) {
	if code, asked := program.Supervise(os.Args[1:], os.Environ()); asked {
		os.Exit(code)
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // of the processes that supervise bots: they end at once
	leaguetest.UseMemory(os.Setenv)
	goleak.VerifyTestMain(m)
}

func TestSwarm(t *testing.T) {
	if *soak {
		t.Skip("soaking")
	}
	first, count := max(*swarmSeed, 1), *swarmSeeds
	switch {
	case count == 0 && *swarmSeed > 0:
		count = 1
	case count == 0 && leaguetest.All():
		count = 1000
	case count == 0:
		count = 100
	}
	const batch = 25
	for from := 0; from < count; from += batch {
		size := min(batch, count-from)
		begin := first + uint64(from)
		t.Run(fmt.Sprintf("from seed %d", begin), func(t *testing.T) {
			t.Parallel()
			for i := range size {
				playSwarm(t, begin+uint64(i))
			}
		})
	}
}

// TestSoak is TestSwarm without an end.
func TestSoak(t *testing.T) {
	if !*soak {
		t.Skip("only with -soak")
	}
	first := *swarmSeed
	if first == 0 {
		first = uint64(time.Now().UnixNano()) >> 16
	}
	_, _ = fmt.Fprintf(os.Stderr, "soaking from seed %d\n", first)
	next := atomic.Uint64{}
	next.Store(first)
	begun := time.Now()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	t.Cleanup(stop)
	for range runtime.GOMAXPROCS(0) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for !t.Failed() && ctx.Err() == nil {
				seed := next.Add(1) - 1
				playSwarm(t, seed)
				if n := seed - first + 1; n%100 == 0 {
					_, _ = fmt.Fprintf(os.Stderr, "%d leagues, %.0f a minute, at seed %d\n", n, float64(n)/time.Since(begun).Minutes(), seed)
				}
			}
		})
	}
}

// playSwarm plays one league and checks it.
func playSwarm(t *testing.T, seed uint64) {
	t.Helper()
	o := swarmOptions(seed)
	defer watch(o)()
	folder := string(leaguetest.TempFolder(t))
	defer func() { _ = os.RemoveAll(folder) }() // before the next league
	defer func() {
		if v := recover(); v != nil { // synctest reports a deadlock
			require.Fail(t, fmt.Sprint(v), again(o))
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		l := playStored(t, o, folder)
		for name, check := range swarmChecks {
			for _, problem := range check(l) {
				require.Fail(t, name+": "+problem, again(o))
			}
		}
	})
}

// playStored plays a league that is stored in a folder.
func playStored(t *testing.T, o simulation.Options, folder string) *swarmLeague {
	t.Helper()
	l := &swarmLeague{options: o, injected: map[[2]string][]string{}}
	var mu sync.Mutex
	o.Injected = func(i simulation.Injection) {
		mu.Lock()
		defer mu.Unlock()
		l.injected[[2]string{i.MatchID, i.PlayerID}] = append(l.injected[[2]string{i.MatchID, i.PlayerID}], i.Fault)
	}
	o.Files = openFiles(t, store.Folder(folder), o.LeagueID)
	begin := time.Now()
	var err error
	l.result, err = simulation.Run(t.Context(), o)
	l.took = time.Since(begin)
	require.NoError(t, err, again(o))
	require.NoError(t, o.Files.Close(), again(o))
	l.report, err = audit.Run(store.Folder(folder), audit.Options{Games: o.Games})
	require.NoError(t, err, again(o))
	return l
}

// watch ends the tests when a league does not end: virtual time does not advance in a
// league that is always busy.
func watch(o simulation.Options) (stop func()) {
	const patience = 2 * time.Minute // of real time
	timer := time.AfterFunc(patience, func() {
		panic("a league does not end: " + again(o))
	})
	return func() { timer.Stop() }
}

// again returns the commands that play one league again.
func again(o simulation.Options) string {
	format := fmt.Sprintf("--legs %d", o.Legs)
	if t := o.Tournament; t != nil {
		format = fmt.Sprintf("--tournament %s --rounds %d", t.Format(), t.Rounds)
	}
	return fmt.Sprintf("go test ./league/simulation -run TestSwarm -seed %d\nevenodd simulate --game %s --seed %d --players %d --referees %d %s "+
		"--strategies %s --concurrency %d --transport %s --faults %s",
		o.Seed, o.GameType, o.Seed, o.Players, o.Referees, format, strings.Join(o.Strategies, ","), o.Concurrency, o.Transport, o.Faults)
}

// swarmOptions returns the options of the league of a seed.
func swarmOptions(seed uint64) simulation.Options {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	o := simulation.Options{
		Seed: seed, Rules: simulation.Rules{
			Created: journal.Created{LeagueID: "league_2025_even_odd", GameType: evenodd.Type, Legs: 1,
				Configuration: journal.Configuration{Participants: journal.Participants{Players: 2 + r.IntN(19), Referees: 1 + r.IntN(3)}}},
			Games: rules.NewRegistry(evenodd.Game{}, rockpaperscissors.Game{}, tictactoe.Game{}), Log: zerolog.Nop(),
		},
	}
	o.Transport, o.Concurrency = []string{simulation.Memory, simulation.Wire}[r.IntN(2)], []int{1, 2, 3, 16, 64}[r.IntN(5)]
	if o.Players > 8 && r.IntN(3) > 0 { // most leagues are small and fast
		o.Players = 2 + r.IntN(7)
	}
	if o.Players <= 8 {
		o.Legs += r.IntN(2)
	}
	swarmTournament(r, &o)
	names := everyday()
	for range 1 + r.IntN(len(names)) {
		o.Strategies = append(o.Strategies, names[r.IntN(len(names))])
	}
	o.Faults = swarmFaults(r, &o)
	swarmGame(r, &o)
	return o
}

// swarmTournament selects another format than a round-robin for four of seven leagues.
func swarmTournament(r *rand.Rand, o *simulation.Options) {
	legs := 1
	switch r.IntN(7) {
	case 0:
		o.Tournament = &journal.Tournament{Algorithm: pairing.Swiss, Rounds: r.IntN(1 + pairing.MaxSwissRounds(o.Players))}
	case 1:
		o.Tournament = &journal.Tournament{Algorithm: pairing.Knockout}
	case 2:
		o.Tournament = &journal.Tournament{Algorithm: pairing.DoubleElimination}
	case 3:
		legs = o.Legs
		o.Tournament = &journal.Tournament{Algorithm: pairing.Gauntlet, Gauntlet: 1 + r.IntN(o.Players-1)}
	default:
		return
	}
	o.Legs = legs
	for _, n := range r.Perm(o.Players)[:r.IntN(o.Players+1)] {
		o.Tournament.Seeding = append(o.Tournament.Seeding, fmt.Sprintf("Player %02d", n+1))
	}
}

// swarmRounds is the largest number of rounds of a league.
func swarmRounds(o *simulation.Options) int {
	pairer, err := pairing.New(o.Tournament.For(o.Players, o.Legs))
	if err != nil {
		panic(err)
	}
	return pairer.Rounds()
}

// swarmGame selects another game for every third league.
func swarmGame(r *rand.Rand, o *simulation.Options) {
	switch r.IntN(6) {
	case 0:
		o.GameType = rockpaperscissors.Type
	case 1:
		o.GameType = tictactoe.Type
		if r.IntN(2) == 0 {
			o.Strategies = append(o.Strategies, "perfect")
		}
	}
}

// swarmFaults returns random faults that a league can have.
func swarmFaults(r *rand.Rand, o *simulation.Options) string {
	var parts []string
	rounds := swarmRounds(o)
	for _, kind := range []string{"drop", "delay", "duplicate", "garbage"} {
		if r.IntN(2) == 0 {
			chance := []float64{0.01, 0.05, 0.2, 0.6, 1}[min(r.IntN(8), 4)%5]
			if kind == "duplicate" || r.IntN(3) > 0 {
				chance *= r.Float64()
			}
			parts = append(parts, fmt.Sprintf("%s=%.3f", kind, chance))
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
		for n := range o.Players {
			if r.IntN(4*o.Players) == 0 {
				parts = append(parts, kind+"="+league.PlayerID(n+1)+when())
			}
		}
	}
	for n := range o.Referees - 1 {
		if r.IntN(2) == 0 {
			parts = append(parts, fmt.Sprintf("referee-crash=%s@R%d", league.RefereeID(n+1), 1+r.IntN(rounds)))
		}
	}
	return strings.Join(parts, ",")
}
