package pairing

import (
	"cmp"
	"slices"
)

// A swissRound is a round while it is paired. In an odd field the last player is the bye, whose index is that
// behind the last entrant.
type swissRound struct {
	*matching

	entrants []entrant
	bye      int
	ranked   []int // the players that are paired, best first
	group    []int // by player: its score group, from 0; that of the bye is the last
}

func newSwissRound(entrants []entrant, ranked []int) *swissRound {
	r := &swissRound{matching: newMatching(len(entrants) + 1), entrants: entrants, bye: len(entrants), ranked: ranked,
		group: make([]int, len(entrants)+1)}
	for _, e := range entrants {
		slices.Sort(e.opponents)
	}
	for i, p := range ranked[1:] {
		if r.group[p] = r.group[ranked[i]]; entrants[p].score != entrants[ranked[i]].score {
			r.group[p]++
		}
	}
	if len(ranked)%2 == 1 {
		r.group[r.bye] = r.group[ranked[len(ranked)-1]] + 1
		r.ranked = append(r.ranked, r.bye)
	}
	return r
}

// pairAll pairs all players.
func (r *swissRound) pairAll() {
	if len(r.ranked) <= atOnce {
		r.pairAtOnce(r.ranked, r.ranked, len(r.group))
		return
	}
	aside := make([]bool, len(r.mate)) // players that are left for pairLast
	for {
		open := slices.DeleteFunc(r.single(r.ranked), func(p int) bool { return aside[p] })
		end := r.groupEnd(open, 0)
		switch {
		case len(open) <= atOnce:
			r.pairLast(r.single(r.ranked))
			return
		case end > atOnce/2 && r.pairLarge(open[:end]):
		default:
			for next := end; next <= atOnce/2; next = r.groupEnd(open, end) {
				end = next
			}
			for _, p := range r.pairBest(open, min(end, atOnce/2)) {
				aside[p] = true
			}
		}
	}
}

// single are the players that have no opponent.
func (r *swissRound) single(players []int) []int {
	return slices.DeleteFunc(slices.Clone(players), func(p int) bool { return r.mate[p] != none })
}

// pairBest pairs the best of the open players, without a fault, with a look ahead at the next ones. If these are
// not enough, they meet the next ones of those that they can meet, without a look at the others. It returns the players
// that cannot be paired so.
func (r *swissRound) pairBest(open []int, players int) (left []int) {
	best, spare := open[:players], len(r.group)
	if last := open[atOnce-1]; last != r.ranked[len(r.ranked)-1] {
		spare = r.group[last] // there are more of them
	}
	if r.pairWithout(best, open[:atOnce], spare) {
		return nil
	}
	near := slices.Clone(best)
	for _, q := range open[players:] {
		if len(near) < atOnce && slices.ContainsFunc(best, func(p int) bool { return !r.anyFault(p, q) }) {
			near = append(near, q)
		}
	}
	if r.pairWithout(best, near[:len(near)-len(near)%2], r.group[best[players-1]]+1) {
		return nil
	}
	r.legal = r.freeOf(allFaults)
	for _, p := range best {
		if r.mate[p] == none && !r.augment(p, open) {
			left = append(left, p)
		}
	}
	return left
}

// pairWithout pairs players at once, or returns false and pairs no player if it finds no pairs without a fault.
func (r *swissRound) pairWithout(players, open []int, spare int) bool {
	r.legal = r.freeOf(allFaults)
	covered := !slices.ContainsFunc(players, func(p int) bool { return r.mate[p] == none && !r.augment(p, open) })
	r.separate(open)
	if !covered {
		return false
	}
	r.pairAtOnce(players, open, spare)
	if slices.ContainsFunc(players, func(p int) bool { return r.anyFault(p, r.mate[p]) }) {
		r.separate(open)
		return false
	}
	return true
}

// separate takes their opponents from players.
func (r *swissRound) separate(players []int) {
	for _, p := range players {
		r.mate[p] = none
	}
}

// groupEnd is the position behind the score group of the player at a position.
func (r *swissRound) groupEnd(players []int, start int) int {
	end := start
	for end < len(players) && r.group[players[end]] == r.group[players[start]] {
		end++
	}
	return end
}

// pairLast pairs the players that are left. If they cannot be paired without a fault, they get the opponents of
// players above, from the lowest up.
func (r *swissRound) pairLast(last []int) {
	r.legal = r.freeOf(allFaults)
	members := r.ranked[:0]
	for _, p := range last {
		for r.mate[p] == none && (len(members) == 0 || !r.augment(p, members)) {
			if len(members) == len(r.ranked) { // the whole field cannot be paired without a fault
				r.pairWithFaults()
				break
			}
			members = r.lowest(2*max(len(members), len(last)/2), last)
		}
	}
	r.improve(last)
}

// pairWithFaults pairs the players that are left, with the fewest second byes and second matches: each search is for
// all players that it can pair with the faults that are allowed so far.
func (r *swissRound) pairWithFaults() {
	for allowed := range allFaults + 1 {
		r.legal = r.freeOf(allFaults - allowed)
		members := r.ranked
		for _, p := range slices.Backward(r.single(r.ranked)) { // the bye first
			if r.mate[p] == none && !r.augment(p, members) {
				members = slices.DeleteFunc(slices.Clone(members), r.searched)
			}
		}
	}
}

// improve pairs players and their opponents again, from the lowest up, at most atOnce at once.
func (r *swissRound) improve(players []int) {
	again := make([]bool, len(r.mate))
	for _, p := range players {
		again[p], again[r.mate[p]] = true, true
	}
	for rest := r.ranked; len(rest) > 0; {
		part := make([]bool, len(r.mate))
		count := 0
		for _, p := range slices.Backward(rest) {
			if again[p] && !part[p] && count < atOnce {
				part[p], part[r.mate[p]] = true, true
				count += 2
			}
		}
		members := slices.DeleteFunc(slices.Clone(rest), func(p int) bool { return !part[p] })
		rest = slices.DeleteFunc(slices.Clone(rest), func(p int) bool { return !again[p] || part[p] })
		r.separate(members)
		r.pairAtOnce(members, members, len(r.group))
	}
}

// lowest returns the lowest ranked players, at least size, with their opponents, and the last ones.
func (r *swissRound) lowest(size int, last []int) []int {
	open := make([]bool, len(r.mate))
	for _, p := range slices.Concat(last, r.ranked[max(0, len(r.ranked)-size):]) {
		open[p] = true
	}
	return slices.DeleteFunc(slices.Clone(r.ranked), func(p int) bool {
		return !open[p] && (r.mate[p] == none || !open[r.mate[p]])
	})
}

func (r *swissRound) anyFault(p, q int) bool { return r.faults(p, q) != [allFaults]int64{} }

// freeOf tells which pairs have none of the first faults.
func (r *swissRound) freeOf(faults int) (legal func(p, q int) bool) {
	return func(p, q int) bool {
		f := r.faults(p, q)
		return !slices.ContainsFunc(f[:faults], func(n int64) bool { return n != 0 })
	}
}

// faults are what a pair should not have: a second bye, a second match, the same side that both must get.
func (r *swissRound) faults(p, q int) (faults [allFaults]int64) {
	if r.group[p] > r.group[q] {
		p, q = q, p
	}
	e := &r.entrants[p]
	if q == r.bye {
		if e.hadBye {
			faults[0] = 1
		}
		return faults
	}
	if _, met := slices.BinarySearch(e.opponents, q); met {
		faults[1] = 1
	}
	if a, b := e.balance, r.entrants[q].balance; min(a, b) >= 2 || max(a, b) <= -2 {
		faults[2] = 1
	}
	return faults
}

// conflict tells that two players want the same side: 2 if both strongly, else 1; 0 if they do not.
func (r *swissRound) conflict(p, q int) int {
	if p == r.bye || q == r.bye {
		return 0
	}
	e, f := &r.entrants[p], &r.entrants[q]
	switch {
	case e.wants()*f.wants() != 1:
		return 0
	case e.balance == 0 || f.balance == 0:
		return 1
	}
	return 2
}

// difference is the difference of the scores of two players; 0 if one is the bye.
func (r *swissRound) difference(p, q int) int64 {
	if p == r.bye || q == r.bye {
		return 0
	}
	d := int64(r.entrants[p].score - r.entrants[q].score)
	return min(max(d, -d, 0), maxDifference)
}

// pairAtOnce pairs players, best first, whose opponents are among the open players. These are at most atOnce. From the
// score group spare on, they may also meet others.
func (r *swissRound) pairAtOnce(players, open []int, spare int) {
	w := &window{swissRound: r, open: slices.Clone(open), spare: spare}
	for len(players) > 0 {
		end := r.groupEnd(players, 0)
		w.pairGroup(r.single(players[:end]))
		players = players[end:]
	}
}

// pairLarge pairs the players of a large score group and tells whether it has paired any. It leaves
// as few as possible, the lowest ranked that it can.
func (r *swissRound) pairLarge(group []int) bool {
	r.legal = func(p, q int) bool { return r.conflict(p, q) == 0 && !r.anyFault(p, q) }
	r.pairInOrder(group)
	r.legal = r.freeOf(allFaults)
	r.pairInOrder(r.single(group))
	search := group
	for _, p := range r.single(group) {
		if r.mate[p] == none && !r.augment(p, search) {
			search = slices.DeleteFunc(slices.Clone(search), r.searched)
		}
	}
	r.lowerFloaters(group)
	return len(r.single(group)) < len(group)
}

// pairInOrder pairs each player with its first legal opponent: the lower half from the top
// down, then the upper half from the bottom up.
func (r *swissRound) pairInOrder(players []int) {
	for open := slices.Clone(players); len(open) > 1; open = open[1:] {
		half, found := len(open)/2, 0
		for i := half; i < len(open) && found == 0; i++ {
			if r.legal(open[0], open[i]) {
				found = i
			}
		}
		for i := half - 1; i > 0 && found == 0; i-- {
			if r.legal(open[0], open[i]) {
				found = i
			}
		}
		if found > 0 {
			r.pair(open[0], open[found])
			open = slices.Delete(open, found, found+1)
		}
	}
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

// pairings returns the pairs in the order of their better players.
func (r *swissRound) pairings() []Pairing {
	pairings := make([]Pairing, 0, len(r.ranked)/2)
	placed := make([]bool, len(r.group))
	for _, p := range r.ranked {
		q := r.mate[p]
		if placed[q] = true; placed[p] || q == r.bye {
			continue
		}
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
