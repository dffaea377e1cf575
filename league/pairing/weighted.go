package pairing

import (
	"cmp"
	"slices"
)

// A weight is the cost of a pair by several criteria, the most important first. Weights add up
// word by word, and compare from the first word on.
type weight [5]int64

func (w weight) plus(v weight) weight {
	for i := range w {
		w[i] += v[i]
	}
	return w
}

func (w weight) minus(v weight) weight {
	for i := range w {
		w[i] -= v[i]
	}
	return w
}

func (w weight) compare(v weight) int {
	for i := range w {
		if w[i] != v[i] {
			return cmp.Compare(w[i], v[i])
		}
	}
	return 0
}

// half is exact: where the algorithm halves, each word is even.
func (w weight) half() weight {
	for i := range w {
		w[i] /= 2
	}
	return w
}

// cheapest pairs an even number of vertices, 0 to n-1, so that the sum of the costs of the pairs
// is least. It returns the partner of each vertex, and which pairs are tight: the others are in no
// pairing with the least sum. Any two vertices can be a pair.
//
// This is Edmonds' weighted blossom algorithm in the form of Galil, in O(n³): each stage grows
// alternating trees from all single vertices along tight pairs, those whose cost equals the sum of the
// duals of their vertices, and moves the duals until a path between two trees is tight.
func cheapest(n int, cost func(u, v int) weight) (partners []int, tight func(u, v int) bool) {
	b := newBlossoms(n, cost)
	for range n / 2 {
		b.stage()
	}
	return b.mate[:n], b.tight
}

// tight tells whether a pair of vertices is tight. The duals of the blossoms that have both count.
func (b *blossoms) tight(u, v int) bool {
	gap := b.gap(pair{u, v})
	for x := b.n; x < len(b.top); x++ {
		if b.top[x] != none && b.in[x][u] != none && b.in[x][v] != none {
			gap = gap.plus(b.dual[x])
		}
	}
	return gap == weight{}
}

// The labels of a node in a stage.
const (
	unlabelled = iota
	outer      // at an even distance from the root of its tree
	inner
)

// blossoms is the state of cheapest. Nodes are the vertices and the blossoms, which have numbers from
// n on. A node that is in no blossom is on the surface.
type blossoms struct {
	n     int
	costs []weight // by pair of vertices: twice the cost

	dual  []weight // of vertices; twice that of blossoms, which is not negative
	mate  []int    // by node: the vertex of the partner outside, or none
	top   []int    // the node on the surface that contains a node; none for a free number
	from  []int    // by labelled node on the surface: the vertex before it in the tree, or none
	label []int
	slack []int    // by node on the surface: the outer vertex with the pair that is closest to tight, or none
	parts [][]int  // of a blossom: its nodes in the order of its cycle, the base first
	ends  [][]pair // by two nodes: the vertices of the pair between them that is closest to tight
	in    [][]int  // by blossom and vertex: the part that has the vertex, or none
	seen  []int
	count int
	queue []int // outer vertices that are not scanned
}

// A pair is two vertices: one of each node.
type pair struct{ u, v int }

func newBlossoms(n int, cost func(u, v int) weight) *blossoms {
	most := n + n/2 + 1
	b := &blossoms{
		n: n, costs: make([]weight, n*n), dual: make([]weight, most), mate: make([]int, most), top: make([]int, most),
		from: make([]int, most), label: make([]int, most), slack: make([]int, most), parts: make([][]int, most),
		ends: make([][]pair, most), in: make([][]int, most), seen: make([]int, most),
	}
	ends, in := make([]pair, most*most), make([]int, most*n)
	for x := range most {
		b.mate[x], b.top[x] = none, none
		b.ends[x], b.in[x] = ends[x*most:(x+1)*most], in[x*n:(x+1)*n]
	}
	var least weight // no pair costs less
	for u := range n {
		b.top[u] = u
		for v := range n {
			b.ends[u][v], b.in[u][v] = pair{u, v}, none
			if u < v {
				c := cost(u, v)
				if c.compare(least) < 0 || u == 0 && v == 1 {
					least = c
				}
				c = c.plus(c)
				b.costs[u*n+v], b.costs[v*n+u] = c, c
			}
		}
		b.in[u][u] = u
	}
	for u := range n {
		b.dual[u] = least
	}
	return b
}

// gap is how far a pair is from being tight. It is not negative between nodes on the surface.
func (b *blossoms) gap(e pair) weight {
	return b.costs[e.u*b.n+e.v].minus(b.dual[e.u]).minus(b.dual[e.v])
}

// surface calls visit for each node on the surface.
func (b *blossoms) surface(visit func(x int) (stop bool)) bool {
	for x := range b.top {
		if b.top[x] == x && visit(x) {
			return true
		}
	}
	return false
}

// stage enlarges the matching by one pair.
func (b *blossoms) stage() {
	b.queue = b.queue[:0]
	for x := range b.label {
		b.label[x], b.slack[x] = unlabelled, none
	}
	b.surface(func(x int) bool {
		if b.mate[x] == none {
			b.from[x], b.label[x] = none, outer
			b.enqueue(x)
		}
		return false
	})
	for !b.scan() && !b.adjust() {
	}
}

// scan follows the tight pairs of outer vertices. It tells whether the matching has grown.
func (b *blossoms) scan() bool {
	for len(b.queue) > 0 {
		u := b.queue[0]
		b.queue = b.queue[1:]
		for v := range b.n {
			x := b.top[v]
			if x == b.top[u] || b.label[x] == inner {
				continue
			}
			if b.gap(pair{u, v}) == (weight{}) {
				if b.follow(pair{u, v}) {
					return true
				}
			} else {
				b.tighten(u, x)
			}
		}
	}
	return false
}

// adjust moves the duals as far as they may, and follows the pairs that become tight. It tells whether the
// matching has grown.
func (b *blossoms) adjust() bool {
	var least weight
	found := false
	limit := func(d weight) {
		if !found || d.compare(least) < 0 {
			least, found = d, true
		}
	}
	b.surface(func(x int) bool {
		switch {
		case b.label[x] == inner && x >= b.n:
			limit(b.dual[x].half())
		case b.label[x] == inner || b.slack[x] == none:
		case b.label[x] == outer:
			limit(b.gap(b.ends[b.slack[x]][x]).half())
		default:
			limit(b.gap(b.ends[b.slack[x]][x]))
		}
		return false
	})
	for u := range b.n {
		switch b.label[b.top[u]] {
		case outer:
			b.dual[u] = b.dual[u].plus(least)
		case inner:
			b.dual[u] = b.dual[u].minus(least)
		}
	}
	b.surface(func(x int) bool {
		switch {
		case x < b.n:
		case b.label[x] == outer:
			b.dual[x] = b.dual[x].plus(least).plus(least)
		case b.label[x] == inner:
			b.dual[x] = b.dual[x].minus(least).minus(least)
		}
		return false
	})
	grown := b.surface(func(x int) bool {
		if s := b.slack[x]; s != none && b.label[x] != inner && b.top[s] != x && b.gap(b.ends[s][x]) == (weight{}) {
			return b.follow(b.ends[s][x])
		}
		return false
	})
	if grown {
		return true
	}
	for x := b.n; x < len(b.top); x++ {
		if b.top[x] == x && b.label[x] == inner && b.dual[x] == (weight{}) {
			b.expand(x)
		}
	}
	return false
}

// follow labels the node behind a tight pair of an outer vertex, makes a blossom, or enlarges the
// matching and returns true.
func (b *blossoms) follow(e pair) bool {
	x, y := b.top[e.u], b.top[e.v]
	switch b.label[y] {
	case unlabelled:
		b.from[y], b.label[y] = e.u, inner
		z := b.top[b.mate[y]]
		b.slack[y], b.slack[z] = none, none
		b.label[z] = outer
		b.enqueue(z)
	case outer:
		base := b.common(x, y)
		if base == none {
			b.flip(x, e)
			b.flip(y, pair{e.v, e.u})
			return true
		}
		b.contract(x, base, y)
	}
	return false
}

// enqueue adds the vertices of a node to the queue.
func (b *blossoms) enqueue(x int) {
	if x < b.n {
		b.queue = append(b.queue, x)
		return
	}
	for _, part := range b.parts[x] {
		b.enqueue(part)
	}
}

// raise says on the surface of which node a node and its parts are.
func (b *blossoms) raise(x, top int) {
	b.top[x] = top
	if x >= b.n {
		for _, part := range b.parts[x] {
			b.raise(part, top)
		}
	}
}

// tighten remembers the vertex u for a node, if its pair is closer to tight.
func (b *blossoms) tighten(u, x int) {
	if s := b.slack[x]; s == none || b.gap(b.ends[u][x]).compare(b.gap(b.ends[s][x])) < 0 {
		b.slack[x] = u
	}
}

// findSlack finds the outer vertex for a node.
func (b *blossoms) findSlack(x int) {
	b.slack[x] = none
	for u := range b.n {
		if b.top[u] != x && b.label[b.top[u]] == outer {
			b.tighten(u, x)
		}
	}
}

// common is the last node that the paths from the roots to two outer nodes share; none if the trees differ.
func (b *blossoms) common(x, y int) int {
	b.count++
	for x != none || y != none {
		if x != none {
			if b.seen[x] == b.count {
				return x
			}
			b.seen[x] = b.count
			if x = b.up(x); x != none {
				x = b.up2(x)
			}
		}
		x, y = y, x
	}
	return none
}

// up is the node of the partner of an outer node; none for a root.
func (b *blossoms) up(x int) int {
	if b.mate[x] == none {
		return none
	}
	return b.top[b.mate[x]]
}

// up2 is the outer node before an inner one.
func (b *blossoms) up2(x int) int { return b.top[b.from[x]] }

// flip makes a pair of the node x one of the matching, and exchanges the pairs from x to its root.
func (b *blossoms) flip(x int, e pair) {
	for {
		next := b.up(x)
		b.match(x, e)
		if next == none {
			return
		}
		before := b.up2(next)
		e = b.ends[next][before]
		b.match(next, e)
		x, e = before, pair{e.v, e.u}
	}
}

// match gives a node the partner of a pair, and its parts theirs.
func (b *blossoms) match(x int, e pair) {
	b.mate[x] = e.v
	if x < b.n {
		return
	}
	part := b.in[x][e.u]
	at := b.position(x, part)
	parts := b.parts[x]
	for i := range at {
		b.match(parts[i], b.ends[parts[i]][parts[i^1]])
	}
	b.match(part, e)
	b.parts[x] = slices.Concat(parts[at:], parts[:at])
}

// position is the place of a part in the cycle of a blossom. It is even: the cycle is reversed if
// necessary.
func (b *blossoms) position(x, part int) int {
	at := slices.Index(b.parts[x], part)
	if at%2 == 1 {
		slices.Reverse(b.parts[x][1:])
		at = len(b.parts[x]) - at
	}
	return at
}

// contract makes a blossom of the paths from two outer nodes up to their common node, its base.
func (b *blossoms) contract(x, base, y int) {
	blossom := slices.Index(b.top[b.n:], none) + b.n
	b.dual[blossom], b.label[blossom] = weight{}, outer
	b.mate[blossom], b.from[blossom] = b.mate[base], b.from[base]
	parts := slices.Concat([]int{base}, b.path(y, base))
	slices.Reverse(parts[1:])
	parts = append(parts, b.path(x, base)...)
	for _, part := range parts[1:] {
		if b.label[part] == inner {
			b.enqueue(part)
		}
	}
	b.parts[blossom] = parts
	for i, part := range parts {
		for z := range b.top {
			if b.top[z] == none || z == blossom {
				continue
			}
			if i == 0 || b.gap(b.ends[part][z]).compare(b.gap(b.ends[blossom][z])) < 0 {
				b.ends[blossom][z], b.ends[z][blossom] = b.ends[part][z], b.ends[z][part]
			}
		}
	}
	for v := range b.n {
		b.in[blossom][v] = none
		if i := slices.Index(parts, b.top[v]); i >= 0 {
			b.in[blossom][v] = parts[i]
		}
	}
	b.raise(blossom, blossom)
	b.findSlack(blossom)
}

// path is the nodes from an outer node up to one above it, which is left out.
func (b *blossoms) path(x, above int) (path []int) {
	for x != above {
		in := b.up(x)
		path = append(path, x, in)
		x = b.up2(in)
	}
	return path
}

// expand replaces an inner blossom by its parts. Those on the even way between its pairs with the tree
// stay in the tree.
func (b *blossoms) expand(x int) {
	for _, part := range b.parts[x] {
		b.raise(part, part)
	}
	entry := b.in[x][b.ends[x][b.from[x]].u]
	at := b.position(x, entry)
	parts := b.parts[x]
	for i := 0; i < at; i += 2 {
		in, out := parts[i], parts[i+1]
		b.from[in] = b.ends[out][in].u
		b.label[in], b.label[out] = inner, outer
		b.slack[in] = none
		b.findSlack(out)
		b.enqueue(out)
	}
	b.label[entry], b.from[entry], b.slack[entry] = inner, b.from[x], none
	for _, part := range parts[at+1:] {
		b.label[part] = unlabelled
		b.findSlack(part)
	}
	b.top[x] = none
}
