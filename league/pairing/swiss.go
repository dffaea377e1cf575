package pairing

import (
	"cmp"
	"fmt"
	"math/big"
	"math/bits"
	"slices"

	"evenodd/league"
)

// A swiss pairs players with equal scores, as the Dutch system (FIDE C.04.3) does for
// a field without ratings: players of the same score rank by their seeds.
//
//   - The bye goes to the lowest ranked player that had none.
//   - From the highest score down, the upper half of a score group meets the lower
//     half. If players have met, the first of the transpositions, then of the
//     exchanges, makes as many legal pairs as possible. The players that remain float
//     to the next group, whose best players they meet.
//   - Pairs are opened again, from the lowest up, until the players that remain after
//     the last group have opponents.
//   - No two players meet twice. Up to ⌈n/2⌉ rounds, such a pairing always exists, by
//     Dirac's theorem. (Only in the last round of an odd field can a player have met half
//     of the others; the exceptions to the theorem would then need a player with two byes.)
//   - Two players do not meet if both must get the same side, if all can avoid that. A
//     player must get side A if it was B twice more often than A, and vice versa.
type swiss struct {
	seeds  []int // players, best first
	rounds int
	points league.MatchPoints
}

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

// Round returns the pairings of a round, those of the best players first. It returns
// nil if the results are not those of a Swiss tournament, because then there may be no
// legal pairing.
func (s swiss) Round(round int, played [][]league.Played, _ []int) []Pairing {
	if round < 1 || round > s.rounds || len(played) < round-1 {
		return nil
	}
	entrants := make([]entrant, len(s.seeds))
	for _, results := range played[:round-1] {
		if !s.record(entrants, results) {
			return nil
		}
	}
	return pairSwiss(entrants, s.seeds)
}

// An entrant is the record of a player of a Swiss tournament.
type entrant struct {
	score     int
	opponents big.Int // a set: the bit of each opponent is 1
	sides     []int8  // by round: 1 as A, -1 as B, 0 for a bye
	balance   int     // the sum of sides
	hadBye    bool
}

// record adds the results of a round. It returns false if they are invalid.
func (s swiss) record(entrants []entrant, results []league.Played) bool {
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
		if !plays[p] {
			e := &entrants[p]
			e.score, e.hadBye, e.sides = e.score+s.points.Win, true, append(e.sides, 0)
		}
	}
	return true
}

// play adds the result of a match of one player.
func (e *entrant) play(points, opponent int, side int8) {
	e.score += points
	e.opponents.SetBit(&e.opponents, opponent, 1)
	e.sides = append(e.sides, side)
	e.balance += int(side)
}

// A swissRound is a round while it is paired.
type swissRound struct {
	*matching

	entrants []entrant
	ranked   []int // the players with a match, best first
}

// pairSwiss pairs the next round.
func pairSwiss(entrants []entrant, seeds []int) []Pairing {
	r := &swissRound{matching: newMatching(len(entrants)), entrants: entrants}
	r.legal = r.balanced
	r.ranked = slices.Clone(seeds)
	slices.SortStableFunc(r.ranked, func(p, q int) int { return cmp.Compare(entrants[q].score, entrants[p].score) })
	if len(r.ranked)%2 == 1 {
		r.removeBye()
	}
	var floaters []int
	for start, end := 0, 0; start < len(r.ranked); start = end {
		for end < len(r.ranked) && entrants[r.ranked[end]].score == entrants[r.ranked[start]].score {
			end++
		}
		floaters = r.pairGroup(slices.Concat(floaters, r.ranked[start:end]))
	}
	if !r.pairRemaining(floaters, r.balanced) && !r.pairRemaining(floaters, r.unmet) {
		return nil
	}
	return r.pairings()
}

// removeBye removes the player that gets the bye: the lowest ranked that had none, or
// the lowest ranked.
func (r *swissRound) removeBye() {
	at := len(r.ranked) - 1
	for i, p := range r.ranked {
		if !r.entrants[p].hadBye {
			at = i
		}
	}
	r.ranked = slices.Delete(r.ranked, at, at+1)
}

// unmet tells whether two players have not met.
func (r *swissRound) unmet(p, q int) bool { return r.entrants[p].opponents.Bit(q) == 0 }

// balanced tells whether two players have not met, and can meet without a side that
// one of them had twice more often than the other side.
func (r *swissRound) balanced(p, q int) bool {
	b, c := r.entrants[p].balance, r.entrants[q].balance
	return min(b, c) < 2 && max(b, c) > -2 && r.unmet(p, q)
}

// pairGroup pairs the players of a score group and the floaters from the group above,
// which come first. It returns the players that it cannot pair.
func (r *swissRound) pairGroup(group []int) (floaters []int) {
	even := len(group) &^ 1
	if r.pairInOrder(group[:even], false) {
		return group[even:]
	}
	// First choices leave players without opponents. Find as many pairs as possible.
	// Then choose again in order, but make no choice that costs a pair.
	search := group
	for _, p := range group {
		if r.mate[p] == none && !r.augment(p, search) {
			search = slices.DeleteFunc(slices.Clone(search), r.searched)
		}
	}
	r.lowerFloaters(group)
	isFree := func(p int) bool { return r.mate[p] == none }
	r.pairInOrder(slices.DeleteFunc(slices.Clone(group), isFree), true) // each of them stays paired
	return slices.DeleteFunc(slices.Clone(group), func(p int) bool { return !isFree(p) })
}

// pairInOrder pairs each player with its first legal opponent. If they all have
// opponents already, keep takes the first one that leaves opponents for all others.
// pairInOrder tells whether all players have an opponent.
func (r *swissRound) pairInOrder(players []int, keep bool) bool {
	complete := true
	needA, needB := r.needs(players...)
	for open := slices.Clone(players); len(open) > 0; open = open[1:] {
		p := open[0]
		i := r.firstOpponent(open, func(q int) bool {
			if !r.legal(p, q) {
				return false
			}
			// A search for opponents of all others is slow where too many need one side.
			a, b := r.needs(p, q)
			return !keep || max(needA-a, needB-b) <= len(open)/2-1 && r.repair(p, q, open)
		})
		if i == 0 {
			complete = false
			continue
		}
		a, b := r.needs(p, open[i])
		needA, needB = needA-a, needB-b
		r.pair(p, open[i])
		open = slices.Delete(open, i, i+1)
	}
	return complete
}

// needs counts the players that must get side A, and those that must get side B.
func (r *swissRound) needs(players ...int) (a, b int) {
	for _, p := range players {
		if r.entrants[p].balance <= -2 {
			a++
		}
		if r.entrants[p].balance >= 2 {
			b++
		}
	}
	return a, b
}

// firstOpponent returns the position of the first open player that the first one
// accepts; 0 if there is none. The upper half meets the lower half, and floaters meet
// the best players of the group. Transpositions come first: the opponents from there
// down. Exchanges follow: the opponents from there up.
func (r *swissRound) firstOpponent(open []int, accept func(q int) bool) int {
	natural := len(open) / 2
	if lowest := r.entrants[open[len(open)-1]].score; r.entrants[open[0]].score > lowest {
		natural = slices.IndexFunc(open, func(p int) bool { return r.entrants[p].score == lowest })
	}
	for i := max(natural, 1); i < len(open); i++ {
		if accept(open[i]) {
			return i
		}
	}
	for i := natural - 1; i > 0; i-- {
		if accept(open[i]) {
			return i
		}
	}
	return 0
}

// lowerFloaters replaces players without an opponent by the lowest ranked players
// whose opponents they can take over.
func (r *swissRound) lowerFloaters(group []int) {
	for i, p := range group {
		for j := len(group) - 1; j > i && r.mate[p] == none; j-- {
			low := group[j]
			if q := r.mate[low]; q != none && r.legal(p, q) {
				r.mate[low] = none
				r.pair(p, q)
			}
		}
	}
}

// pairRemaining pairs the floaters from the last group. It opens pairs from the lowest
// up, and tells whether it could pair all floaters.
func (r *swissRound) pairRemaining(floaters []int, legal func(p, q int) bool) bool {
	r.legal = legal
	complete := true
	size := 2
	for _, p := range floaters {
		for r.mate[p] == none {
			open := r.lowest(size, floaters)
			if r.augment(p, open) {
				break
			}
			if len(open) == len(r.ranked) {
				complete = false
				break
			}
			size *= 2
		}
	}
	return complete
}

// lowest returns the lowest ranked players, at least size, with their opponents, and
// the floaters.
func (r *swissRound) lowest(size int, floaters []int) []int {
	open := make([]bool, len(r.entrants))
	for _, p := range slices.Concat(floaters, r.ranked[max(0, len(r.ranked)-size):]) {
		open[p] = true
	}
	return slices.DeleteFunc(slices.Clone(r.ranked), func(p int) bool {
		return !open[p] && (r.mate[p] == none || !open[r.mate[p]])
	})
}

// pairings returns the pairs in the order of their better players.
func (r *swissRound) pairings() []Pairing {
	pairings := make([]Pairing, 0, len(r.ranked)/2)
	placed := make([]bool, len(r.entrants))
	for _, p := range r.ranked {
		if placed[p] {
			continue
		}
		q := r.mate[p]
		placed[q] = true
		pairing := Pairing{p, q}
		side := compareSides(&r.entrants[p], &r.entrants[q])
		if side > 0 || side == 0 && len(pairings)%2 == 1 {
			pairing = Pairing{q, p}
		}
		pairings = append(pairings, pairing)
	}
	return pairings
}

// compareSides is negative if the first player gets side A, positive if the second
// does: the one that was A less often, or the one that was B when their sides last
// differed. It is 0 if they had the same sides in all rounds.
func compareSides(a, b *entrant) int {
	order := cmp.Compare(a.balance, b.balance)
	for i := len(a.sides) - 1; i >= 0 && order == 0; i-- {
		order = cmp.Compare(a.sides[i], b.sides[i])
	}
	return order
}
