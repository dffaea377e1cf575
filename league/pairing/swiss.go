package pairing

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"evenodd/league"
)

// A swiss pairs players with equal scores by the order of criteria of the Dutch system (FIDE C.04.3), for a
// field without ratings: players of the same score rank by their seeds. The players that are not absent,
// and in an odd field the bye, are paired completely, so that in this order
//
//   - the fewest players get a second bye, the fewest pairs have met, and the fewest pairs must both get
//     the same side: a player must get side A if it was B twice more often than A, and vice versa;
//   - the bye goes to the lowest score;
//   - from the highest score down, the fewest players of the score group have an opponent of a lower
//     score, and the sum of the differences to these opponents is least.
//
// Among the pairings that are equally good so far, the opponents of the players of each score group are
// chosen before those of the next, so that in this order
//
//   - the fewest pairs want the same side, and of these the fewest strongly: a player wants the
//     side that it had less often, and if it had both as often, the other one than last time;
//   - from the first player down, each player has the first possible opponent in the order of halves: the lower half
//     of its group from the top down, the upper half from the bottom up, the lower groups from the top down,
//     the bye. Players with an opponent from a higher group belong to no half.
//
// So it is for fields of up to atOnce players. In a larger field, a group of more than half as many is paired by
// itself, player by player, with the fewest players left over; the choice for smaller ones looks ahead at the atOnce
// best players that have no opponent, or at the nearest that they can meet. If neither is enough, each player has the
// first opponent that leaves one to the players before it. If the last ones cannot be paired without a second bye, a
// second match or the same side, players above get other opponents, from the lowest up. No more than atOnce players
// are compared by all criteria, so the fewest second byes and second matches are certain, but not the fewest pairs
// that must both get the same side.
//
// Up to ⌈n/2⌉ rounds, no pair of n players need meet again, by Dirac's theorem. (Only in the last
// round of an odd field can a player have met half of the others; the exceptions to the theorem would then
// need a player with two byes.) After withdrawals they may have to.
type swiss struct {
	seeds  []int // players, best first
	rounds int
	points league.MatchPoints
}

// atOnce is the number of players that are paired at once. More cost more time: the matching takes the
// third power of their number.
const atOnce = 100

// MaxSwissRounds is the largest number of rounds of a Swiss tournament: ⌈n/2⌉.
func MaxSwissRounds(players int) int { return players - players/2 }

// newSwiss returns the Swiss tournament of 2 or more players. 0 rounds are ⌈log2 n⌉,
// enough for a single winner of all matches.
func newSwiss(f Format) (swiss, error) {
	if f.Players < 2 {
		return swiss{}, fmt.Errorf("a Swiss tournament needs at least 2 players, got %d", f.Players)
	}
	if most := MaxSwissRounds(f.Players); f.Rounds < 0 || f.Rounds > most {
		return swiss{}, fmt.Errorf("a Swiss tournament of %d players has 1 to %d rounds, got %d", f.Players, most, f.Rounds)
	}
	seeds, err := order(f.Players, f.Seeds)
	points := cmp.Or(f.Points, league.MatchPoints{Win: 2, Draw: 1}) // half-points
	return swiss{seeds, cmp.Or(f.Rounds, bits.Len(uint(f.Players-1))), points}, err
}

func (s swiss) Rounds() int  { return s.rounds }
func (s swiss) Matches() int { return s.rounds * (len(s.seeds) / 2) }

// Round returns the pairings of a round, those of the best players first. It returns nil if fewer
// than two players are left, and if the results are not those of a Swiss tournament.
func (s swiss) Round(round int, played [][]league.Played, absent Absences) []Pairing {
	if round < 1 || round > s.rounds || len(played) < round-1 {
		return nil
	}
	entrants := make([]entrant, len(s.seeds))
	for i, results := range played[:round-1] {
		if !s.record(entrants, results, func(p int) bool { return absent.Has(p, i+1) }) {
			return nil
		}
	}
	ranked := slices.DeleteFunc(slices.Clone(s.seeds), func(p int) bool { return absent.Has(p, round) })
	if len(ranked) < 2 {
		return nil
	}
	slices.SortStableFunc(ranked, func(p, q int) int { return cmp.Compare(entrants[q].score, entrants[p].score) })
	r := newSwissRound(entrants, ranked)
	r.pairAll()
	return r.pairings()
}

// An entrant is the record of a player of a Swiss tournament.
type entrant struct {
	score     int
	opponents []int  // sorted in a swissRound
	sides     []int8 // by round: 1 as A, -1 as B, 0 without a match
	balance   int    // the sum of sides
	last      int8   // the side of the last match
	hadBye    bool
}

// record adds the results of a round. It returns false if they are invalid.
func (s swiss) record(entrants []entrant, results []league.Played, absent func(p int) bool) bool {
	plays := make([]bool, len(entrants))
	for _, r := range results {
		if r.Check(len(entrants)) != nil || plays[r.A] || plays[r.B] {
			return false
		}
		plays[r.A], plays[r.B] = true, true
		entrants[r.A].play(s.points.For(r.Outcome(r.A)), r.B, 1)
		entrants[r.B].play(s.points.For(r.Outcome(r.B)), r.A, -1)
	}
	for p := range entrants {
		if plays[p] {
			continue
		}
		e := &entrants[p]
		e.sides = append(e.sides, 0)
		if !absent(p) {
			e.score, e.hadBye = e.score+s.points.Win, true
		}
	}
	return true
}

// play adds the result of a match of one player.
func (e *entrant) play(points, opponent int, side int8) {
	e.score += points
	e.opponents = append(e.opponents, opponent)
	e.sides = append(e.sides, side)
	e.balance += int(side)
	e.last = side
}

// wants is the side that a player wants: 1 for A, -1 for B, 0 for either.
func (e *entrant) wants() int { return -cmp.Compare(cmp.Or(e.balance, int(e.last)), 0) }

// allFaults is the number of faults of a pair.
const allFaults = 3

// maxDifference is more than any difference of scores that the settings of a league allow. A journal can have others.
const maxDifference = 1 << 32
