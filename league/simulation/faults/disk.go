package faults

import "encoding/binary"

// A DiskFault is a kind of fault of a disk.
type DiskFault int

// The faults of disks. Each happens once at a place.
const (
	FailedSync DiskFault = iota // a sync fails, and the data is lost although the next sync succeeds
	SlowSync                    // a sync takes up to ten seconds
	FullDisk                    // a write finds no space
	ReadError                   // a read fails
	FlippedBit                  // a bit is another one after a power cut
	PowerCut                    // the power is cut during a sync
	Kill                        // the process is killed during a sync
	diskFaults                  // how many there are
)

// String names the fault.
func (f DiskFault) String() string {
	return [...]string{
		"failed sync", "slow sync", "full disk", "read error", "flipped bit", "power cut", "kill",
	}[f]
}

// DiskChances are the probabilities, 0 to 1, that a place of a disk has a fault, by its kind.
type DiskChances [diskFaults]float64

// AllDiskFaults are the same probability for each kind.
func AllDiskFaults(probability float64) (c DiskChances) {
	for kind := range c {
		c[kind] = probability
	}
	return c
}

// A Place is the key of a fault of a disk: a range of bytes in a file. It has nothing of the time or the order of the
// calls that write, read or sync the bytes.
type Place struct {
	Path     string
	From, To int64
}

// DiskFaults are the faults of a place.
type DiskFaults uint8

// Has tells whether the faults have a kind.
func (f DiskFaults) Has(kind DiskFault) bool { return f&(1<<kind) != 0 }

// At decides the faults of a place.
func (c *DiskChances) At(seed uint64, p Place) (f DiskFaults) {
	if *c == (DiskChances{}) {
		return 0
	}
	//nolint:gosec // never negative
	sum := Digest("evenodd-disk-v1/", []uint64{seed, uint64(p.From), uint64(p.To)}, p.Path)
	for kind, chance := range c {
		if float64(binary.BigEndian.Uint32(sum[4*kind:])) < chance*(1<<32) {
			f |= 1 << kind
		}
	}
	return f
}
