package leaguetest_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/simulation/faults"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// A timedPlan is everything that is random about a league in virtual time, except for the fate of each message,
// which follows from the seed and the message.
type timedPlan struct {
	seed                    uint64
	carrier                 string
	game                    rules.Game
	players, referees, legs int
	tournament              *journal.Tournament // nil for a round-robin
	signatures, broadcast   string              // as in journal.Configuration
	latency                 time.Duration       // the longest of a message in one direction
	faults                  map[messageFault]float64
	crashes                 []crash
	thinks                  map[string]time.Duration // how long a player takes to decide, at most, by host
	machines                machines
	standby                 bool                           // each process of the manager runs on another machine than the one before
	traits                  map[string][]leaguetest.Option // clocks and pauses, by host
	pauses                  map[string]leaguetest.Pause    // those of the traits
	disks                   map[string]faults.DiskChances  // by host; on one machine, that of the manager counts
}

// machines tells where the agents run.
type machines int

const (
	separate   machines = iota
	oneMachine          // all agents on one, with folders of their own
	oneFolder           // and in one folder
)

func (m machines) String() string {
	return [...]string{"separate machines", "one machine", "one machine and folder"}[m]
}

// A crash ends a process of an agent. It counts for the first process that gets so far.
type crash struct {
	host  string
	after int           // messages of the process, received and sent
	later time.Duration // after the last of them
	sent  bool          // the last of them, if it is a call of the process, still leaves it
	mute  bool          // the machine has no power: until it is back, its callers get no answer instead of a refusal
	away  time.Duration // until the next process begins; forever for none
}

const forever = time.Duration(-1)

func (c crash) String() string {
	return fmt.Sprintf("%s after %d messages (sent %v) and %v, mute %v, away %v", c.host, c.after, c.sent, c.later, c.mute, c.away)
}

// newTimedPlan draws the plan of a seed.
func newTimedPlan(seed uint64) *timedPlan {
	r := rand.New(rand.NewPCG(seed, 0x71ed))
	p := &timedPlan{
		seed: seed, carrier: leaguetest.Memory, players: 2 + r.IntN(3), referees: 1 + r.IntN(2), legs: 1,
		faults: map[messageFault]float64{}, thinks: map[string]time.Duration{},
		traits: map[string][]leaguetest.Option{}, pauses: map[string]leaguetest.Pause{},
		disks:      map[string]faults.DiskChances{},
		signatures: pick(r, "", journal.SignaturesOptional, journal.SignaturesRequired),
		broadcast:  pick(r, journal.BroadcastRound, journal.BroadcastRound, journal.BroadcastMatch),
		latency:    pick(r, 0, 20*time.Millisecond, 300*time.Millisecond, 2*time.Second),
		game: pick[rules.Game](r, evenodd.Game{}, evenodd.Game{}, evenodd.Game{}, rockpaperscissors.Game{}, tictactoe.Game{},
			kuhnpoker.Game{}),
	}
	if r.IntN(8) == 0 {
		p.carrier = leaguetest.Wire
	}
	switch r.IntN(8) {
	case 0:
		p.tournament = &journal.Tournament{Algorithm: pairing.Swiss, Rounds: 1 + r.IntN(pairing.MaxSwissRounds(p.players))}
	case 1:
		p.tournament = &journal.Tournament{Algorithm: pairing.Knockout}
	case 2:
		p.tournament = &journal.Tournament{Algorithm: pairing.DoubleElimination}
	case 3:
		p.tournament = &journal.Tournament{Algorithm: pairing.Gauntlet, Gauntlet: 1 + r.IntN(p.players-1)}
	default:
		p.legs = 1 + r.IntN(2)*r.IntN(2)
	}
	if r.IntN(3) > 0 { // a third of the leagues loses no message
		for _, fault := range messageFaults() {
			if r.IntN(3) == 0 {
				p.faults[fault] = pick(r, 0.01, 0.03, 0.1, 0.3)
			}
		}
	}
	if r.IntN(2) == 0 {
		p.faults[foreign], p.faults[stale] = 0.05, 0.05 // they harm nobody
	}
	p.machines = pick(r, separate, separate, separate, oneMachine, oneFolder)
	flawed := r.IntN(3) == 0
	clocks, pauses := r.IntN(3) == 0, r.IntN(4) == 0
	for _, host := range p.hosts() {
		if clocks {
			p.traits[host] = append(p.traits[host], newClock(r))
		}
		if pauses && r.IntN(3) == 0 {
			pause := leaguetest.Pause{At: time.Duration(r.IntN(60_000)) * time.Millisecond,
				For: pick(r, 2*time.Second, 20*time.Second, 90*time.Second, 30*time.Minute)}
			p.pauses[host] = pause
			p.traits[host] = append(p.traits[host], leaguetest.WithPauses(pause))
		}
		if flawed && r.IntN(2) == 0 {
			p.disks[host] = newDiskChances(r)
		}
		for range min(r.IntN(4), r.IntN(4)) {
			p.crashes = append(p.crashes, newCrash(r, host, p.refereesNeeded()))
		}
		p.thinks[host] = pick(r, 0, 0, time.Second, 10*time.Second)
	}
	_, flawedManager := p.disks[leaguetest.ManagerHost]
	p.standby = seed%2 == 0 && p.machines == separate && !flawedManager
	return p
}

// hosts are those of all agents.
func (p *timedPlan) hosts() []string {
	hosts := []string{leaguetest.ManagerHost}
	for n := range p.referees {
		hosts = append(hosts, strings.ToLower(league.RefereeID(n+1)))
	}
	for n := range p.players {
		hosts = append(hosts, strings.ToLower(league.PlayerID(n+1)))
	}
	return hosts
}

// refereesNeeded is the host of the referee that always comes back.
func (p *timedPlan) refereesNeeded() string { return strings.ToLower(league.RefereeID(1)) }

func newCrash(r *rand.Rand, host, needed string) crash {
	c := crash{host: host, after: 1 + min(r.IntN(60), r.IntN(60)), mute: r.IntN(3) == 0}
	if host == leaguetest.ManagerHost {
		c.after *= 3
	}
	c.later = pick(r, 0, 0, time.Duration(r.IntN(1000))*time.Millisecond, time.Duration(r.IntN(20))*time.Second)
	c.sent = c.later == 0 && c.after%2 == 1
	c.away = pick(r, 0, time.Duration(r.IntN(5000))*time.Millisecond, time.Duration(r.IntN(5000))*time.Millisecond,
		time.Duration(r.IntN(90))*time.Second, time.Duration(r.IntN(20))*time.Minute)
	if host != leaguetest.ManagerHost && host != needed && r.IntN(6) == 0 {
		c.away = forever
	}
	return c
}

// newDiskChances draws the faults of a disk.
func newDiskChances(r *rand.Rand) (c faults.DiskChances) {
	for kind := range c {
		if r.IntN(2) == 0 {
			if c[kind] = pick(r, 0.003, 0.01, 0.05); faults.DiskFault(kind) == faults.FlippedBit {
				c[kind] *= 10 // power cuts are rare, and nothing else flips a bit
			}
		}
	}
	return c
}

// newClock draws a wall clock that is wrong, and is set once or twice.
func newClock(r *rand.Rand) leaguetest.Option {
	wrong := func() time.Duration {
		return time.Duration(pick(r, -1, 1)) * pick(r, 0, 5*time.Second, 40*time.Second, 3*time.Hour, 400*24*time.Hour)
	}
	var jumps []leaguetest.Jump
	for range r.IntN(3) {
		jumps = append(jumps, leaguetest.Jump{At: time.Duration(r.IntN(120)) * time.Second, By: wrong()})
	}
	return leaguetest.WithClock(wrong(), jumps...)
}

// smallerPlans are the plans to try instead of one that fails.
func smallerPlans(p *timedPlan) (smaller []*timedPlan) {
	change := func(to func(q *timedPlan)) {
		q := *p
		to(&q)
		smaller = append(smaller, &q)
	}
	for _, crashes := range leaguetest.Without(p.crashes) {
		change(func(q *timedPlan) { q.crashes = crashes })
	}
	for _, kept := range leaguetest.Without(slices.Sorted(maps.Keys(p.faults))) {
		change(func(q *timedPlan) {
			q.faults = map[messageFault]float64{}
			for _, f := range kept {
				q.faults[f] = p.faults[f]
			}
		})
	}
	if p.tournament == nil { // others may not fit fewer players
		for _, n := range leaguetest.Fewer(p.players, 2) {
			change(func(q *timedPlan) { q.players = n })
		}
		for _, n := range leaguetest.Fewer(p.legs, 1) {
			change(func(q *timedPlan) { q.legs = n })
		}
	}
	for _, n := range leaguetest.Fewer(p.referees, 1) {
		change(func(q *timedPlan) { q.referees = n })
	}
	if p.latency > 0 {
		change(func(q *timedPlan) { q.latency = 0 })
	}
	if len(p.thinks) > 0 {
		change(func(q *timedPlan) { q.thinks = nil })
	}
	if p.machines != separate {
		change(func(q *timedPlan) { q.machines = separate })
	}
	for _, hosts := range leaguetest.Without(slices.Sorted(maps.Keys(p.disks))) {
		change(func(q *timedPlan) {
			q.disks = map[string]faults.DiskChances{}
			for _, host := range hosts {
				q.disks[host] = p.disks[host]
			}
		})
	}
	if p.standby {
		change(func(q *timedPlan) { q.standby = false })
	}
	if len(p.traits) > 0 {
		change(func(q *timedPlan) { q.traits, q.pauses = nil, nil })
	}
	return smaller
}

func (p *timedPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d players, %d referees, %d legs of %s, carrier %s, signatures %q, broadcast %s, latency %v, %v, standby %v, %d wrong clocks",
		p.game.Info().Type, p.players, p.referees, p.legs, p.tournament.Format(), p.carrier, p.signatures, p.broadcast, p.latency,
		p.machines, p.standby, len(p.traits))
	for _, host := range slices.Sorted(maps.Keys(p.pauses)) {
		fmt.Fprintf(&b, "\n  %s pauses at %v for %v", host, p.pauses[host].At, p.pauses[host].For)
	}

	for _, host := range slices.Sorted(maps.Keys(p.disks)) {
		for kind, chance := range p.disks[host] {
			if chance > 0 {
				fmt.Fprintf(&b, "\n  disk of %s: %v %v", host, faults.DiskFault(kind), chance)
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(p.faults)) {
		fmt.Fprintf(&b, "\n  %v %v", f, p.faults[f])
	}
	for _, c := range p.crashes {
		fmt.Fprintf(&b, "\n  crash of %v", c)
	}
	for _, host := range slices.Sorted(maps.Keys(p.thinks)) {
		fmt.Fprintf(&b, "\n  %s thinks for up to %v", host, p.thinks[host])
	}
	return b.String()
}

// pick draws one of several values.
func pick[V any](r *rand.Rand, values ...V) V { return values[r.IntN(len(values))] }
