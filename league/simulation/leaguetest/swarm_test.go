package leaguetest_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/leaguetest"
)

// The swarm plays random leagues, each from a seed, in virtual time: messages are late, lost and doubled, and each
// role crashes up to three times. It checks what must hold in every league.
//
//	go test ./league/simulation/leaguetest -run TestTimedSwarm -seed 7      one league again, with its log
//	go test ./league/simulation/leaguetest -run TestTimedSwarm -seeds 1000  that many, from -seed or 1
var (
	swarmSeed  = flag.Uint64("seed", 0, "play the league of this seed alone; with -seeds, the first")
	swarmSeeds = flag.Int("seeds", 0, "how many leagues to play")
)

func TestTimedSwarm(t *testing.T) {
	t.Parallel()
	first, count := max(*swarmSeed, 1), *swarmSeeds
	switch {
	case count == 0 && *swarmSeed > 0:
		count = 1
	case count == 0 && leaguetest.All():
		count = 1000
	case count == 0:
		count = 100
	}
	s := &swarmStatistics{counts: map[string]int{}}
	var next atomic.Int64
	t.Run("leagues", func(t *testing.T) {
		for range min(count, 4) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1) - 1; n < int64(count) && !t.Failed(); n = next.Add(1) - 1 {
					playTimed(t, first+uint64(n), count == 1 || *swarmSeeds > 0, s)
				}
			})
		}
	})
	if *swarmSeeds > 0 || testing.Verbose() {
		t.Logf("%d leagues\n%s", count, s)
	}
}

// swarmStatistics counts crashes and faults of all leagues by kind.
type swarmStatistics struct {
	mu      sync.Mutex
	counts  map[string]int
	longest time.Duration
}

func (s *swarmStatistics) add(counts map[string]int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, n := range counts {
		s.counts[kind] += n
	}
	s.longest = max(s.longest, took)
}

func (s *swarmStatistics) String() string {
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(s.counts)) {
		fmt.Fprintf(&b, "%8d %s\n", s.counts[kind], kind)
	}
	fmt.Fprintf(&b, "the longest league took %v", s.longest)
	return b.String()
}

// playTimed plays the league of a seed. It shrinks one that fails.
func playTimed(t *testing.T, seed uint64, verbose bool, s *swarmStatistics) {
	t.Helper()
	plan := newTimedPlan(seed)
	l := play(t, plan, verbose)
	s.add(l.counts, l.took)
	if len(l.problems) == 0 {
		return
	}
	t.Errorf("%s\n%v\ngo test ./league/simulation/leaguetest -run TestTimedSwarm -seed %d", strings.Join(l.problems, "\n"), plan, seed)
	smallest, repeats := leaguetest.Shrink(plan, smallerPlans, func(p *timedPlan) bool { return len(play(t, p, false).problems) > 0 })
	if !repeats {
		t.Logf("it fails in fewer than 3 of 5 runs\n%s", l.text.String())
		return
	}
	l = play(t, smallest, true)
	t.Errorf("the smallest league that fails: %v\n%s\n%s", smallest, strings.Join(l.problems, "\n"), l.text.String())
}

// A timedLeague is a league of the swarm while it is played.
type timedLeague struct {
	plan    *timedPlan
	world   *leaguetest.World
	agents  map[string]*agentLives // by id
	started atomic.Bool            // a round was announced
	lost    atomic.Bool            // the journal is lost
	final   chan struct{}          // closed when the league is over
	took    time.Duration

	stream    *sharedStream // of the journal; nil without a standby manager
	shortened atomic.Bool   // the journal was cut before a damaged line

	verbose bool
	text    *lockedBuffer // what has happened

	mu        sync.Mutex
	processes map[string]*process // the last one, by host
	sent      map[messageKey]int
	counts    map[string]int
	problems  []string
	seen      witness
	ended     bool
}

// patience bounds the virtual time of a league, and lastWait that until each agent knows that it is over.
const (
	patience = 24 * time.Hour
	lastWait = 2 * time.Hour
)

// play plays a league.
func play(t *testing.T, plan *timedPlan, verbose bool) (l *timedLeague) {
	t.Helper()
	l = &timedLeague{
		plan: plan, verbose: verbose, text: &lockedBuffer{},
		processes: map[string]*process{}, sent: map[messageKey]int{}, counts: map[string]int{}, seen: newWitness(),
	}
	watch := time.AfterFunc(2*time.Minute, func() { // virtual time does not advance in a league that is always busy
		panic(fmt.Sprintf("the league of seed %d does not end: %v", plan.seed, plan))
	})
	defer watch.Stop()
	defer func() {
		if v := recover(); v != nil { // synctest reports goroutines that are left
			l.problem("panic: %v", v)
		}
	}()
	synctest.Test(t, func(t *testing.T) { l.run(t) })
	return l
}

// run plays the league in virtual time.
func (l *timedLeague) run(t *testing.T) {
	l.world, l.final = leaguetest.NewWorld(t, l.plan.carrier, zerolog.Nop()), make(chan struct{})
	agents := l.newAgents()
	l.paused()
	l.agents = map[string]*agentLives{}
	for _, a := range agents {
		l.agents[a.id] = a
	}
	var others sync.WaitGroup
	managed := make(chan struct{})
	go func() {
		defer close(managed)
		agents[0].run()
	}()
	for _, a := range agents[1:] {
		others.Go(a.run)
	}
	select {
	case <-l.final:
		l.took = l.world.Now()
	case <-time.After(patience):
		l.problem("the league does not end within %v", patience)
	}
	known := make(chan struct{})
	go func() {
		defer close(known)
		others.Wait()
	}()
	if l.lost.Load() {
		l.world.Cancel()
	}
	select {
	case <-known:
	case <-time.After(lastWait):
		for _, a := range agents[1:] {
			if !a.over && !a.gone {
				l.problem("%s does not know that the league is over", a.id)
			}
		}
	}
	l.world.Cancel()
	<-managed
	<-known
	l.world.Close()
	if len(l.problems) == 0 && !l.lost.Load() {
		l.check(agents)
	}
	for _, a := range agents {
		for kind, n := range a.machine.disk.Injected() {
			if kind != faults.Kill.String() { // those by the plan are counted
				l.counts["disk: "+kind] += n
			}
		}
		if l.plan.machines != separate {
			break
		}
	}
}

// completed notes that the league is over.
func (l *timedLeague) completed(*protocol.LeagueCompleted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended = true
		close(l.final)
	}
}

func (l *timedLeague) count(kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[kind]++
}

// problem notes something that must not be.
func (l *timedLeague) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
	l.text.line(l.world, format, args...)
}

// note notes what happens, if the league is played to be read.
func (l *timedLeague) note(format string, args ...any) {
	if l.verbose {
		l.text.line(l.world, format, args...)
	}
}

// A lockedBuffer is a text of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(text)
}

func (b *lockedBuffer) line(w *leaguetest.World, format string, args ...any) {
	_, _ = fmt.Fprintf(b, "%8.3f %s\n", w.Now().Seconds(), fmt.Sprintf(format, args...))
}
