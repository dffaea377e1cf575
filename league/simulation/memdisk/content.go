package memdisk

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"math/rand/v2"
	"slices"
	"time"

	"evenodd/league/simulation/faults"
)

// A node is a file or a folder, whatever names it has.
type node struct {
	folder  bool
	mode    fs.FileMode // of permissions
	changed time.Time
	key     string // the path in the keys of its faults

	// Of a file. Cache is its content for processes, stable that on the disk. Stable is a slice of cache while the disk
	// has just the beginning of it.
	cache, stable []byte
	apart         bool   // stable has memory of its own
	dirty         []span // of cache, not written to the disk; in order, without overlaps
	low           int64  // the smallest size since the last sync
	locks         map[*file]bool

	// Of a folder: the names for processes, and on the disk.
	names, stableNames map[string]*node
	pending            []*nameOp
}

// A span is a range of bytes.
type span struct{ from, to int64 }

func (n *node) size() int64 { return int64(len(n.cache)) }

// writeAt changes the cache at an offset. There may be a gap behind the end.
func (n *node) writeAt(text []byte, offset int64) {
	if offset > n.size() {
		text = append(make([]byte, offset-n.size()), text...)
		offset = n.size()
	}
	if offset < int64(len(n.stable)) && !n.apart {
		n.split()
	}
	end := offset + int64(len(text))
	if end > n.size() {
		n.cache = append(n.cache[:offset], text...)
	} else {
		copy(n.cache[offset:], text)
	}
	n.addDirty(span{offset, end})
}

// split gives stable memory of its own.
func (n *node) split() { n.stable, n.apart = slices.Clone(n.stable), true }

// addDirty adds a span that was written.
func (n *node) addDirty(s span) {
	if len(n.dirty) > 0 && s.from >= n.dirty[len(n.dirty)-1].from { // usual: it appends
		if last := &n.dirty[len(n.dirty)-1]; s.from <= last.to {
			last.to = max(last.to, s.to)
			return
		}
	}
	n.dirty = append(n.dirty, s)
	slices.SortFunc(n.dirty, func(a, b span) int { return int(a.from - b.from) })
	merged := n.dirty[:1]
	for _, s := range n.dirty[1:] {
		if last := &merged[len(merged)-1]; s.from <= last.to {
			last.to = max(last.to, s.to)
		} else {
			merged = append(merged, s)
		}
	}
	n.dirty = merged
}

// truncate changes the size of the cache.
func (n *node) truncate(size int64) {
	if size > n.size() {
		n.writeAt(make([]byte, size-n.size()), n.size())
		return
	}
	if !n.apart && size < int64(len(n.stable)) { // later writes must not change it
		n.split()
	}
	n.cache, n.low = n.cache[:size], min(n.low, size)
	n.dirty = slices.DeleteFunc(n.dirty, func(s span) bool { return s.from >= size })
	if last := len(n.dirty) - 1; last >= 0 {
		n.dirty[last].to = min(n.dirty[last].to, size)
	}
}

// unsynced tells whether a power cut could change the content.
func (n *node) unsynced() bool { return len(n.dirty) > 0 || n.low < int64(len(n.stable)) }

// flush writes the cache to the disk, without the dirty bytes from an offset on: these are lost if it is not that of
// the end.
func (n *node) flush(until int64) {
	switch whole := until >= n.size(); {
	case whole && !n.apart:
		n.stable = n.cache[:len(n.cache):len(n.cache)]
	case whole && len(n.dirty) == 1 && n.dirty[0] == (span{0, n.size()}):
		n.stable, n.apart = n.cache[:len(n.cache):len(n.cache)], false
	default:
		if !n.apart {
			n.split()
		}
		n.stable = written(n.stable[:min(int64(len(n.stable)), n.low)], n.cache, n.dirty, until)
		if grown := len(n.cache) - len(n.stable); whole && grown > 0 { // what a failed sync has lost
			n.stable = append(n.stable, make([]byte, grown)...)
		}
	}
	n.dirty, n.low = nil, n.size()
}

// written adds the dirty bytes of cache, up to one of them, to the content of a disk.
func written(content, cache []byte, dirty []span, until int64) []byte {
	for _, s := range dirty {
		to := min(s.to, until)
		if to <= s.from {
			break
		}
		if grown := to - int64(len(content)); grown > 0 {
			content = append(content, make([]byte, grown)...)
		}
		copy(content[s.from:to], cache[s.from:to])
	}
	return content
}

// powerCut leaves what is on the disk, and returns what happened to the content; "" if all of it was there.
func (n *node) powerCut(r *rand.Rand) (fault string) {
	if !n.unsynced() {
		if n.apart { // a sync has failed
			n.cache = slices.Clone(n.stable)
		}
		n.settle(n.cache)
		return ""
	}
	first := n.low
	if len(n.dirty) > 0 {
		first = min(first, n.dirty[0].from)
	}
	content, untouched := slices.Clone(n.stable), min(int64(len(n.stable)), n.low)
	switch r.IntN(4) {
	case 0:
		fault = LostWrite
	case 1:
		fault = TornWrite
		content = written(content[:untouched], n.cache, n.dirty, first+r.Int64N(max(1, n.size()-first)))
	case 2:
		fault, content = ReorderedWrite, n.scattered(content, r)
	default: // all was written already, except for what a failed sync has lost
		content = written(content[:untouched], n.cache, n.dirty, n.size())
	}
	if bytes.Equal(content, n.cache) {
		fault = ""
	}
	n.settle(content)
	return fault
}

// scattered is the content of a disk with any sectors of the dirty bytes. The size is the last one.
func (n *node) scattered(content []byte, r *rand.Rand) []byte {
	if grown := len(n.cache) - len(content); grown > 0 {
		content = append(content, make([]byte, grown)...)
	}
	content = content[:len(n.cache)]
	for _, s := range n.dirty {
		for from := s.from; from < s.to; {
			to := min(s.to, (from/sector+1)*sector)
			if r.IntN(2) == 0 {
				copy(content[from:to], n.cache[from:to])
			}
			from = to
		}
	}
	return content
}

// settle makes a content that of disk and cache.
func (n *node) settle(content []byte) {
	n.cache = content
	n.stable, n.apart = n.cache[:len(n.cache):len(n.cache)], false
	n.dirty, n.low = nil, n.size()
}

// A flip is a bit of a file that is another one than it was.
type flip struct {
	file *node
	at   int64
	was  byte
	is   byte
}

// flipBits flips bits of a file while the machine is off.
func (d *Disk) flipBits(n *node) {
	for from := int64(0); from < n.size() && d.options.Chances[faults.FlippedBit] > 0; from += sector {
		p := faults.Place{Path: n.key, From: from, To: from + sector}
		if !d.happens(faults.FlippedBit, p) {
			continue
		}
		r := d.source("flip", n.key, from, p.To, 0)
		at := from + r.Int64N(min(n.size(), p.To)-from)
		f := flip{n, at, n.cache[at], n.cache[at] ^ 1<<r.IntN(8)}
		n.cache[at] = f.is // stable has the same memory
		d.flips = append(d.flips, f)
	}
}

// RestoreFlippedBits flips all bits back, as a mirror of the disk would, except those that were written again, and
// returns the number. There must be no process.
func (d *Disk) RestoreFlippedBits() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.flipBack()
}

func (d *Disk) flipBack() (count int) {
	for _, f := range d.flips {
		for _, content := range [][]byte{f.file.cache, f.file.stable} { // usually the same memory
			if f.at < int64(len(content)) && content[f.at] == f.is {
				content[f.at] = f.was
				count++
			}
		}
	}
	d.flips = nil
	return count
}

// source is the source of a random decision.
func (d *Disk) source(kind, path string, from, to int64, repetition int) *rand.Rand {
	//nolint:gosec // never negative; a simulation
	key := faults.Digest("evenodd-memdisk-v1/", []uint64{d.options.Seed, uint64(from), uint64(to), uint64(repetition)},
		kind, path)
	source := rand.NewPCG(binary.BigEndian.Uint64(key[:]), binary.BigEndian.Uint64(key[8:]))
	return rand.New(source) //nolint:gosec // a simulation
}
