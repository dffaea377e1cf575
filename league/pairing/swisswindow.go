package pairing

import (
	"cmp"
	"slices"
)

// A window are players that are paired at once. From the score group spare on, they may also meet
// players outside of it.
type window struct {
	*swissRound

	open  []int // without an opponent, best first
	spare int

	first int         // the score group whose opponents are chosen
	place map[int]int // of its players in the order of halves
	size  int         // of the group
	units []unit      // of the criteria before the choice of opponents

	partners map[int]int     // of the open players, so that the cost is least; nil if not known
	regarded int             // the last score group whose criteria the cost of the partners has
	tight    map[[2]int]bool // the pairs that can cost least, with the lower index first
}

// general is the number of criteria that come before those of the score groups, of which each has two.
const general = 4

// A unit is the place of a criterion in a weight.
type unit struct {
	word int
	size int64
}

// pairGroup pairs the players of one group.
func (w *window) pairGroup(group []int) {
	w.place, w.size = make(map[int]int, len(group)), len(group)
	for i, p := range group {
		if w.place[p] = i - len(group)/2; w.place[p] < 0 {
			w.place[p] = len(group) - 1 - i
		}
	}
	for i, p := range group {
		if i == 0 {
			w.measure(w.group[p])
			w.check(group)
		}
		if w.mate[p] != none {
			continue
		}
		q := w.choice(p)
		w.pair(p, q)
		w.open = slices.DeleteFunc(w.open, func(o int) bool { return o == p || o == q })
	}
}

// check forgets the partners if other ones can cost less: they did not regard the sides of this group, nor the
// criteria of groups that were too far below.
func (w *window) check(group []int) {
	if w.regarded < w.lastRegarded() {
		w.partners = nil
	}
	for _, p := range group {
		if w.partners != nil && w.conflict(p, w.partners[p]) > 0 {
			w.partners = nil
		}
	}
}

// measure gives each criterion its units, from the score group on whose opponents are chosen.
func (w *window) measure(group int) {
	pairs, lowest := int64(len(w.open)/2), w.open[len(w.open)-1]
	if lowest == w.bye {
		lowest = w.open[len(w.open)-2]
	}
	most := []int64{1, pairs, pairs, int64(w.group[w.open[len(w.open)-1]])}
	for g := group; g < min(w.spare, w.group[lowest]+1); g++ {
		var players, differences int64
		for _, p := range w.open {
			if w.group[p] == g {
				players, differences = players+1, differences+w.difference(p, lowest)
			}
		}
		most = append(most, players, differences)
	}
	w.first, w.units = group, make([]unit, len(most))
	last := len(weight{}) - 1 // the last word is for the choice of opponents
	for i, word, total := 0, 0, int64(1); i < len(most); i++ {
		if total > maxWord/(most[i]+1) {
			word, total = word+1, 1
		}
		if word == last {
			w.units = w.units[:i] // nothing that comes behind is looked at
			break
		}
		total *= most[i] + 1
		w.units[i] = unit{word, 1}
		for j := i - 1; j >= 0 && w.units[j].word == word; j-- {
			w.units[j].size *= most[i] + 1
		}
	}
}

// lastRegarded is the last score group whose criteria the cost of a pair has.
func (w *window) lastRegarded() int { return w.first + (len(w.units)-general)/2 - 1 }

// maxWord bounds the sum over all pairs of one word of their costs. The matching adds and subtracts such sums, which
// must not overflow an int64.
const maxWord = 1 << 48

// cost is the cost of a pair of open players, without the order of halves.
func (w *window) cost(p, q int) (sum weight) {
	if w.group[p] > w.group[q] {
		p, q = q, p
	}
	group := w.group[p]
	if group >= w.spare {
		return sum
	}
	add := func(criterion int, value int64) {
		if criterion < len(w.units) {
			u := w.units[criterion]
			sum[u.word] += value * u.size
		}
	}
	for i, fault := range w.faults(p, q) {
		add(i, fault)
	}
	if q == w.bye {
		add(3, int64(w.group[q]-group))
	}
	if group != w.group[q] {
		add(general+2*(group-w.first), 1)
		add(general+2*(group-w.first)+1, w.difference(p, q))
	}
	if group == w.first {
		unit := int64(len(w.open) + w.size + 1) // more than any place
		switch w.conflict(p, q) {
		case 1:
			sum[len(sum)-1] += unit * unit
		case 2:
			sum[len(sum)-1] += unit*unit + unit
		}
	}
	return sum
}

// opponents are the open players in the order in which a player prefers them.
func (w *window) opponents(p int) []int {
	order := slices.DeleteFunc(slices.Clone(w.open), func(q int) bool { return q == p })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(w.rank(a), w.rank(b)) })
	return order
}

// rank orders the players of the group before the others.
func (w *window) rank(q int) int {
	if place, ok := w.place[q]; ok {
		return place
	}
	return w.size
}

// choice is the opponent of a player. It changes partners, which cost least, as necessary.
func (w *window) choice(p int) int {
	order := w.opponents(p)
	known := order
	if w.partners == nil {
		known = nil
	}
	for _, q := range known {
		mateP, mateQ := w.partners[p], w.partners[q]
		if q == mateP {
			return q
		}
		if !w.tight[[2]int{min(p, q), max(p, q)}] {
			continue // no pairing that costs least has this pair
		}
		if w.cost(p, q).plus(w.cost(mateP, mateQ)) != w.cost(p, mateP).plus(w.cost(q, mateQ)) {
			break // it takes more than an exchange
		}
		w.partners[p], w.partners[q], w.partners[mateP], w.partners[mateQ] = q, p, mateQ, mateP
		return q
	}
	place := make(map[int]int64, len(order))
	for i, q := range order {
		place[q] = int64(i)
	}
	partners, tight := cheapest(len(w.open), func(u, v int) weight {
		x, y := w.open[u], w.open[v]
		cost := w.cost(x, y)
		switch p {
		case x:
			cost[len(cost)-1] += place[y]
		case y:
			cost[len(cost)-1] += place[x]
		}
		return cost
	})
	w.partners, w.tight = make(map[int]int, len(partners)), map[[2]int]bool{}
	w.regarded = w.lastRegarded()
	for u, v := range partners {
		x := w.open[u]
		w.partners[x] = w.open[v]
		for t, y := range w.open[:u] {
			if tight(t, u) {
				w.tight[[2]int{min(x, y), max(x, y)}] = true
			}
		}
	}
	return w.partners[p]
}
