package pairing

import "slices"

// A matching pairs players that may meet. Edmonds' blossom algorithm enlarges it, so
// that a player stays without an opponent only where no matching can change that.
type matching struct {
	legal func(p, q int) bool // tells whether two players may meet
	mate  []int               // by player: the opponent, or none

	// The alternating tree of a search, by player. Outer players are the root and the
	// mates of inner players. A blossom is an odd cycle of the tree: all its players
	// are outer, and its base stands for them.
	outer []bool
	from  []int // the outer player before an inner player; none for a player outside the tree
	base  []int // a player closer to the base of its blossom, or the base itself
	seen  []int // the number of the last contraction that saw the player as a base
	count int   // of contractions
	queue []int // the outer players, in the order of discovery
	free  []int // the members without an opponent, except the root
}

func newMatching(players int) *matching {
	m := &matching{
		mate: make([]int, players), outer: make([]bool, players),
		from: make([]int, players), base: make([]int, players), seen: make([]int, players),
	}
	for p := range m.mate {
		m.mate[p] = none
	}
	return m
}

func (m *matching) pair(p, q int) { m.mate[p], m.mate[q] = q, p }

// augment finds an opponent for root, which has none, and changes the opponents of
// other members as necessary. No member loses its opponent without getting another
// one. augment returns false, and changes nothing, if there is no such change: then
// there is none after other augmentations either. Opponents of members are members.
func (m *matching) augment(root int, members []int) bool {
	m.queue, m.free = m.queue[:0], m.free[:0]
	for _, p := range members {
		m.base[p], m.from[p], m.outer[p] = p, none, false
		if m.mate[p] == none && p != root {
			m.free = append(m.free, p)
		}
	}
	if len(m.free) == 0 {
		return false
	}
	m.reach(root)
	if m.finish(root) {
		return true
	}
	for next := 0; next < len(m.queue); next++ { //nolint:intrange // the queue grows
		p := m.queue[next]
		for _, q := range members {
			found := false
			switch {
			case m.from[q] != none && !m.outer[q]: // inner
			case m.outer[q]:
				found = m.findBase(p) != m.findBase(q) && m.legal(p, q) && m.contract(p, q)
			case m.mate[q] != none && m.legal(p, q):
				m.from[q] = p
				m.reach(m.mate[q])
				found = m.finish(m.mate[q])
			}
			if found {
				return true
			}
		}
	}
	return false
}

// searched tells whether a failed search reached a player. Later searches can leave it
// out: it cannot help them.
func (m *matching) searched(p int) bool { return m.outer[p] || m.from[p] != none }

// reach makes a player outer.
func (m *matching) reach(p int) {
	m.outer[p] = true
	m.queue = append(m.queue, p)
}

// finish changes the matching and returns true if an outer player can meet a free one.
func (m *matching) finish(p int) bool {
	for _, q := range m.free {
		if m.legal(p, q) {
			m.from[q] = p
			m.flip(q)
			return true
		}
	}
	return false
}

// flip exchanges the pairs on the path from the root to q for those beside them.
func (m *matching) flip(q int) {
	for q != none {
		p := m.from[q]
		next := m.mate[p]
		m.pair(p, q)
		q = next
	}
}

// contract makes a blossom of the cycle that the pair of two outer players closes. Its
// inner players become outer. If one of them can meet a free player, contract changes
// the matching and returns true.
func (m *matching) contract(p, q int) bool {
	base := m.commonBase(p, q)
	first := len(m.queue)
	m.climb(p, q, base)
	m.climb(q, p, base)
	return slices.ContainsFunc(m.queue[first:], m.finish)
}

// commonBase returns the last base that the paths from the root to p and q share.
func (m *matching) commonBase(p, q int) int {
	m.count++
	for p = m.findBase(p); ; p = m.findBase(m.from[m.mate[p]]) {
		m.seen[p] = m.count
		if m.mate[p] == none { // the root
			break
		}
	}
	for q = m.findBase(q); m.seen[q] != m.count; {
		q = m.findBase(m.from[m.mate[q]])
	}
	return q
}

// climb adds the players on the path from p towards the root, up to base, to the
// blossom of base. Inner ones become outer. It records how a path gets to the others from
// below.
func (m *matching) climb(p, below, base int) {
	for m.findBase(p) != base {
		mate := m.mate[p]
		if !m.outer[mate] {
			m.reach(mate)
		}
		m.from[p] = below
		for _, member := range []int{p, mate} {
			if m.base[member] == member {
				m.base[member] = base
			}
		}
		p, below = m.from[mate], mate
	}
}

// findBase returns the base of the blossom of a player: the player itself outside of
// blossoms.
func (m *matching) findBase(p int) int {
	for m.base[p] != p {
		m.base[p] = m.base[m.base[p]]
		p = m.base[p]
	}
	return p
}
