// Package pairing decides which players meet in each round of a league.
//
// Players are indexes, 0 to n-1, into the league's list of players in ascending
// order of id. The package is pure: it knows no ids, referees or files, and must
// not use a clock, the network or a random source.
package pairing

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"evenodd/league"
)

// A Pairing is one match: the indexes of players A and B.
type Pairing struct{ A, B int }

// none stands for a player that is missing, and is the winner of a match without one.
const none = league.None

// A Pairer pairs the players of a league, one round at a time. The journal's state
// is its only user: everything else asks the state for a round.
type Pairer interface {
	// Rounds is the largest number of rounds.
	Rounds() int
	// Matches is the largest number of matches of all rounds. A bye is no match.
	Matches() int
	// Round returns the pairings of a round, counted from 1, in the order of their
	// match numbers. It depends only on the results of the rounds before: played[0]
	// are those of round 1, in the order of their match numbers. Round ignores
	// results of the round itself and of later rounds. It returns nil if there is no
	// such round, if the tournament has ended, or if played lacks a round that it
	// needs. Where rounds depend on results, a tournament ends when fewer than two
	// players are left.
	//
	// Round neither keeps nor changes its arguments.
	Round(round int, played [][]league.Played, absent Absences) []Pairing
}

// A Ranker is a Pairer whose format itself ranks the players by a bracket: a knockout or a double elimination.
type Ranker interface {
	// Ranks returns the rank of each player, by index, at any time of the tournament.
	// Rank 1 is best. Players on one level share the rank of the first of them (1, 2,
	// 3, 4, 5, 5, 5, 5), so that there is always a rank 1. The caller orders players
	// of the same rank.
	Ranks(played [][]league.Played, absent Absences) []int
	// Bracket returns the places of each stage of each part, from top to bottom. A knockout has one part, where the
	// place for third place follows the final. A double elimination has the winners' bracket, the losers' bracket, which
	// has no stages if there are two players, and the finals: the second one has no match unless it is needed. Matches
	// include those of the round after the played ones.
	Bracket(played [][]league.Played, absent Absences) [][][]Slot
}

// A Legged is a Pairer whose pairs meet once in each leg: a RoundRobin, or a gauntlet.
type Legged interface {
	// Leg returns the leg of a round, both from 1. In each even leg the pairs meet as in the leg before, with the opposite
	// sides.
	Leg(round int) int
}

// A Slot is a place in a bracket, where two players meet. A bye has no matches and a winner.
type Slot struct {
	Third   bool
	Empty   bool // no player comes here
	A, B    int  // from top to bottom; league.None for a player that is not known or missing
	Winner  int  // league.None for none yet, and after a double loss
	Matches []league.MatchID
}

// The names of the algorithms in the journal.
const (
	Circle         = "circle-v1"          // RoundRobin of a game whose sides are alike
	Berger         = "berger-v1"          // RoundRobin with balanced sides
	BergerMirrored = "berger-mirrored-v1" // the same with the opposite sides
	Swiss          = "swiss-v2"
	Knockout       = "knockout-v1"
	Sequential     = "sequential-v1" // a Circle until one player is shown to be the best
	// a Berger until one player is shown to be the best
	SequentialBerger  = "sequential-v2"
	SPRT              = "sprt-v1" // double legs of two players until they decide between Bounds
	Gauntlet          = "gauntlet-v1"
	DoubleElimination = "double-elimination-v1"
)

// RoundRobinFor is the algorithm of a round-robin. Unless the sides of the game are alike, the lot decides which
// half of an even number of players is side A once more than the other half.
func RoundRobinFor(sidesAlike, lot bool) string {
	switch {
	case sidesAlike:
		return Circle
	case lot:
		return BergerMirrored
	}
	return Berger
}

// SequentialFor is the algorithm of a round-robin until one player is shown to be the best. Its legs are even, so
// that each player is as often side A as side B.
func SequentialFor(sidesAlike bool) string {
	if sidesAlike {
		return Sequential
	}
	return SequentialBerger
}

// A Format selects a tournament format and its parameters. The journal stores it.
type Format struct {
	Name    string // the algorithm; "" for Circle
	Players int    // 2 or more
	Legs    int    // of a round robin or gauntlet, 1 or more, the largest number for Sequential and SPRT; others ignore it
	Bounds  Bounds // of an SPRT; other formats ignore them
	Rounds  int    // of a Swiss tournament; 0 for the default
	Seeds   []int  // of other formats than a round robin: player indexes, best first; nil for ascending indexes

	Gauntlet int // the number of first seeds that meet all others in a gauntlet

	// Points are those of a Swiss tournament. The players of a score group have equal points. A
	// bye is worth a win. The zero value stands for 1, ½ and 0 points.
	Points league.MatchPoints
}

// New returns the pairer of a format. An error means that the algorithm is not known, or that
// it cannot pair this number of players, legs or rounds.
func New(f Format) (Pairer, error) {
	if f.Players > math.MaxInt32 { // the number of matches must not overflow
		return nil, fmt.Errorf("a tournament has at most %d players, got %d", math.MaxInt32, f.Players)
	}
	switch name := cmp.Or(f.Name, Circle); name {
	case Circle, Berger, BergerMirrored:
		r, err := NewRoundRobin(f.Players, f.Legs)
		return r.with(name), err
	case Swiss:
		return newSwiss(f)
	case Sequential, SequentialBerger, SPRT:
		return newSequential(name, &f)
	case Knockout:
		return newKnockout(f.Players, f.Seeds)
	case DoubleElimination:
		return newDoubleElimination(f.Players, f.Seeds)
	case Gauntlet:
		return newGauntlet(f)
	default:
		return nil, fmt.Errorf("algorithm %.40q is not known: made by another version of evenodd", name)
	}
}

// Absences are the rounds in which players are not paired, by player: the first round without it, the first one with
// it again, and so on, in ascending order. Nil means that all players are always there.
type Absences [][]int

// Has tells whether a player is absent in a round.
func (a Absences) Has(player, round int) bool {
	if len(a) == 0 {
		return false
	}
	changes, _ := slices.BinarySearch(a[player], round+1)
	return changes%2 == 1
}

// Set makes a player absent from a round on, or has it take part again. The round is not before those of earlier calls.
func (a Absences) Set(player, round int, absent bool) {
	changes := a[player]
	switch last := len(changes) - 1; {
	case absent == a.Has(player, round):
	case last >= 0 && changes[last] == round:
		a[player] = changes[:last]
	default:
		a[player] = append(changes, round)
	}
}

// Byes returns the players without a match in a round, in ascending order.
func Byes(players int, pairings []Pairing) []int {
	plays := make([]bool, players)
	for _, p := range pairings {
		plays[p.A], plays[p.B] = true, true
	}
	var byes []int
	for player := range plays {
		if !plays[player] {
			byes = append(byes, player)
		}
	}
	return byes
}

// order returns the players in the order of their seeds, which is that of their indexes
// if seeds is nil. The error names a player that is missing or listed twice.
func order(players int, seeds []int) ([]int, error) {
	if seeds == nil {
		seeds = make([]int, players)
		for p := range seeds {
			seeds[p] = p
		}
	}
	seeded := make([]bool, players)
	for _, p := range seeds {
		if p < 0 || p >= players || seeded[p] {
			return nil, fmt.Errorf("seed %d is no player, or is listed twice: want 0 to %d", p, players-1)
		}
		seeded[p] = true
	}
	if len(seeds) != players {
		return nil, fmt.Errorf("%d seeds for %d players: list each player once", len(seeds), players)
	}
	return slices.Clone(seeds), nil
}

// A RoundRobin pairs every player with every other player once per leg
// (spec 003 §3.5). It is an immutable value, and stores no rounds. The zero
// RoundRobin has no rounds.
//
// The layout is the circle method: player 0 stays, and the others move by one
// position a round on a ring. With four players it gives spec 003 table 9. With an
// odd number of players, a dummy takes the last position of the ring, and its
// opponent has a bye. In the odd legs the lower index is A, in the even legs B.
//
// With balanced sides, those of Berger's tables, each player is A in k or k-1 of its matches,
// whatever the number of legs, and its sides alternate from round to round, except once in a leg and
// between two legs. The dummy of an odd number of players stays, and all players are on the ring. Each
// leg has the opposite sides of the leg before.
type RoundRobin struct {
	players, legs int
	sides         sides
}

// sides say who is side A in the first leg.
type sides uint8

const (
	lowerFirst sides = iota // the player with the lower index
	balanced
	mirrored // not the player who is A if the sides are balanced
)

// with returns the round-robin of an algorithm.
func (r RoundRobin) with(algorithm string) RoundRobin {
	switch algorithm {
	case Berger, SequentialBerger:
		r.sides = balanced
	case BergerMirrored:
		r.sides = mirrored
	}
	return r
}

// NewRoundRobin returns the round robin of 2 or more players and 1 or more legs. Fewer are an
// error, and so many that an int cannot count their matches.
func NewRoundRobin(players, legs int) (RoundRobin, error) {
	if players < 2 {
		return RoundRobin{}, fmt.Errorf("a round robin needs at least 2 players, got %d", players)
	}
	if legs < 1 {
		return RoundRobin{}, fmt.Errorf("a round robin needs at least 1 leg, got %d", legs)
	}
	r := RoundRobin{players: players, legs: legs}
	if legs > math.MaxInt/r.ring()/(players/2) { // Matches must not overflow
		return RoundRobin{}, fmt.Errorf("a round robin of %d players and %d legs has more matches than can be counted",
			players, legs)
	}
	return r, nil
}

// Rounds is the number of rounds of all legs.
func (r RoundRobin) Rounds() int { return r.ring() * r.legs }

// Matches is the number of matches of all legs: n(n-1)/2 per leg.
func (r RoundRobin) Matches() int { return r.Rounds() * (r.players / 2) }

// Round returns the pairings of a round. They do not depend on results: played may
// be nil.
func (r RoundRobin) Round(round int, _ [][]league.Played, _ Absences) []Pairing {
	if round < 1 || round > r.Rounds() {
		return nil
	}
	ring := r.ring()
	leg, turn := (round-1)/ring, (round-1)%ring
	pairings := make([]Pairing, 0, r.players/2)
	for i := range ring/2 + 1 {
		p := r.pair(turn, i)
		if leg%2 == 1 {
			p = Pairing{p.B, p.A}
		}
		if max(p.A, p.B) < r.players { // else the dummy: its opponent has a bye
			pairings = append(pairings, p)
		}
	}
	return pairings
}

// pair is the pairing of the first leg in a turn between the positions i after and i before the turn. At
// the turn itself the two are the same: it meets the position that stays.
func (r RoundRobin) pair(turn, i int) Pairing {
	ring, stays, first := r.ring(), 0, 1 // first is the player of position 0
	if r.sides != lowerFirst && r.players%2 == 1 {
		stays, first = r.players, 0
	}
	p := Pairing{(turn+i)%ring + first, (turn-i+ring)%ring + first}
	aBefore := i%2 == 0 // by turns, a player is i after, …, 2 after, 1 after, 1 before, 2 before, …
	if i == 0 {
		p.A, aBefore = stays, turn%2 == 1
	}
	switch r.sides {
	case lowerFirst:
		return Pairing{min(p.A, p.B), max(p.A, p.B)}
	case mirrored:
		aBefore = !aBefore
	}
	if aBefore {
		return Pairing{p.B, p.A}
	}
	return p
}

// Leg returns the leg of a round: see Legged.
func (r RoundRobin) Leg(round int) int { return (round-1)/r.ring() + 1 }

// ring is the number of positions on the ring, including that of the dummy. It is
// odd, and also the number of rounds in a leg.
func (r RoundRobin) ring() int { return r.players - 1 + r.players%2 }
