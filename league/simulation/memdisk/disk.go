// Package memdisk is a disk in memory that fails as disks do, by a seed: see Disk. It must not depend on what the files
// contain, and never uses the clock or the disk of the machine, except for Dump.
package memdisk

import (
	"errors"
	"maps"
	"sync"
	"time"

	"evenodd/league/simulation/faults"
)

// Options describe a disk.
type Options struct {
	Seed uint64 // of the faults, and of what a power cut leaves

	// Chances are the probabilities that each 512 bytes of a file have a fault. A creation of a name can find a full disk.
	Chances faults.DiskChances

	// MaxCrashes is the largest number of power cuts and kills by Chances.
	MaxCrashes int

	// Strict has a sync that fails cut the power, and each other error of the disk kill the process that gets it. A
	// process that only ended would read the data that the sync has lost in the cache when it starts again.
	Strict bool

	// Sleep is called during a slow sync; nil for a disk whose syncs take time of its own only: see Slept.
	Sleep func(time.Duration)
}

// A Disk is the disk of one machine, with the page cache of its operating system. Process returns what a process sees.
//
// A write changes the cache. A sync of a file writes its content to the disk, SyncFolder the names in a folder; the
// disk may also write both without it, at any time and in any order. A process that is killed takes nothing with it
// but its locks. A power cut ends all processes, and leaves of the rest what is on the disk: of the bytes that were
// not synced none, all, those up to any byte, or any 512 bytes among zeros; and each creation, renaming or removal
// that was not synced, or not, but none without an earlier one of the same name.
//
// Each fault happens once, at a place: see faults.Place. The path of a temporary file is its pattern, and the names in
// a folder have the range from 0 to 0. What a power cut leaves follows from the seed, the path, the bytes that were not
// synced, and how many power cuts there were before. So neither depends on the order of calls.
type Disk struct {
	options Options

	mu        sync.Mutex
	root      *node
	processes map[*Process]bool // that run
	hits      map[hit]bool      // the faults that have happened
	injected  map[string]int
	flips     []flip
	ops       int64 // the number of the last creation, renaming or removal
	temps     int   // the number of the last temporary file
	writes    int64 // the number of changes, in milliseconds the time of the last one
	cuts      int   // power cuts
	crashes   int   // power cuts and kills by Chances
	slept     time.Duration
	full      bool
}

// A hit is a fault that has happened.
type hit struct {
	kind faults.DiskFault
	faults.Place
}

// New returns an empty disk.
func New(o Options) *Disk {
	d := &Disk{options: o, processes: map[*Process]bool{}, hits: map[hit]bool{}, injected: map[string]int{}}
	d.root = d.newFolder(0o755)
	return d
}

// The consequences of a power cut, as Injected counts them beside the faults of package faults.
const (
	LostWrite      = "lost write"      // nothing of what a file had since its last sync
	TornWrite      = "torn write"      // the bytes up to one of them
	ReorderedWrite = "reordered write" // later bytes without earlier ones
	UndoneName     = "undone name"     // a creation, renaming or removal
)

// Injected are the numbers of faults so far, by kind.
func (d *Disk) Injected() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.injected)
}

// Slept is the time that slow syncs have taken, in the time of the disk.
func (d *Disk) Slept() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.slept
}

// SetFull has each write that needs space fail until SetFull is called again.
func (d *Disk) SetFull(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// Repair ends all faults, also those that have yet to come.
func (d *Disk) Repair() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.options.Chances, d.full = faults.DiskChances{}, false
	d.flipBack()
}

// Process starts a process.
func (d *Disk) Process() *Process {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &Process{disk: d, ended: make(chan struct{}), files: map[*file]bool{}}
	d.processes[p] = true
	return p
}

// PowerCut cuts the power: see Disk. The machine is on again when PowerCut returns, and no process runs.
func (d *Disk) PowerCut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.powerCut()
}

// happens tells whether a fault happens at a place, and counts it. The mutex is held.
func (d *Disk) happens(kind faults.DiskFault, p faults.Place) bool {
	if h := (hit{kind, p}); d.options.Chances[kind] == 0 || d.hits[h] ||
		!d.options.Chances.At(d.options.Seed, p).Has(kind) {
		return false
	} else if d.hits[h] = true; kind == faults.PowerCut || kind == faults.Kill {
		if d.crashes == d.options.MaxCrashes {
			return false
		}
		d.crashes++
		return true // the crash itself counts
	}
	d.injected[kind.String()]++
	return true
}

// sector is the size in bytes of the places of faults.
const sector = 512

// firstFault returns the first place in a range of a file at which a fault of a kind happens.
func (d *Disk) firstFault(kind faults.DiskFault, n *node, from, to int64) (at int64, ok bool) {
	if d.options.Chances[kind] == 0 {
		return 0, false
	}
	for at := from / sector * sector; at < to; at += sector {
		if d.happens(kind, faults.Place{Path: n.key, From: at, To: at + sector}) {
			return max(at, from), true
		}
	}
	return 0, false
}

// now is the time of the disk, a millisecond later with each change.
func (d *Disk) now() time.Time {
	d.writes++
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(d.writes) * time.Millisecond)
}

// ErrKilled is the error of each call of a process that was killed.
var ErrKilled = errors.New("the process was killed")
