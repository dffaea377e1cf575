package memdisk

import (
	"cmp"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"evenodd/league/simulation/faults"
)

// A nameOp is a creation, renaming or removal. It happens as a whole or not at all.
type nameOp struct {
	number int64
	sets   []slot // in order
	key    string // of the last name
}

// A slot is a name in a folder, and the node that has it; nil for a name that nothing has.
type slot struct {
	folder *node
	name   string
	node   *node
}

func (d *Disk) newFolder(mode fs.FileMode) *node {
	return &node{
		folder: true, mode: mode, changed: d.now(), names: map[string]*node{}, stableNames: map[string]*node{},
	}
}

// set changes names.
func (d *Disk) set(key string, sets ...slot) {
	d.ops++
	op := &nameOp{d.ops, sets, key}
	for _, s := range sets {
		if s.folder.changed = d.now(); s.node == nil {
			delete(s.folder.names, s.name)
		} else {
			s.folder.names[s.name] = s.node
		}
		if last := len(s.folder.pending) - 1; last < 0 || s.folder.pending[last] != op {
			s.folder.pending = append(s.folder.pending, op)
		}
	}
}

// syncNames writes the names in a folder to the disk, and so those in a folder from which a name came.
func (n *node) syncNames() {
	folders := map[*node]bool{n: true}
	ops := slices.Clone(n.pending)
	for i := 0; i < len(ops); i++ { // it grows
		for _, s := range ops[i].sets {
			if !folders[s.folder] {
				folders[s.folder] = true
				ops = append(ops, s.folder.pending...)
			}
		}
	}
	slices.SortStableFunc(ops, func(a, b *nameOp) int { return cmp.Compare(a.number, b.number) })
	for _, op := range ops { // one in two folders is written twice
		op.write()
	}
	for folder := range folders {
		folder.pending = nil
	}
}

// write writes the names to the disk.
func (op *nameOp) write() {
	for _, s := range op.sets {
		if s.node == nil {
			delete(s.folder.stableNames, s.name)
		} else {
			s.folder.stableNames[s.name] = s.node
		}
	}
}

// all are all nodes below a folder, by the names for processes, once each.
func (n *node) all() (nodes []*node) {
	seen := map[*node]bool{}
	var visit func(*node)
	visit = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		nodes = append(nodes, n)
		for _, name := range slices.Sorted(maps.Keys(n.names)) {
			visit(n.names[name])
		}
	}
	visit(n)
	return nodes
}

// powerCut is PowerCut with the mutex held.
func (d *Disk) powerCut() {
	d.cuts++
	d.injected[faults.PowerCut.String()]++
	for p := range d.processes {
		p.end()
	}
	d.cutNames()
	for _, n := range d.root.all() {
		if n.folder {
			continue
		}
		from, to := n.low, n.size()
		if len(n.dirty) > 0 {
			from, to = n.dirty[0].from, n.dirty[len(n.dirty)-1].to
		}
		if fault := n.powerCut(d.source("cut", n.key, from, to, d.cuts)); fault != "" {
			d.injected[fault]++
		}
		d.flipBits(n)
	}
}

// cutNames leaves the names that are on the disk, and some of those that were not synced.
func (d *Disk) cutNames() {
	nodes := d.root.all()
	var ops []*nameOp
	for _, n := range nodes {
		ops, n.pending = append(ops, n.pending...), nil
	}
	slices.SortStableFunc(ops, func(a, b *nameOp) int { return cmp.Compare(a.number, b.number) })
	undone := map[slot]bool{} // names without nodes
	for _, op := range slices.Compact(ops) {
		undo := d.source("name", op.key, 0, 0, d.cuts).IntN(2) == 0
		for _, s := range op.sets {
			undo = undo || undone[slot{s.folder, s.name, nil}]
		}
		if !undo {
			op.write()
			continue
		}
		d.injected[UndoneName]++
		for _, s := range op.sets {
			undone[slot{s.folder, s.name, nil}] = true
		}
	}
	for _, n := range nodes {
		n.names = maps.Clone(n.stableNames)
	}
	for _, n := range d.root.all() { // a folder that nothing had a name for any more
		n.names = maps.Clone(n.stableNames)
	}
}

// parts are the names on the way to a path from the root. A relative path begins there too.
func parts(path string) []string {
	path = filepath.ToSlash(filepath.Clean(strings.TrimPrefix(path, filepath.VolumeName(path))))
	if path == "." {
		return nil
	}
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// find returns the node at a path.
func (d *Disk) find(path string) (*node, error) {
	n := d.root
	if path == "" {
		return nil, syscall.ENOENT
	}
	for _, name := range parts(path) {
		switch {
		case !n.folder:
			return nil, syscall.ENOTDIR
		case n.names[name] == nil:
			return nil, syscall.ENOENT
		default:
			n = n.names[name]
		}
	}
	return n, nil
}

// place returns the folder and the name of a path, and the node there; nil for none.
func (d *Disk) place(path string) (s slot, err error) {
	s.folder, err = d.find(filepath.Dir(path))
	switch {
	case err != nil:
		return s, err
	case !s.folder.folder:
		return s, syscall.ENOTDIR
	case path == "":
		return s, syscall.ENOENT
	}
	s.name = filepath.Base(path)
	s.node = s.folder.names[s.name]
	return s, nil
}

// hasSpace tells whether a name can be created.
func (d *Disk) hasSpace(key string) error {
	if d.full || d.happens(faults.FullDisk, faults.Place{Path: key}) {
		return syscall.ENOSPC
	}
	return nil
}
